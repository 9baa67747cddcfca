"""What pandas writes and holds: its index, time zones, objects that are dates or decimals."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from driftsieve.sources import as_batches

FRAME = pd.DataFrame({"x": [1.0, 2.0, 3.0], "y": [0, 1, 0]})
INDEXES = {
    "unnamed": pd.Index([7, 9, 8]),
    "named": pd.Index([7, 9, 8], name="id"),
    "text": pd.Index(["r1", "r2", "r3"], name="id"),
    "range": pd.RangeIndex(3, 6),
    "levels": pd.MultiIndex.from_tuples([(1, 2), (1, 3), (2, 2)], names=["a", None]),
}


@pytest.fixture(params=["arrow", "parquet", "feather", "arrows"])
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    def store(frame: pd.DataFrame) -> Any:
        # preserve_index=True makes a column of a range as well
        table = pa.Table.from_pandas(frame)
        path = tmp_path / f"a.{request.param}"
        if request.param == "arrow":
            return table
        if request.param == "parquet":
            frame.to_parquet(path)
        else:
            new = pa.ipc.new_stream if request.param == "arrows" else pa.ipc.new_file
            with new(path, table.schema) as writer:
                writer.write_table(table)
        return path

    return store


@pytest.mark.parametrize("index", INDEXES)
def test_the_index_is_no_feature(index: str, stored: Any) -> None:
    source = stored(FRAME.set_index(INDEXES[index]))
    for target in ("y", 1, -1):  # positions are those of the frame
        (batch,) = as_batches(source, target=target)
        assert batch.feature_names == ("x",)
        assert batch.y.tolist() == [0, 1, 0]


def test_named_pandas_index_is_a_column(stored: Any) -> None:
    source = stored(FRAME.set_index(pd.Index([7, 9, 8], name="id")))
    (batch,) = as_batches(source, target="y", time="id")
    assert batch.time is not None
    assert batch.time.tolist() == [7, 9, 8]
    assert next(as_batches(source, target="y", categorical="id")).feature_names == (
        *("x", "id=7", "id=9", "id=8"),
    )
    assert next(as_batches(source, target="id")).y.tolist() == [7, 9, 8]
    assert next(as_batches(source, target="y", drop="id")).feature_names == ("x",)


def test_the_index_is_known_by_its_name_without_metadata(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    FRAME.set_index(pd.Index([7, 9, 8])).to_parquet(path)
    (batch,) = as_batches(pl.read_parquet(path, use_pyarrow=True), target="y")
    assert batch.feature_names == ("x",)


@pytest.mark.parametrize("metadata", [b"", b"{", b"[]", b'{"index_columns": 3}', b"\xff"])
def test_invalid_metadata_is_ignored(metadata: bytes) -> None:
    table = pa.table({"x": [1.0], "y": [0]}).replace_schema_metadata({b"pandas": metadata})
    assert next(as_batches(table, target="y")).feature_names == ("x",)


ZONES = ["America/New_York", "Etc/GMT-5", "Etc/GMT+5", "America/Port-au-Prince", "UTC", "EST5EDT"]


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("unit", ["ns", "us", "s"])
def test_columns_of_every_time_zone_are_read(zone: str, unit: str) -> None:
    moments = pd.Series(pd.to_datetime(["2020-01-31", None, "2020-07-01"])).dt.as_unit(unit)
    frame = pd.DataFrame({"t": moments.dt.tz_localize(zone), "y": [0, 1, 0]})
    expected = [at.timestamp() for at in frame["t"][[0, 2]]]
    (batch,) = as_batches(frame, target="y", missing="ignore")
    np.testing.assert_array_equal(batch.X.ravel(), [expected[0], np.nan, expected[1]])
    known = frame.dropna()
    (batch,) = as_batches(known, target="y", time="t")
    assert batch.time is not None
    assert (batch.time.tolist(), batch.has_dates) == (expected, True)
    (batch,) = as_batches(known, target="y", categorical="t")
    assert batch.feature_names == tuple(f"t={at}" for at in known["t"])


OBJECTS = {
    "dates": [dt.date(2020, 1, 31), None, dt.date(2020, 2, 1)],
    "datetimes": [dt.datetime(2020, 1, 31), None, dt.datetime(2020, 2, 1)],
    "zones": [pd.Timestamp("2020-01-31", tz="UTC"), pd.NaT, pd.Timestamp("2020-02-01", tz="UTC")],
    "numpy": [np.datetime64("2020-01-31"), None, np.datetime64("2020-02-01")],
}


@pytest.mark.parametrize("kind", OBJECTS)
@pytest.mark.parametrize("batch_size", [1, 2, 10])
def test_objects_that_are_dates_are_seconds(kind: str, batch_size: int) -> None:
    column = pd.Series(OBJECTS[kind], dtype=object)
    frame = pd.DataFrame({"t": column, "y": [0, 1, 0]})
    options: dict[str, Any] = {"target": "y", "batch_size": batch_size}
    read = [b.X.ravel() for b in as_batches(frame, missing="ignore", **options)]
    np.testing.assert_array_equal(np.concatenate(read), [1580428800, np.nan, 1580515200])
    for batch in as_batches(frame.iloc[[0, 2]], time="t", **options):
        assert batch.has_dates
        assert batch.time is not None
        assert set(batch.time.tolist()) <= {1580428800, 1580515200}


@pytest.mark.parametrize("batch_size", [1, 10])
def test_objects_that_are_decimals_are_numbers(batch_size: int) -> None:
    column = pd.Series([Decimal("1.5"), None, 2], dtype=object)
    labels = pd.Series([Decimal(2**60 + 1), Decimal(3), Decimal("4.0")], dtype=object)
    frame = pd.DataFrame({"x": column, "y": labels})
    batches = list(as_batches(frame, target="y", missing="ignore", batch_size=batch_size))
    values = np.concatenate([batch.X.ravel() for batch in batches])
    np.testing.assert_array_equal(values, [1.5, np.nan, 2])
    assert [label for batch in batches for label in batch.y.tolist()] == [2**60 + 1, 3, 4]


def test_objects_of_several_kinds_are_refused() -> None:
    mixed = pd.Series([dt.date(2020, 1, 31), Decimal(1)], dtype=object)
    frame = pd.DataFrame({"x": mixed, "y": [0, 1]})
    with pytest.raises(
        ValueError, match="Column 'x' must hold values of one type, got Decimal and date"
    ):
        next(as_batches(frame, target="y"))
