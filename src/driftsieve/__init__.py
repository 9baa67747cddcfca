"""Driftsieve: which features of a labelled data stream matter now."""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from driftsieve import evaluate, offline, scores
from driftsieve.bank import Bank
from driftsieve.batch import Batch
from driftsieve.history import ScoreHistory
from driftsieve.snapshot import Snapshot
from driftsieve.sources import SourceError, as_batches

if TYPE_CHECKING:
    from driftsieve.screener import FeatureScreener

__version__ = version("driftsieve")

__all__ = [
    "Bank",
    "Batch",
    "FeatureScreener",
    "ScoreHistory",
    "Snapshot",
    "SourceError",
    "__version__",
    "as_batches",
    "evaluate",
    "offline",
    "scores",
]


def __getattr__(name: str) -> Any:
    # scikit-learn takes a second to import, and pandas with it: only for those who use it
    if name == "FeatureScreener":
        return import_module("driftsieve.screener").FeatureScreener
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
