"""The names of categories depend neither on the ends of batches nor on the source."""

import datetime as dt
from decimal import Decimal

import pandas as pd
import polars as pl
import pytest

from driftsieve import as_batches
from driftsieve.exceptions import SourceError

CODES = [1, 2, 1, 2, 1, None, 1, 2]
MOMENTS = [dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 2), None, dt.datetime(2020, 1, 3, 10, 30)]


def names_of(frame, size, **options):
    *_, last = as_batches(frame, target="y", batch_size=size, **options)
    return last.feature_names


@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_categories_that_are_integers_keep_their_names_beside_a_null(size):
    frame = pd.DataFrame({"q": pd.Categorical(CODES), "y": [0, 1] * 4})
    assert names_of(frame, size) == ("q=1", "q=2")
    frame = pd.DataFrame({"x": range(8), "y": pd.Categorical(CODES)})
    rows = as_batches(frame, target="y", batch_size=size, on_error="skip")
    assert {label for batch in rows for label in batch.y.tolist()} == {"1", "2"}


@pytest.mark.parametrize("size", [1, 2, 4])
def test_moments_have_one_name(size):
    expected = ("q=2020-01-01 00:00:00", "q=2020-01-02 00:00:00", "q=2020-01-03 10:30:00")
    frame = pd.DataFrame({"q": pd.to_datetime(MOMENTS), "y": [0, 1] * 2})
    table = pl.DataFrame({"q": MOMENTS, "y": [0, 1] * 2})
    categories = frame.astype({"q": "category"})
    for source in (frame, table, table.to_arrow(), categories, frame.astype({"q": object})):
        assert names_of(source, size, categorical="q") == expected


@pytest.mark.parametrize("size", [1, 4])
@pytest.mark.parametrize(
    ("values", "names"),
    [
        ([10115, 20095, None, 10115], ("q=10115", "q=20095")),
        ([True, None, False, True], ("q=true", "q=false")),
        ([dt.date(2020, 1, 1), None, dt.date(2020, 1, 2), None], ("q=2020-01-01", "q=2020-01-02")),
        ([Decimal("1.50"), None, None, Decimal("2.00")], ("q=1.50", "q=2.00")),
        ([b"a", None, "gr\u00f6\u00dfe".encode(), None], ("q=a", "q=größe")),
    ],
)
def test_objects_are_categories_as_other_columns_are(values, names, size):
    table = pl.DataFrame({"q": values, "y": [0, 1] * 2})
    objects = pd.DataFrame({"q": pd.Series(values, dtype=object), "y": [0, 1] * 2})
    for source in (objects, table, table.to_arrow()):
        assert names_of(source, size, categorical="q") == names


def test_object_column_of_nulls_has_no_category():
    frame = pd.DataFrame({"q": pd.Series([None] * 4, dtype=object), "y": [0, 1] * 2})
    assert names_of(frame, 2, categorical="q") == ()


@pytest.mark.parametrize("value", [[1], {"a": 1}, dt.timedelta(1)])
def test_column_without_categories_is_named(value):
    table = pl.DataFrame({"q": [value] * 2, "y": [0, 1]})
    for source in (table, table.to_arrow(), table.to_pandas()):
        with pytest.raises(SourceError, match=r"Column 'q' must hold categories, got type "):
            next(as_batches(source, target="y", categorical="q"))


@pytest.mark.parametrize("size", [1, 3, 20])
@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.jsonl", "pandas", "polars"])
def test_categories_are_in_row_order_for_any_batch_size(name, size, tmp_path):
    frame = pl.DataFrame({"a": ["u", "v", None, "w"], "b": ["p", "p", "q", "r"], "y": [0, 1, 0, 1]})
    writers = {"csv": "write_csv", "parquet": "write_parquet", "jsonl": "write_ndjson"}
    source = {"pandas": frame.to_pandas(), "polars": frame}.get(name, tmp_path / name)
    if name.startswith("a."):
        getattr(frame, writers[name[2:]])(source)
    assert names_of(source, size) == ("a=u", "b=p", "a=v", "b=q", "a=w", "b=r")
