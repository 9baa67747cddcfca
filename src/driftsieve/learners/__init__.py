"""Learners that go with the screens."""

from driftsieve.learners.fsa import SparseFSA

__all__ = ["SparseFSA"]
