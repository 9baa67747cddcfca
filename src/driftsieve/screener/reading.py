"""Banks for a score, their cached results, and the selection while there are no scores."""

from __future__ import annotations

import warnings
from threading import RLock
from typing import Any

from driftsieve.bank import Bank
from driftsieve.memory.bank import LearnedBank
from driftsieve.memory.reading import AnyBank, learns
from driftsieve.scores import ScoreFunction, score_of
from driftsieve.selection.rules import Choice

LIMIT_PARAMETERS = ("max_features", "max_classes", "max_bytes", "on_limit")
BANK_PARAMETERS = (
    "epsilon",
    "decay",
    "half_life",
    "clock",
    "missing",
    "n_threads",
    *LIMIT_PARAMETERS,
)
"""Parameters of a screener that its bank has too."""


def new_bank(
    score_func: str | ScoreFunction, choice: Choice, n_bins: int, **parameters: Any
) -> AnyBank:
    """Return an empty bank that keeps only the sums that the score needs.

    With ``half_life="auto"`` or a list it is a LearnedBank.
    """
    if not learns(parameters["half_life"]):
        return Bank(**score_of(score_func).keeps, **parameters)
    if (decay := parameters.pop("decay")) is not None:
        raise ValueError(
            f"decay and half_life must not both be given, got {decay} and "
            f"{parameters['half_life']!r}."
        )
    return LearnedBank(score_func, n_bins=n_bins, k=n_compared(choice), **parameters)


def n_compared(choice: Choice) -> int | None:
    """Return the number of best features by which half-lives are compared; None for a tenth."""
    return int(choice.value) if choice.rule == "k" else None


def first_features(choice: Choice, n_features: int) -> int:
    """Return how many of the first features the rule selects while there are no scores.

    ``k`` selects the first k, ``percentile`` that percentage, and the other rules all features.

    >>> first_features(Choice("k", 10), 50), first_features(Choice("percentile", 10), 50)
    (10, 5)
    >>> first_features(Choice("fdr", 0.05), 50)
    50
    """
    if choice.rule == "k":
        return min(int(choice.value), n_features)
    return int(n_features * choice.value / 100) if choice.rule == "percentile" else n_features


def warn_unscored(choice: Choice, n_kept: int, stacklevel: int) -> None:
    """Warn that features are selected by their index, because there are no scores yet."""
    features = "feature" if n_kept == 1 else f"{n_kept} features"
    warnings.warn(
        "Features have no scores as long as fewer than two classes have weight. "
        f"{choice.rule}={choice.value!r} selects the first {features}.",
        stacklevel=stacklevel + 1,
    )


class Readings(dict[str, tuple[Any, Any]]):
    """Results computed since the last rows of a bank, with their parameters, by name.

    Copies are empty, because they belong to another screener.
    """

    def __init__(self, has_warned: bool = False) -> None:
        super().__init__()
        self.lock = RLock()  # the first reader computes, and the others wait
        self.has_warned = has_warned

    def __reduce__(self) -> tuple[Any, ...]:
        return Readings, (self.has_warned,)
