"""Parquet, Arrow and Feather files."""

from __future__ import annotations

import gzip
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from source_helpers import ROLES, assert_same_batches, dense, error_of, write

from driftsieve.batch import Batch
from driftsieve.exceptions import SourceError
from driftsieve.sources import as_batches


def write_ipc(data: Any, path: Path, new: Any, rows: int) -> None:
    table = pa.table(data)
    with new(str(path), table.schema) as writer:
        writer.write_table(table, max_chunksize=rows)


WRITERS = {
    "pandas.parquet": lambda data, path: pd.DataFrame(data).to_parquet(path),
    "polars.parquet": lambda data, path: pl.DataFrame(data).write_parquet(path),
    "groups.parquet": lambda data, path: pq.write_table(pa.table(data), path, row_group_size=7),
    "pandas.feather": lambda data, path: pd.DataFrame(data).to_feather(path),
    "polars.arrow": lambda data, path: pl.DataFrame(data).write_ipc(path),
    "stream.arrows": lambda data, path: pl.DataFrame(data).write_ipc_stream(path),
    "zstd.feather": lambda data, path: pa.feather.write_feather(
        pa.table(data), path, compression="zstd", chunksize=7
    ),
    "small.arrow": lambda data, path: write_ipc(data, path, pa.ipc.new_file, 7),
    "small.ipc": lambda data, path: write_ipc(data, path, pa.ipc.new_stream, 7),
    "stream.arrows.gz": lambda data, path: path.write_bytes(
        gzip.compress(pl.DataFrame(data).write_ipc_stream(None).getvalue())
    ),
    "categories.parquet": lambda data, path: (
        pl.DataFrame(data).cast({"kind": pl.Categorical}).write_parquet(path)
    ),
    "dictionary.arrow": lambda data, path: write_ipc(
        {**data, "kind": pa.array(data["kind"]).dictionary_encode()}, path, pa.ipc.new_file, 20
    ),
}


@pytest.mark.parametrize("name", WRITERS)
def test_columnar_files_of_every_writer_are_read_equally(
    name: str, tmp_path: Path, mixed: dict[str, list[Any]], mixed_batches: list[Batch]
) -> None:
    path = tmp_path / name
    WRITERS[name](mixed, path)
    batches = as_batches(path, batch_size=16, **ROLES)
    assert_same_batches(batches, mixed_batches)
    assert batches.bytes_read == batches.total_bytes == path.stat().st_size


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
def test_numbers_and_dates_beyond_the_digits_of_double_are_rounded(
    name: str, tmp_path: Path
) -> None:
    far = [datetime(9999, 12, 31, tzinfo=UTC), None]  # 2.5e17 microseconds after 1970
    table = pa.table({"a": [2**62 + 1, None], "b": far, "y": [0, 1]})
    if name.endswith("parquet"):
        pq.write_table(table, tmp_path / name)
    else:
        pa.feather.write_feather(table, tmp_path / name)
    for source in (tmp_path / name, table, pl.DataFrame(table), table.to_pandas()):
        (batch,) = as_batches(source, target="y", missing="ignore")
        np.testing.assert_array_equal(dense(batch), [[2.0**62, 253402214400], [np.nan, np.nan]])


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
def test_nulls_dates_and_single_precision(name: str, tmp_path: Path) -> None:
    single = np.float32([1.5, 2.5])
    moments = np.array(["1970-01-02", "1970-01-03"], dtype="M8[ms]")
    table = pa.table({"a": single, "b": single, "when": moments, "y": ["u", "v"]})
    if name.endswith("parquet"):
        pq.write_table(table, tmp_path / name)
    else:
        pa.feather.write_feather(table, tmp_path / name)
    (batch,) = as_batches(tmp_path / name, target="y", time="when")
    assert batch.X.dtype == np.float32
    assert batch.time is not None
    assert batch.time.tolist() == [86400, 172800]
    nulls = pa.table({"a": [1, None], "b": [True, None], "y": [0, 1]})
    pq.write_table(nulls, tmp_path / "b.parquet")
    message = error_of(tmp_path / "b.parquet", target="y")
    assert message.startswith(", row 1: Input X contains NaN, column 0 ('a')")
    (batch,) = as_batches(tmp_path / "b.parquet", target="y", missing="ignore")
    np.testing.assert_array_equal(batch.X, [[1, 1], [np.nan, np.nan]])
    batches = as_batches(tmp_path / "b.parquet", target="y", on_error="skip")
    assert [dense(batch).tolist() for batch in batches] == [[[1, 1]]]
    assert (batches.rows_read, batches.rows_skipped) == (2, 1)


