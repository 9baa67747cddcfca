"""Values of the same kind are the same wherever they come from."""

import datetime as dt
from enum import StrEnum

import numpy as np
import pandas as pd
import polars as pl
import pytest

import driftsieve as ds
from driftsieve import as_batches

FRAME = pd.DataFrame(
    {
        "a": [1.0, 2.0, 3.0, 4.0],
        "flag": [True, False, False, True],
        "code": [1.0, 2.0, 1.0, 2.0],
        "y": [True, False, True, False],
    }
)


@pytest.mark.parametrize("source", ["pandas", "polars", "pyarrow", "parquet", "jsonl", "dicts"])
def test_booleans_are_labels_and_categories_of_one_name_in_every_source(source, tmp_path):
    path = tmp_path / f"table.{source}"
    if source == "parquet":
        FRAME.to_parquet(path)
    if source == "jsonl":
        FRAME.to_json(path, orient="records", lines=True)
    given = {
        "pandas": lambda: FRAME,
        "polars": lambda: pl.from_pandas(FRAME),
        "pyarrow": lambda: pl.from_pandas(FRAME).to_arrow(),
        "dicts": lambda: FRAME.to_dict("records"),
    }.get(source, lambda: path)()
    bank = ds.Bank()
    for batch in as_batches(given, target="y", categorical=["flag", "code"]):
        bank.update(batch)
    assert bank.classes.tolist() == [False, True]
    assert bank.classes.dtype == bool
    assert set(bank.feature_names) == {"a", "flag=true", "flag=false", "code=1.0", "code=2.0"}


@pytest.mark.parametrize("size", [1, 2, 6])
def test_object_column_may_be_all_null_in_a_batch(size):
    values = pd.Series([None, None, 1.0, pd.NA, 3.0, float("nan")], dtype=object)
    labels = pd.Series([None, None, 1, 0, pd.NA, 1], dtype=object)
    frame = pd.DataFrame({"a": values, "y": [0, 1] * 3})
    read = [b.X.ravel() for b in as_batches(frame, target="y", missing="ignore", batch_size=size)]
    np.testing.assert_equal(np.concatenate(read), [np.nan, np.nan, 1.0, np.nan, 3.0, np.nan])
    frame = pd.DataFrame({"a": range(6), "y": labels})
    rows = as_batches(frame, target="y", on_error="skip", batch_size=size)
    assert [label for batch in rows for label in batch.y.tolist()] == [1, 0, 1]


class Colour(StrEnum):
    RED = "red"


@pytest.mark.parametrize("value", ["red", np.str_("red"), Colour.RED])
def test_text_of_any_kind_is_text(value):
    batch = next(as_batches([{"c": value, "y": 0}], target="y"))
    assert batch.feature_names == ("c=red",)
    assert type(batch.feature_names[0]) is str


@pytest.mark.parametrize(
    "moment",
    [
        dt.datetime(2020, 1, 2),
        dt.datetime(2020, 1, 2, tzinfo=dt.UTC),
        dt.date(2020, 1, 2),
        np.datetime64("2020-01-02"),
        pd.Timestamp("2020-01-02"),
        "2020-01-02",
    ],
)
def test_moments_of_any_kind_are_seconds(moment):
    batch = next(as_batches([{"a": 1.0, "t": moment, "y": 0}], target="y", time="t"))
    assert batch.time.tolist() == [1577923200.0]


def test_invalid_time_is_a_bad_row():
    rows = [{"a": 1.0, "t": pd.NaT, "y": 0}]
    with pytest.raises(ValueError, match="Time 't' must be a number or an ISO date"):
        next(as_batches(rows, target="y", time="t"))
