"""Classifiers that select features."""

from driftsieve.learners.fsa import SparseFSA

__all__ = ["SparseFSA"]
