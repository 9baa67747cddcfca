"""A bank for a score, its scores whatever its width, and the selection a rule makes of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from driftsieve import select
from driftsieve.bank import Bank
from driftsieve.scores import SCORES, ScoreFunction
from driftsieve.scores.blocks import has_two_classes
from driftsieve.screener.rules import RULES
from driftsieve.snapshot import Floats

LIMIT_PARAMETERS = ("max_features", "max_classes", "max_bytes", "on_limit")
BANK_PARAMETERS = (
    "epsilon",
    "alpha",
    "half_life",
    "clock",
    "missing",
    "n_threads",
    *LIMIT_PARAMETERS,
)
"""Of a screener: those that it hands on to its bank."""

_BLOCK_CELLS = 1 << 21  # a frozen block takes 16 MB, however many features there are


def new_bank(score: str, **parameters: Any) -> Bank:
    """An empty bank that keeps what the score needs, and nothing else."""
    needs = SCORES[score].needs
    return Bank(moments=needs == "moments", quantiles=needs == "quantiles", **parameters)


def read_bank(
    bank: Bank, function: ScoreFunction, n_bins: int, one_class: float | None = None
) -> Floats:
    """The function of every feature, frozen block by block.

    ``one_class`` is what features get while there are rows of fewer than two classes, which is an
    error otherwise.
    """
    step = max(1, _BLOCK_CELLS // (n_bins * max(1, len(bank.classes))))
    parts = [np.empty(0)]
    for start in range(0, bank.n_features, step):
        snap = bank.freeze(n_bins, slice(start, start + step))
        if one_class is not None and not has_two_classes(snap):
            parts.append(np.full(snap.n_features, one_class))
        else:
            parts.append(function(snap))
    return np.concatenate(parts)


def selection(
    rule: str, k: float, score: str, scores: Floats | None, pvalues: Floats | None
) -> select.Mask:
    """What the rule keeps; it needs the scores or the p-values, as RULES says."""
    function = RULES[rule].function
    if RULES[rule].uses == "pvalues":
        return function(pvalues, k)
    return function(scores, k, SCORES[score].larger_is_better)
