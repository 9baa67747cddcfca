"""Driftsieve: which features of a labelled data stream matter now."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from driftsieve import evaluate, offline, scores
    from driftsieve.bank import Bank
    from driftsieve.batch import Batch
    from driftsieve.history import ScoreHistory
    from driftsieve.screener import FeatureScreener
    from driftsieve.snapshot import Snapshot
    from driftsieve.sources import SourceError, as_batches

    __version__: str

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

_HOMES = {
    "Bank": "bank",
    "Batch": "batch",
    "FeatureScreener": "screener",
    "ScoreHistory": "history",
    "Snapshot": "snapshot",
    "SourceError": "sources",
    "as_batches": "sources",
}


def __getattr__(name: str) -> object:
    # Nothing is imported before it is asked for: scikit-learn takes a second and numpy a tenth, in
    # which the command line could not answer to Ctrl-C.
    from importlib import import_module, metadata

    home = f"{__name__}.{_HOMES.get(name, name)}"
    missing = AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "__version__":
        found: object = metadata.version(__name__)
    elif name.startswith("__"):
        raise missing
    else:
        try:
            found = import_module(home)
        except ModuleNotFoundError as error:
            if error.name == home:
                raise missing from None
            raise
        found = getattr(found, name) if name in _HOMES else found
    globals()[name] = found  # the next one who asks finds it without us
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
