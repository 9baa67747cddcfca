"""Validation of the settings of a bank."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from datetime import timedelta
from numbers import Real
from typing import Any, Literal, TypeAlias, TypeGuard, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from driftsieve import _platform
from driftsieve._arguments import arg

HalfLife: TypeAlias = float | str | timedelta | np.timedelta64
"""A number of ticks of the clock, or a duration: "30d", "12h", a timedelta of any kind."""

HalfLives: TypeAlias = HalfLife | Sequence[HalfLife | None] | NDArray[Any]
"""One half-life, or several that a bank keeps; None means no fading."""

AUTO: Literal["auto"] = "auto"
"""The half-life is learned from the data."""

Fading = Literal["number", "duration"]
"""Type of a half-life; a duration is in seconds."""

_UNITS = {
    "ms": 1e-3,
    **dict.fromkeys(("s", "sec", "second"), 1.0),
    **dict.fromkeys(("m", "min", "minute"), 60.0),
    **dict.fromkeys(("h", "hr", "hour"), 3600.0),
    **dict.fromkeys(("d", "day"), 86_400.0),
    **dict.fromkeys(("w", "week"), 604_800.0),
}
_PART = r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([a-z]+)\s*"
_LATEST = 1e11  # seconds since 1970, in the year 5138; larger numbers are taken for milliseconds


def check_number(name: str, value: Any, unit: str = "") -> None:
    """Raise TypeError unless the value is a number."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{arg(name)} must be a number{unit}, got {value!r}.")


def seconds_of_duration(duration: Any) -> float | None:
    """Return the seconds of a duration, or None for a number; raise ValueError for other text.

    >>> seconds_of_duration("1d 12h"), seconds_of_duration(timedelta(hours=12))
    (129600.0, 43200.0)
    """
    if isinstance(duration, np.timedelta64):  # numpy calls it an integer
        try:
            return float(duration / np.timedelta64(1, "s"))
        except TypeError:  # months and years have no fixed length, and some durations have no unit
            raise ValueError(
                f"{arg('half_life')} must be in weeks, days or shorter units, "
                f"got {np.datetime_data(duration)[0]!r}."
            ) from None
    if isinstance(duration, timedelta):
        return duration.total_seconds()
    if not isinstance(duration, str):
        return None
    # 1M is a month, which has no fixed length
    text = duration if "M" in duration else duration.lower()
    parts = re.findall(_PART, text) if re.fullmatch(f"(?:{_PART})+", text) else []
    units = [unit if unit in _UNITS else unit.removesuffix("s") for _, unit in parts]
    if not parts or not all(unit in _UNITS for unit in units):
        raise ValueError(
            f"{arg('half_life')} must be a number or a duration, got {duration!r}. Durations are "
            'numbers with a unit: "90s", "30min", "12h", "30d" or "2w".'
        )
    return sum(float(n) * _UNITS[unit] for (n, _), unit in zip(parts, units, strict=True))


def half_life_of(decay: float | None, half_life: HalfLife | None, clock: str) -> float:
    """Return the half-life in ticks of the clock (seconds for a duration), infinite without fading.

    Raise ValueError if both are given, or for a duration with another clock.
    """
    if decay is not None:
        check_number("decay", decay)
        if half_life is not None:
            raise ValueError(
                f"{arg('decay')} and {arg('half_life')} must not both be given, got {decay} and "
                f"{half_life}."
            )
        if not 0 < decay <= 1:
            raise ValueError(f"{arg('decay')} must be greater than 0 and at most 1, got {decay}.")
        return math.inf if decay == 1 else -1.0 / math.log2(decay)
    if half_life is not None:
        ticks = seconds_of_duration(half_life)
        if ticks is None:
            check_number("half_life", half_life, ' or a duration such as "12h"')
            ticks = float(half_life)  # type: ignore[arg-type]
        elif clock != "time":
            counted = "rows" if clock == "row" else "batches"
            raise ValueError(
                f"{arg('half_life')} must be a number of {counted} with {arg('clock', clock)}, got "
                f"{half_life!r}. Durations are for {arg('clock', 'time')}."
            )
        if not ticks > 0:
            raise ValueError(f"{arg('half_life')} must be greater than 0, got {half_life}.")
        return ticks
    return math.inf


def is_ladder(half_life: Any) -> TypeGuard[Sequence[HalfLife | None] | NDArray[Any]]:
    """Return whether there are several half-lives, or a list of one."""
    if isinstance(half_life, np.ndarray):
        return half_life.ndim > 0
    return isinstance(half_life, Sequence) and not isinstance(half_life, str | bytes)


def is_auto(half_life: Any) -> bool:
    """Return whether the half-life is learned."""
    return isinstance(half_life, str) and half_life == AUTO


