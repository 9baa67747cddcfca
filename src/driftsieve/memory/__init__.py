"""Learned memory: how long to remember, decided by the data."""

from driftsieve.memory.bank import LearnedBank
from driftsieve.memory.summary import Memory

__all__ = ["LearnedBank", "Memory"]
