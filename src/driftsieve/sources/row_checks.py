"""What rows that come one by one must be like, before they decide anything."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np

from driftsieve.batch import MAX_WEIGHT, Batch
from driftsieve.row_error import RowError
from driftsieve.sources.base import LARGE_LABEL

ROW_ERRORS = (ValueError, TypeError, OverflowError)


class Labels:
    """Sees to it that labels are all text, all booleans or all numbers."""

    def __init__(self) -> None:
        self.kind: str | None = None

    def check(self, label: Any) -> Any:
        if label is None:
            return label
        is_text, is_boolean = isinstance(label, str), isinstance(label, bool | np.bool_)
        kind = "text" if is_text else "booleans" if is_boolean else "numbers"
        if kind == "numbers" and not isinstance(label, Real):
            raise TypeError(f"labels must be numbers or text, got {label!r}")
        if isinstance(label, int) and not -(2**63) <= label < 2**63:
            raise ValueError(LARGE_LABEL)
        if isinstance(label, float) and 2**53 <= abs(label) < math.inf:
            raise ValueError("labels of 2**53 and more must be integers: others are not exact")
        self.kind = self.kind or kind
        if kind != self.kind:
            raise TypeError(f"labels were {self.kind}, got {label!r}")
        return label


def refuse_as_batch(label: Any, weight: float, t: float) -> None:
    """Raise what ``Batch`` would for the label, the weight or the time of a row."""
    is_odd = isinstance(label, float | np.floating) and not label.is_integer()
    if label is None or is_odd or not (0 <= weight <= MAX_WEIGHT and math.isfinite(t)):
        Batch.of(np.empty((1, 0)), [label], sample_weight=[weight], t=[t])


def cause_of(problem: Exception) -> str:
    """What is wrong with a row, whose number others will tell."""
    return problem.cause if isinstance(problem, RowError) else str(problem)
