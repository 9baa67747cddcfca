"""Scores over time in bounded memory, with selection events and stability."""

from driftsieve.history.core import ScoreHistory
from driftsieve.history.selection import Event

__all__ = ["Event", "ScoreHistory"]
