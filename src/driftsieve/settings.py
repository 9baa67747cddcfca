"""Settings of a bank as callers give them."""

from __future__ import annotations

import math
import os
from numbers import Real
from typing import Any


def check_number(name: str, value: Any, unit: str = "") -> None:
    """TypeError unless it is a number."""
    if not isinstance(value, Real):
        raise TypeError(f"{name} must be a number{unit}, got {value!r}.")


def half_life_of(alpha: float, half_life: float | None) -> float:
    """The half-life, infinite where nothing fades; ValueError unless at most one is given."""
    check_number("alpha", alpha)
    if half_life is not None:
        check_number("half_life", half_life, " (of seconds, where t holds datetimes)")
        if alpha != 1.0:
            raise ValueError(
                f"Give alpha or half_life, not both: alpha is {alpha} and half_life {half_life}."
            )
        if not half_life > 0:
            raise ValueError(f"half_life must be greater than 0, got {half_life}.")
        return float(half_life)
    if not 0 < alpha <= 1:
        raise ValueError(f"alpha must be greater than 0 and at most 1, got {alpha}.")
    return math.inf if alpha == 1 else -1.0 / math.log2(alpha)


def thread_count(n_threads: int | None) -> int:
    """As many as wanted, or as there are cores for this process."""
    if n_threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    if not hasattr(n_threads, "__index__"):
        raise TypeError(f"n_threads must be a whole number or None, got {n_threads!r}.")
    if n_threads < 1:
        raise ValueError(f"n_threads must be at least 1, got {n_threads}.")
    return int(n_threads)


def tick_of_merge(start: float | None, clock: str, half_life: float, ticks: int) -> float:
    """The tick of a bank, which has come to `ticks`, at which rows of another one begin."""
    if clock == "time":
        if start is not None:
            raise ValueError('start is not used with clock="time": rows carry their times.')
        return 0.0
    if start is None:
        if math.isfinite(half_life) and ticks:
            raise ValueError(
                f'Merging faded banks with clock="{clock}" needs start=, the tick at '
                "which the rows of the other bank begin (this bank's rows begin at 0)."
            )
        return float(ticks)
    if not (math.isfinite(start) and start >= 0):
        raise ValueError(f"start must be a tick, 0 or later, got {start}.")
    return float(start)
