"""The rules a screener selects by, what each of them makes of k, and how both are checked."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple

from driftsieve import select
from driftsieve.scores import SCORES

RuleName = Literal["k_best", "percentile", "threshold", "fpr", "fdr", "fwe"]


class Rule(NamedTuple):
    """One row of RULES."""

    function: Callable[..., select.Mask]
    uses: Literal["scores", "pvalues"]
    k: str
    low: float
    high: float


_RATE = "an error rate between 0 and 1"
RULES: dict[str, Rule] = {
    "k_best": Rule(select.top_k, "scores", "a whole number, 0 or more", 0, math.inf),
    "percentile": Rule(select.percentile, "scores", "a percentage between 0 and 100", 0, 100),
    "threshold": Rule(select.threshold, "scores", "a number", -math.inf, math.inf),
    "fpr": Rule(select.fpr, "pvalues", _RATE, 0, 1),
    "fdr": Rule(select.fdr, "pvalues", _RATE, 0, 1),
    "fwe": Rule(select.fwe, "pvalues", _RATE, 0, 1),
}


def check_rule(name: str, k: Any, score: str) -> None:
    """ValueError where the rule cannot use the score, or not take k."""
    rule = RULES[name]
    if rule.uses == "pvalues" and SCORES[score].pvalues is None:
        able = ", ".join(repr(name) for name, score in SCORES.items() if score.pvalues)
        raise ValueError(
            f"rule={name!r} needs p-values, which score={score!r} does not have; "
            f"these scores do: {able}."
        )
    fits = isinstance(k, Real) and rule.low <= float(k) <= rule.high
    if not fits or (name == "k_best" and k % 1):
        raise ValueError(f"With rule={name!r}, k must be {rule.k}, got {k!r}.")


def check_bins(n_bins: Any) -> None:
    """ValueError where there cannot be that many quantile bins."""
    if not isinstance(n_bins, Integral) or int(n_bins) < 2:
        raise ValueError(f"n_bins must be a whole number of at least 2, got {n_bins!r}.")
