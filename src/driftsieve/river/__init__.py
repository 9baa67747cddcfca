"""The river transformer; it needs the extra ``river``."""

try:
    import river as _river  # noqa: F401 - is it there?
except ModuleNotFoundError as error:
    if error.name != "river":
        raise
    raise ModuleNotFoundError(
        'driftsieve.river needs river: pip install "driftsieve[river]"', name="river"
    ) from error

from driftsieve.river.core import FeatureScreener

__all__ = ["FeatureScreener"]
