"""Checks of single rows, before they decide anything."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from driftsieve._rows.vectors import MAX_WEIGHT
from driftsieve.batch import Batch
from driftsieve.exceptions import RowError

ROW_ERRORS = (ValueError, TypeError, OverflowError)


def refuse_as_batch(label: Any, weight: float, t: float) -> None:
    """Raise the error of ``Batch`` for the label, weight or time of a row."""
    is_odd = isinstance(label, float | np.floating) and not label.is_integer()
    if label is None or is_odd or not (0 <= weight <= MAX_WEIGHT and math.isfinite(t)):
        Batch.of(np.empty((1, 0)), [label], sample_weight=[weight], time=[t])


def cause_of(problem: Exception) -> str:
    """Return the cause of a bad row; the caller adds its number."""
    return problem.cause if isinstance(problem, RowError) else str(problem)
