"""Scores over time in bounded memory, entered and left events, stability of the selection."""

from driftsieve.history.core import ScoreHistory
from driftsieve.history.selection import Event

__all__ = ["Event", "ScoreHistory"]
