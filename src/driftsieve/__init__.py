"""Driftsieve: which features of a labelled data stream matter now."""

from importlib.metadata import version

from driftsieve import offline, scores
from driftsieve.bank import Bank
from driftsieve.batch import Batch
from driftsieve.snapshot import Snapshot
from driftsieve.sources import SourceError, as_batches

__version__ = version("driftsieve")

__all__ = [
    "Bank",
    "Batch",
    "Snapshot",
    "SourceError",
    "__version__",
    "as_batches",
    "offline",
    "scores",
]
