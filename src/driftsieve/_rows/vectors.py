"""Weights and times of rows as arrays of floats."""

from __future__ import annotations

from datetime import UTC, date
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from driftsieve._arguments import arg
from driftsieve._rows.labels import refuse_masked
from driftsieve._rows.matrix import check_numeric
from driftsieve.exceptions import RowError

MAX_WEIGHT = 1e140  # keeps sums of squares in the range of float64


def as_weights(values: ArrayLike) -> NDArray[np.float64]:
    """Return sample weights: finite, not negative, at most ``MAX_WEIGHT``."""
    weight = as_floats(values, "sample_weight")[0]
    for bad, rule, advice in (
        (weight < 0, "must not be negative", "."),
        (weight > MAX_WEIGHT, "must be at most 1e140", ": divide all weights by the same number."),
    ):
        if bad.any():
            row = int(bad.argmax())
            raise RowError(f"{arg('sample_weight')} {rule}, got {float(weight[row])}", row, advice)
    return weight


def as_floats(values: ArrayLike, what: str) -> tuple[NDArray[np.float64], bool]:
    """Return finite numbers, and whether they were dates."""
    refuse_masked(values, what)
    has_zone = getattr(getattr(values, "dtype", None), "tz", None) is not None
    given = np.asarray(values, dtype="datetime64[us]" if has_zone else None)  # pandas: in UTC
    if given.ndim != 1:
        raise ValueError(
            f"{what} should be a 1d array, got an array of shape {given.shape} instead."
        )
    are_dates = what == "time" and given.dtype.kind in "MO"
    array = seconds_of(given) if are_dates else given
    check_numeric(array.dtype, what)
    column = np.ascontiguousarray(array, dtype=np.float64)
    bad = ~np.isfinite(column)
    if bad.any():
        row = int(bad.argmax())
        raise RowError(f"{arg(what)} must be finite, got {given[row]}", row)
    return column, are_dates


def seconds_of(moments: NDArray[Any]) -> NDArray[Any]:
    """Return datetimes as seconds since 1970, in UTC unless they have a time zone; NaT as NaN."""
    if moments.dtype.kind == "O":
        known = date | np.datetime64 | None
        if others := [moment for moment in moments if not isinstance(moment, known)]:
            raise TypeError(
                f"{arg('time')} must hold numbers or datetimes, all of one kind, got {others[0]!r} "
                f"of type {type(others[0]).__name__}. Convert all of them to datetimes."
            )
        moments = np.array([*map(_in_utc, moments)], dtype="datetime64[us]")
    seconds = moments.astype("datetime64[us]").astype(np.int64) / 1e6
    seconds[np.isnat(moments)] = np.nan
    return seconds


def _in_utc(moment: Any) -> Any:
    """Return a datetime for numpy: without a time zone, and None for NaT."""
    if moment != moment:
        return None
    if getattr(moment, "tzinfo", None) is None:
        return moment
    return moment.astimezone(UTC).replace(tzinfo=None)
