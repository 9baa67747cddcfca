"""Driftsieve: which features of a labelled data stream matter now."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from driftsieve import evaluate, exceptions, offline, scores, selection
    from driftsieve.bank import Bank
    from driftsieve.batch import Batch
    from driftsieve.exceptions import (
        DriftsieveError,
        LimitError,
        RowError,
        SourceError,
        SourceWarning,
        StateError,
    )
    from driftsieve.history import ScoreHistory
    from driftsieve.screener import FeatureScreener
    from driftsieve.snapshot import Snapshot
    from driftsieve.sources import as_batches

    __version__: str
del TYPE_CHECKING

__all__ = [
    "Bank",
    "Batch",
    "DriftsieveError",
    "FeatureScreener",
    "LimitError",
    "RowError",
    "ScoreHistory",
    "Snapshot",
    "SourceError",
    "SourceWarning",
    "StateError",
    "__version__",
    "as_batches",
    "evaluate",
    "exceptions",
    "offline",
    "scores",
    "selection",
]

_MODULE_OF = {
    "Bank": "bank",
    "Batch": "batch",
    "DriftsieveError": "exceptions",
    "FeatureScreener": "screener",
    "LimitError": "exceptions",
    "RowError": "exceptions",
    "ScoreHistory": "history",
    "Snapshot": "snapshot",
    "SourceError": "exceptions",
    "SourceWarning": "exceptions",
    "StateError": "exceptions",
    "as_batches": "sources",
}


def __getattr__(name: str) -> object:
    # Modules are imported on first use: scikit-learn takes a second and numpy a tenth, during
    # which the command line could not react to Ctrl-C.
    from importlib import import_module, metadata

    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "__version__":
        found: object = metadata.version(__name__)
    else:
        found = import_module(f"{__name__}.{_MODULE_OF.get(name, name)}")
        found = getattr(found, name) if name in _MODULE_OF else found
    globals()[name] = found  # later look-ups do not come here
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
