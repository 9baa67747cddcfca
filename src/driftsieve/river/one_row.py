"""Validation of the values, the weight and the time of a single row."""

from __future__ import annotations

import math
from collections.abc import Hashable
from datetime import date
from numbers import Real
from typing import Any

import numpy as np

from driftsieve._rows.vectors import seconds_of
from driftsieve._state.settings import Fading, check_times


def seconds(time: Any, fading: Fading | None = None) -> Any:
    """Return a datetime in seconds, which numpy may otherwise read as nanoseconds.

    Raise ValueError if it does not fit the half-life.
    """
    is_date = isinstance(time, date | np.datetime64)
    if is_date:
        time = float(seconds_of(np.array([time], dtype=object))[0])
    if isinstance(time, Real):
        check_times(fading, float(time), are_dates=is_date)
    return time


def check_types(x: Any, y: Any, w: Any, time: Any) -> None:
    """Raise TypeError if the row, label, weight or time has the wrong type."""
    if not isinstance(x, dict):
        raise TypeError(f"x must be a dictionary of features, got {type(x).__name__}.")
    if not isinstance(y, Hashable):
        raise TypeError(f"y must be a hashable label, got {y!r}.")
    for name, value in (("w", w), ("time", 0.0 if time is None else time)):
        try:
            math.fabs(value)  # unlike float(), it does not accept text
        except (TypeError, ValueError):
            raise TypeError(f"{name} must be a number, got {value!r}.") from None
