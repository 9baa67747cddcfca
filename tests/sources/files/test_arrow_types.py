"""Types of Arrow's that narwhals has no name for."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from source_helpers import dense, error_of

from driftsieve.exceptions import SourceError
from driftsieve.sources import as_batches


def save(table: pa.Table, path: Path) -> Path:
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    else:
        pa.feather.write_feather(table, path)
    return path


@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
@pytest.mark.parametrize("batch_size", [1, 10])
def test_column_of_null_type_has_missing_values(
    suffix: str, batch_size: int, tmp_path: Path
) -> None:
    full = pa.table({"n": [1, 2], "c": ["u", "v"], "y": [0, 1]})
    void = pa.table({"n": pa.nulls(2), "c": pa.nulls(2), "y": [0, 1]})
    paths = [save(t, tmp_path / f"{i}{suffix}") for i, t in enumerate([full, void, full])]
    options: dict[str, Any] = {"target": "y", "batch_size": batch_size}
    batches = list(as_batches(paths, missing="ignore", **options))
    assert {batch.feature_names for batch in batches[1:]} <= {("n", "c=u"), ("n", "c=u", "c=v")}
    rows = [[1, 1, 0], [2, 0, 1], [np.nan, 0, 0], [np.nan, 0, 0], [1, 1, 0], [2, 0, 1]]
    padded = [np.pad(dense(b), ((0, 0), (0, 3 - b.n_features))) for b in batches]
    np.testing.assert_array_equal(np.vstack(padded), rows)
    with pytest.raises(SourceError, match=r"1\..*, row 0: Input X contains NaN, column 0 \('n'\)"):
        list(as_batches(paths, **options))


@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
def test_column_of_null_type_in_the_first_batch_is_numeric(suffix: str, tmp_path: Path) -> None:
    void = save(pa.table({"a": pa.nulls(2), "y": [0, 1]}), tmp_path / f"a{suffix}")
    full = save(pa.table({"a": [1.5, 2.5], "y": [0, 1]}), tmp_path / f"b{suffix}")
    first, second = as_batches([void, full], target="y", missing="ignore")
    np.testing.assert_array_equal(first.X, [[np.nan], [np.nan]])
    assert second.X.tolist() == [[1.5], [2.5]]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_data_frame_with_a_column_of_nulls_is_accepted(frame: Any) -> None:
    data = frame({"a": [None, None], "b": [1, 2], "y": [0, 1]})
    (batch,) = as_batches(data, target="y", missing="ignore")
    np.testing.assert_array_equal(batch.X, [[np.nan, 1], [np.nan, 2]])
    (batch,) = as_batches(data, target="y", categorical="a")
    assert batch.feature_names == ("b",)


@pytest.mark.parametrize("name", ["a.parquet", "a.feather", "table"])
def test_dates_and_decimals_of_any_width(name: str, tmp_path: Path) -> None:
    days = pa.array([0, None, 86_400_000], pa.date64())
    decimals = pa.array([Decimal("1.5"), None, Decimal(10**50)], pa.decimal256(60, 2))
    labels = pa.array([2**53 + 1, 2**53, 7], pa.int64()).cast(pa.decimal256(40))
    table = pa.table({"d": days, "n": decimals, "y": labels})
    source = table if name == "table" else save(table, tmp_path / name)
    (batch,) = as_batches(source, target="y", missing="ignore")
    np.testing.assert_array_equal(batch.X, [[0, 1.5], [np.nan, np.nan], [86400, 1e50]])
    assert batch.y.tolist() == [2**53 + 1, 2**53, 7]
    (batch,) = as_batches(source, target="y", drop="n", categorical="d")
    assert batch.feature_names == ("d=1970-01-01", "d=1970-01-02")


def test_a_type_that_cannot_be_used_is_called_by_its_name(tmp_path: Path) -> None:
    runs = pa.RunEndEncodedArray.from_arrays([1, 2], [1.0, 2.0])
    table = pa.table({"runs": runs, "none": pa.nulls(2), "y": [0, 1]})
    with pytest.raises(
        SourceError, match="Column 'runs' must hold numbers or text, got type run_end_encoded<"
    ):
        list(as_batches(table, target="y"))
    path = save(table.drop(["runs"]), tmp_path / "a.feather")
    assert error_of(path, target="none").startswith(
        ": Column 'none' must hold numbers or text, got type null"
    )
    months = pd.DataFrame({"m": pd.period_range("2020-01", periods=2, freq="M"), "y": [0, 1]})
    with pytest.raises(
        SourceError, match=r"Column 'm' must hold numbers or text, got type period\[M\]"
    ):
        list(as_batches(months, target="y"))
