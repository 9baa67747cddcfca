"""Labels, weights and times of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from batch_rows import X, Y
from driftsieve.batch import Batch


@pytest.mark.parametrize(
    ("weight", "error", "message"),
    [
        ([1, -0.5, 1], ValueError, r"must not be negative, got -0\.5 at row 1"),
        ([1, 1, np.nan], ValueError, "sample_weight must be finite, got nan at row 2"),
        ([np.inf, 1, 1], ValueError, "sample_weight must be finite, got inf at row 0"),
        ([[1, 1, 1]], ValueError, r"sample_weight should be a 1d array.*\(1, 3\)"),
        (2.0, ValueError, "sample_weight should be a 1d array"),
        (["a", "b", "c"], TypeError, "sample_weight must hold numbers"),
    ],
)
def test_invalid_weights_are_an_error(weight: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Batch.of(X, Y, sample_weight=weight)


def test_weights_may_be_zero_and_become_float64() -> None:
    weight = Batch.of(X, Y, sample_weight=[0, 1, 2]).sample_weight
    assert weight is not None
    assert weight.dtype == np.float64
    np.testing.assert_array_equal(weight, [0, 1, 2])


def test_times_are_numbers_or_seconds_of_dates() -> None:
    np.testing.assert_array_equal(Batch.of(X, Y, time=[3, -1, 2]).time, [3, -1, 2])
    days = np.array(["1970-01-02", "1970-01-01", "1969-12-31"], dtype="M8[D]")
    np.testing.assert_array_equal(Batch.of(X, Y, time=days).time, [86400, 0, -86400])
    with pytest.raises(ValueError, match="time must be finite, got nan at row 1"):
        Batch.of(X, Y, time=[1, np.nan, 2])
    with pytest.raises(ValueError, match="time must be finite, got NaT at row 0"):
        Batch.of(X, Y, time=np.array(["NaT", "2020", "2021"], dtype="M8[ns]"))
    with pytest.raises(TypeError, match="time must hold numbers"):
        Batch.of(X, Y, time=["a", "b", "c"])


PARIS = ["1970-01-02 01:00", "1970-01-01 01:00", "1970-07-02 02:00:00.5"]  # and an hour of summer
UTC_SECONDS = [86400, 0, 182 * 86400 + 3600.5]
AWARE = pd.Series(pd.to_datetime(PARIS, format="ISO8601")).dt.tz_localize("Europe/Paris")
NAIVE = AWARE.dt.tz_convert(None)


@pytest.mark.parametrize(
    "t",
    [
        AWARE,
        pd.DatetimeIndex(AWARE),
        AWARE.tolist(),
        AWARE.astype(object),
        AWARE.astype("timestamp[us, tz=Europe/Paris][pyarrow]"),
        pl.from_pandas(AWARE),
        pa.array(AWARE),
        [moment.to_pydatetime() for moment in AWARE],
        NAIVE,
        NAIVE.tolist(),
        [moment.to_pydatetime() for moment in NAIVE],
        np.array([*NAIVE.to_numpy()], dtype=object),
    ],
)
def test_datetimes_become_seconds_since_1970_in_utc(t: Any) -> None:
    np.testing.assert_array_equal(Batch.of(X, Y, time=t).time, UTC_SECONDS)


@pytest.mark.parametrize(
    ("t", "error", "message"),
    [
        (AWARE.where([True, False, True]), ValueError, "time must be finite, got NaT at row 1"),
        ([*AWARE[:2], pd.NaT], ValueError, "time must be finite, got NaT at row 2"),
        ([None, *NAIVE[:2]], ValueError, "time must be finite, got None at row 0"),
        ([1.0, *NAIVE[:2]], TypeError, "time must hold numbers or datetimes, all of one kind"),
        (
            pd.Series(["2024-01-01"] * 3),
            TypeError,
            "got '2024-01-01' of type str. Convert all of them to datetimes",
        ),
    ],
)
def test_invalid_datetimes_are_an_error(t: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Batch.of(X, Y, time=t)


@pytest.mark.parametrize("what", ["y", "sample_weight", "time"])
def test_masked_columns_are_refused(what: str) -> None:
    columns = {"y": Y, what: np.ma.array([1, 1, 0], mask=[False, True, False])}
    with pytest.raises(
        TypeError, match=f"{what} must not be a masked array. Leave out the masked rows"
    ):
        Batch.of(X, **columns)


@pytest.mark.parametrize(
    ("labels", "kind", "expected"),
    [
        ([3, 1, 2], "i", [3, 1, 2]),
        (np.array([3, 1, 2], dtype=np.uint8), "u", [3, 1, 2]),
        ([True, False, True], "b", [True, False, True]),
        (["a", "bb", "a"], "U", ["a", "bb", "a"]),
        (np.array(["a", "bb", "a"], dtype=object), "U", ["a", "bb", "a"]),
        ([1.0, -1.0, 2.0], "i", [1, -1, 2]),
        ([2**63 + 5, 0, 1], "u", [2**63 + 5, 0, 1]),
        ([2**53 + 1, 0.0, 1], "i", [2**53 + 1, 0, 1]),
        (np.array([1.0, 2, 3], dtype=object), "i", [1, 2, 3]),
        (np.array([1.0, 2, 3], dtype=np.float16), "i", [1, 2, 3]),
        (pd.Series(["a", "b", "a"]), "U", ["a", "b", "a"]),
        (pd.Series(["a", "b", "a"], dtype="category"), "U", ["a", "b", "a"]),
        (pl.Series(["a", "b", "a"]), "U", ["a", "b", "a"]),
        (pa.chunked_array([["a"], ["b", "a"]]), "U", ["a", "b", "a"]),
    ],
)
def test_labels_get_one_type(labels: Any, kind: str, expected: list[Any]) -> None:
    y = Batch.of(X, labels).y
    assert y.dtype.kind == kind
    assert y.tolist() == expected


@pytest.mark.skipif(not hasattr(np.dtypes, "StringDType"), reason="needs numpy 2")
def test_labels_of_numpy_strings() -> None:
    y = Batch.of(X, np.array(["a", "bb", "a"], dtype=np.dtypes.StringDType())).y
    assert y.dtype.kind == "U"
    assert y.tolist() == ["a", "bb", "a"]


@pytest.mark.parametrize(
    ("labels", "error", "message"),
    [
        ([0.5, 1, 2], ValueError, r"Unknown label type: continuous.*0\.5 at row 0"),
        ([0, 1e300, 2], ValueError, "Unknown label type"),
        ([0, np.nan, 1], ValueError, "Input y contains NaN at row 1"),
        ([0, 1, -np.inf], ValueError, "Input y contains infinity at row 2"),
        (["a", None, "b"], ValueError, "missing label: None at row 1"),
        ([0, 1, None], ValueError, "missing label: None at row 2"),
        (["a", np.nan, "b"], ValueError, "missing label: nan at row 1"),
        ([np.nan, "a", "b"], ValueError, "missing label: nan at row 0"),
        (pd.Series(["a", pd.NA, "b"], dtype=object), ValueError, "missing label: <NA> at row 1"),
        (["a", "b", 1], TypeError, "got 1 of type int at row 2"),
        ([True, False, 1], TypeError, "got 1 of type int at row 2"),
        ([1.0, True, 1], TypeError, "got True of type bool at row 1"),
        ([np.nan, True, False], ValueError, "missing label: nan at row 0"),
        ([1, "b", 1], TypeError, "got 'b' of type str at row 1"),
        ([b"a", b"b", b"c"], TypeError, "got b'a' of type bytes at row 0"),
        (np.array([b"a", b"b", b"c"]), TypeError, "Labels must be integers, booleans or strings"),
        (np.array([1j, 2, 3]), ValueError, "Complex data not supported"),
        (np.array([1, 2, 3], dtype="M8[s]"), TypeError, "Labels must be integers"),
        ([2**70, 1, 2], ValueError, "one type of 64-bit integers, got 1 to 1180591620"),
        ([2**63 + 5, -1, 0], ValueError, "one type of 64-bit integers, got -1 to 92233"),
        ([[0], [1], [1]], ValueError, r"y should be a 1d array, got an array of shape \(3, 1\)"),
        (1, ValueError, "y should be a 1d array"),
    ],
)
def test_invalid_labels_are_an_error(labels: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Batch.of(X, labels)