def test_row_numbers_count_in_the_file_not_the_batch(tmp_path: Path) -> None:
    values = np.arange(100.0)
    values[77] = np.inf
    pq.write_table(pa.table({"x": values, "y": np.arange(100) % 2}), tmp_path / "a.parquet")
    message = error_of(tmp_path / "a.parquet", target="y", batch_size=10)
    assert message == ", row 77: Input X contains infinity: inf, column 0 ('x')."


def test_columns_that_cannot_be_used_are_dropped(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"tags": [["a"], ["b"]], "x": [1, 2], "y": [0, 1]}), path)
    assert error_of(path, target="y").startswith(
        ": Column 'tags' must hold numbers or text, got type List(String)"
    )
    assert next(as_batches(path, target="y", drop=["tags"])).X.tolist() == [[1], [2]]
    assert error_of(path, target="z", drop=["tags"]) == (
        ": A column must be one of 'tags', 'x', 'y', got 'z'."
    )
    assert next(as_batches(path, target=2, drop=[0])).X.tolist() == [[1], [2]]
    assert error_of(path, target="y", categorical=["z"]).endswith(", got 'z'.")


@pytest.mark.parametrize("kind", [pa.int64(), pa.uint64(), pa.decimal128(20)])
def test_large_integers_are_exact_as_labels(kind: pa.DataType, tmp_path: Path) -> None:
    labels = [2**53 + 1, 2**53, 2**53 - 1]
    table = pa.table({"x": [1.0] * 4, "y": pa.array([*labels, None], pa.int64()).cast(kind)})
    pq.write_table(table, tmp_path / "a.parquet")
    for source in (tmp_path / "a.parquet", pl.DataFrame(table), table):
        (batch,) = as_batches(source, target="y", on_error="skip")
        assert batch.y.tolist() == labels
    for dtype in ("Int64", object):
        frame = pd.DataFrame({"x": [1.0] * 4, "y": pd.Series([*labels, None], dtype=dtype)})
        (batch,) = as_batches(frame, target="y", on_error="skip")
        assert batch.y.tolist() == labels


