"""Data frames are learned as their rows would be one by one, and transformed."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from driftsieve.river import FeatureScreener, budget
from river_rows import learned, rows_of, states


@pytest.mark.parametrize("absent", ["zero", "missing"])
@pytest.mark.parametrize("half_life", [None, 50])
def test_many_rows_are_learned_as_one_by_one(absent, half_life, monkeypatch):
    monkeypatch.setattr(budget, "_MOST_CELLS", 200)  # a few rows wait at a time
    rng = np.random.default_rng(1)
    one, many, read = (FeatureScreener(absent=absent, half_life=half_life) for _ in range(3))
    for columns in ("ba", "ba", "bcda", "ed", "a", "abcdefg"):
        X = pd.DataFrame(rng.normal(size=(50, len(columns))), columns=list(columns))
        y = pd.Series(rng.choice(["x", "y", "z"], size=50))
        many.learn_many(X, y)
        for i, (x, label) in enumerate(zip(X.to_dict("records"), y, strict=True)):
            one.learn_one(x, label)
            read.learn_one(x, label)
            if i % 8 == 0:
                read.scores  # noqa: B018 - a read between rows changes nothing
    assert list(one.scores) == ["a", "b", "c", "d", "e", "f", "g"]
    assert many.scores == one.scores
    assert states(many) == states(one) == states(read)
    assert one._bank.n_rows == many._bank.n_rows == 300


def test_polars_frames_are_accepted():
    X = pl.DataFrame({"a": [1.0, 2.0], "b": [2.0, 1.0]})
    screener = FeatureScreener(k=1)
    screener.learn_many(X, ["u", "v"])
    assert list(screener.transform_many(X).columns) == ["a"]


@pytest.mark.parametrize("labels", [[1, "1"], [("a", 1), ("b", 2)], ["x", 3], [True, "True"]])
def test_many_labels_are_the_same_as_single_ones(labels):
    rows = [{"a": float(i % 7), "b": float(i % 2)} for i in range(40)]
    one, many = (
        learned(rows, labels * 20, score_func="fisher"),
        FeatureScreener("fisher", half_life=None),
    )
    many.learn_many(pd.DataFrame(rows), labels * 20)
    assert states(one) == states(many)
    assert one._bank.labels == many._bank.labels == labels


@pytest.mark.parametrize("made", [np.array, pd.Series, pl.Series, tuple, iter])
def test_many_labels_may_come_as_any_sequence(made):
    rows, labels = rows_of(40)
    many = FeatureScreener(half_life=None)
    many.learn_many(pd.DataFrame([{"a": x["a"]} for x in rows]), made(labels))
    assert states(many) == states(learned([{"a": x["a"]} for x in rows], labels))


def test_missing_values_of_pandas_are_learned_alike():
    X = pd.DataFrame({"a": pd.array([1.0, None, 2.0, 0.0], dtype="Float64"), "b": [1, 2, 3, 4]})
    y = pd.Series([0, 1, 0, 1])
    many, one = FeatureScreener("t", missing="ignore"), FeatureScreener("t", missing="ignore")
    many.learn_many(X, y)
    rows = [dict(zip(X.columns, row, strict=True)) for row in X.itertuples(index=False)]
    assert rows[1]["a"] is pd.NA
    for row, label in zip(rows, y, strict=True):
        one.learn_one(row, label)
    assert states(one) == states(many)


@pytest.mark.parametrize(
    "times",
    [
        pd.date_range("2020-01-01", periods=3, tz="Asia/Tokyo"),
        np.array(["2020-01-01", "2020-01-03", "2020-01-02"], dtype="datetime64[ns]"),
        [dt.datetime(2020, 1, day, tzinfo=dt.UTC) for day in (3, 1, 2)],
        [dt.date(2020, 1, day) for day in (3, 1, 2)],
    ],
)
def test_times_may_be_datetimes(times):
    X = pd.DataFrame({"a": [1.0, 2.0, 4.0]})
    many, one = (FeatureScreener("t", clock="time", half_life="1d") for _ in range(2))
    many.learn_many(X, [0, 1, 0], time=times)
    for a, label, t in zip(X["a"], [0, 1, 0], times, strict=True):
        one.learn_one({"a": a}, label, time=t)
    assert states(one) == states(many)


@pytest.mark.parametrize("k", [0, 1, 2])
@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_of_any_kind_are_transformed(kind, k):
    X = kind({"a": [0.0, 1.0, 0.0, 1.0], "b": [0.0, 0.0, 1.0, 1.0]})
    screener = FeatureScreener("t", k=k)
    screener.learn_many(X, [0, 1, 0, 1])
    found = screener.transform_many(X)
    assert type(found) is type(X)
    assert list(getattr(found, "column_names", found.columns)) == ["a", "b"][:k]


def test_labels_of_arrow_keep_their_values():
    X = pd.DataFrame({"a": [0.0, 1.0]})
    screener = FeatureScreener("t")
    screener.learn_many(X, pa.chunked_array([[0], [1]]))
    screener.learn_one({"a": 2.0}, 0)
    assert screener._bank.labels == [0, 1]
