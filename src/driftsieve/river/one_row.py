"""What the values, the weight and the time of one row may be."""

from __future__ import annotations

import math
import sys
from datetime import date
from typing import Any

import numpy as np

from driftsieve.batch import seconds_of


def is_nothing(value: Any) -> bool:
    """Whether it is None, or the NA of pandas, which equals nothing and differs from nothing."""
    return value is None or value is getattr(sys.modules.get("pandas"), "NA", None)


def seconds(t: Any) -> Any:
    """A datetime as a batch has it, which numpy may else take for a number of nanoseconds."""
    if not isinstance(t, date | np.datetime64):
        return t
    return float(seconds_of(np.array([t], dtype=object))[0])


def check_types(x: Any, w: Any, t: Any) -> None:
    """TypeError where the row is no dictionary, or its weight or time no number."""
    if not isinstance(x, dict):
        raise TypeError(f"x must be a dictionary of features, got {type(x).__name__}.")
    for name, value in (("w", w), ("t", 0.0 if t is None else t)):
        try:
            math.fabs(value)  # unlike float(), it takes no text
        except (TypeError, ValueError):
            raise TypeError(f"{name} must be a number, got {value!r}.") from None