def test_files_must_agree_in_kind(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [1, 2], "y": [0, 1]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": ["u", "v"], "y": [0, 1]}), tmp_path / "b.parquet")
    with pytest.raises(
        SourceError, match=r"b\.parquet: Column 'x' must hold numbers, as in the rows before"
    ):
        list(as_batches(tmp_path / "*.parquet", target="y"))


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.feather"])
def test_files_with_a_wrong_suffix_are_an_error(name: str, tmp_path: Path) -> None:
    assert error_of(write(tmp_path / name, "x,y\n1,0\n"), target="y").startswith(
        ": The file cannot be read"
    )


def test_truncated_columnar_files_are_an_error(tmp_path: Path) -> None:
    table = pa.table({"x": np.arange(10_000.0), "y": np.arange(10_000) % 2})
    pq.write_table(table, tmp_path / "a.parquet")
    write_ipc(table, tmp_path / "a.arrow", pa.ipc.new_file, 1000)
    write_ipc(table, tmp_path / "a.arrows", pa.ipc.new_stream, 1000)
    for name, message in {
        "a.parquet": ": The file cannot be read",
        "a.arrow": ": The file cannot be read",
        "a.arrows": ", row 5000: The file cannot be read",
    }.items():
        path = tmp_path / name
        path.write_bytes(path.read_bytes()[: path.stat().st_size * 11 // 20])
        assert error_of(path, target="y", batch_size=100).startswith(message)


@pytest.mark.parametrize("name", ["a.parquet", "a.feather"])
def test_columnar_text_that_is_not_utf8_is_an_error(name: str, tmp_path: Path) -> None:
    offsets, letters = pa.py_buffer(np.int32([0, 1, 2])), pa.py_buffer(b"u\xff")
    table = pa.table({"c": pa.StringArray.from_buffers(2, offsets, letters), "y": [0, 1]})
    if name.endswith("parquet"):
        pq.write_table(table, tmp_path / name)
    else:
        pa.feather.write_feather(table, tmp_path / name)
    message = error_of(tmp_path / name, target="y")
    assert message.startswith(": The file cannot be read: ")
    assert "UTF8" in message


@pytest.mark.parametrize("name", ["a.parquet", "a.feather"])
def test_a_file_without_rows_is_an_error_unless_others_have_rows(name: str, tmp_path: Path) -> None:
    table = pa.table({"x": pa.array([], pa.float64()), "y": pa.array([], pa.int64())})
    if name.endswith("parquet"):
        pq.write_table(table, tmp_path / name)
    else:
        pa.feather.write_feather(table, tmp_path / name)
    assert error_of(tmp_path / name, target="y") == ": The file must have rows, got none."
    rows = tmp_path / f"rows.{name}"
    if name.endswith("parquet"):
        pq.write_table(pa.table({"x": [1.0], "y": [1]}), rows)
    else:
        pa.feather.write_feather(pa.table({"x": [1.0], "y": [1]}), rows)
    (batch,) = as_batches([tmp_path / name, rows], target="y")
    assert batch.y.tolist() == [1]


@pytest.mark.parametrize("name", ["a.parquet.gz", "a.arrow.gz"])
def test_columnar_files_must_not_be_compressed_again(name: str, tmp_path: Path) -> None:
    pq.write_table(pa.table({"y": [1]}), tmp_path / "a.parquet")
    pa.feather.write_feather(pa.table({"y": [1]}), tmp_path / "a.arrow")
    inner = (tmp_path / name.removesuffix(".gz")).read_bytes()
    message = error_of(write(tmp_path / name, gzip.compress(inner)), target="y")
    assert "must be on disk and uncompressed" in message


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.csv.zst"])
def test_without_pyarrow_the_message_names_the_extra(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r'needs pyarrow: pip install "driftsieve\[files\]"'):
        next(as_batches(write(tmp_path / name, "x"), target="y"))


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.arrows"])
def test_memory_does_not_grow_with_the_file(name: str, tmp_path: Path) -> None:
    rows, columns = 20_000, 50
    path = tmp_path / name
    rng = np.random.default_rng(0)
    schema = pa.schema([(f"x{j}", pa.float64()) for j in range(columns)] + [("y", pa.int64())])
    new = {
        "a.parquet": pq.ParquetWriter,
        "a.arrow": pa.ipc.new_file,
        "a.arrows": pa.ipc.new_stream,
    }[name]
    with new(str(path), schema) as writer:
        for _ in range(10):
            data = [rng.normal(size=rows // 10) for _ in range(columns)]
            labels = np.arange(rows // 10) % 2
            writer.write_table(pa.table([*data, labels], schema=schema))
    before = pa.total_allocated_bytes()
    peak = 0
    for _ in as_batches(path, target="y", batch_size=500):
        peak = max(peak, pa.total_allocated_bytes() - before)
    assert peak < rows * columns * 8 / 2


@pytest.mark.parametrize("labels", [[b"u", b"v"], [None, None]])
@pytest.mark.parametrize("role", ["target", "sample_weight", "time"])
def test_dropping_a_required_column_is_an_error(
    labels: list[Any], role: str, tmp_path: Path
) -> None:
    pq.write_table(pa.table({"x": [1.0, 2.0], "r": labels, "y": [0, 1]}), tmp_path / "a.parquet")
    message = error_of(tmp_path / "a.parquet", **({"target": "y"} | {role: "r"}))
    assert message.startswith(": Column 'r' must hold numbers or text, got type ")
    assert message.endswith("Use text or integers for labels, numbers for weights and times.")
