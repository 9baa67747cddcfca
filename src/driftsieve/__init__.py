"""Driftsieve: which features of a labelled data stream matter now."""

from importlib.metadata import version

from driftsieve import offline, scores
from driftsieve.bank import Bank
from driftsieve.batch import Batch
from driftsieve.snapshot import Snapshot

__version__ = version("driftsieve")

__all__ = ["Bank", "Batch", "Snapshot", "__version__", "offline", "scores"]