def half_lives_of(
    decay: float | None, half_life: HalfLives | None, clock: str
) -> tuple[float, ...]:
    """Return all half-lives as ``half_life_of`` does, the shortest first.

    >>> half_lives_of(None, [None, 500, 1000], "row")
    (500.0, 1000.0, inf)
    """
    if is_auto(half_life):
        raise ValueError(
            'half_life must be a number, a duration or a list of them for a Bank, got "auto". Use '
            "driftsieve.memory.LearnedBank or FeatureScreener, which learn it."
        )
    if decay is not None or not is_ladder(half_life):
        return (half_life_of(decay, cast("HalfLife | None", half_life), clock),)
    ticks = sorted(half_life_of(None, each, clock) for each in half_life)
    if not ticks:
        raise ValueError(f"{arg('half_life')} must have at least one half-life, got an empty list.")
    for one, other in itertools.pairwise(ticks):
        if one == other:
            raise ValueError(
                f"{arg('half_life')} must have each half-life once, got {one:g} twice."
            )
    return tuple(ticks)


def fading_of(decay: float | None, half_life: HalfLives | None) -> Fading | None:
    """Return the type of the half-life, or None without fading.

    Raise ValueError if some half-lives of a list are numbers and others durations.
    """
    if is_ladder(half_life):
        kinds = {fading_of(None, each) for each in half_life} - {None}
        if len(kinds) > 1:
            raise ValueError(
                f"{arg('half_life')} must have only numbers or only durations, got both. "
                "Give all of them as durations where times are dates."
            )
        return kinds.pop() if kinds else None
    if half_life is None or is_auto(half_life):
        return None if decay in (None, 1) else "number"
    if seconds_of_duration(half_life) is not None:
        return "duration"
    return "number" if math.isfinite(half_life) else None  # type: ignore[arg-type]


def check_times(fading: Fading | None, latest: float, *, are_dates: bool) -> None:
    """Raise ValueError if the unit of the times is not that of the half-life.

    A number of seconds is easily taken for a number of days, so dates need a duration. Numbers are
    in seconds if the half-life is a duration.
    """
    if fading == "number" and are_dates:
        raise ValueError(
            f"{arg('half_life')} must be a duration where times are dates, got a plain number (or "
            f"{arg('decay')}). Pass {arg('half_life', '30d')}, or another duration."
        )
    if fading == "duration" and not are_dates and latest >= _LATEST:
        raise ValueError(
            f"Times must be dates or seconds where {arg('half_life')} is a duration, got "
            f"{latest:.6g}, which looks like milliseconds or less. Divide the times, or pass dates."
        )


def refuse_digit_dates(fading: Fading | None, times: ArrayLike) -> None:
    """Raise ValueError if the first times of a stream are all dates in digits, such as 20200131.

    As numbers they would be seconds, or ticks of which a month has 70 or 8,870.
    """
    if fading is None:
        return
    t = np.atleast_1d(np.asarray(times, dtype=np.float64))
    for time_of_day in (1.0, 1e4, 1e6):  # without a time of day, with minutes, with seconds
        days, rest = np.divmod(t, time_of_day)
        month, day = days // 100 % 100, days % 100
        in_year = (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31) & (rest % 1 == 0)
        if (in_year & (days % 1 == 0) & (days >= 19_000_101) & (days <= 20_991_231)).all():
            raise ValueError(
                f"time must hold datetimes or numbers, got {t[0]:.0f}, which is a date in digits. "
                "Convert the digits to datetimes."
            )


def stored_half_life(half_life: HalfLives | None) -> Any:
    """Return the half-life for JSON; equal durations give equal strings.

    >>> stored_half_life("1d"), stored_half_life(timedelta(days=1)), stored_half_life(30)
    ('86400.0s', '86400.0s', 30)
    >>> stored_half_life([30, math.inf])
    [30, None]
    """
    if is_ladder(half_life):
        listed = half_life.tolist() if isinstance(half_life, np.ndarray) else half_life
        return [None if each == math.inf else stored_half_life(each) for each in listed]
    seconds = None if is_auto(half_life) else seconds_of_duration(half_life)
    return half_life if seconds is None else f"{seconds!r}s"


def thread_count(n_threads: int | None) -> int:
    """Return the number of threads; None and -1 mean all cores of this process, -2 all but one."""
    n_cores = _platform.n_cores()
    if n_threads is None:
        return n_cores
    if isinstance(n_threads, bool) or not hasattr(n_threads, "__index__"):
        raise TypeError(f"n_threads must be a whole number or None, got {n_threads!r}.")
    if n_threads == 0:
        raise ValueError("n_threads must be at least 1, got 0. Pass None or -1 for all cores.")
    return int(n_threads) if n_threads > 0 else max(1, n_cores + 1 + int(n_threads))


def tick_of_merge(start: float | None, clock: str, fades: bool, ticks: int) -> float:
    """Return the tick at which the rows of another bank begin; `ticks` is the clock of this one."""
    if clock == "time":
        if start is not None:
            raise ValueError(
                f"start must not be given with {arg('clock', 'time')}, where each row has its time."
            )
        return 0.0
    if start is None:
        if fades and ticks:
            raise ValueError(
                f"start must be given to merge faded banks with {arg('clock', clock)}, got None. "
                "Pass the tick of the first row of the other bank (this bank's rows begin at 0)."
            )
        return float(ticks)
    check_number("start", start)
    if not (math.isfinite(start) and start >= 0):
        raise ValueError(f"start must be a tick, 0 or later, got {start}.")
    return float(start)
