"""CSV and TSV files."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pytest
from source_helpers import ROLES, assert_same_batches, dense, error_of, write

from driftsieve.batch import Batch
from driftsieve.exceptions import SourceError
from driftsieve.sources import as_batches
from driftsieve.sources.encoding.cells import advice
from driftsieve.sources.encoding.kinds import SAMPLE


@pytest.fixture(params=["with pyarrow", "without pyarrow"])
def _pyarrow(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "without pyarrow":
        monkeypatch.setitem(sys.modules, "pyarrow", None)


WRITERS = {
    "pandas": lambda data, path: pd.DataFrame(data).to_csv(path, index=False),
    "polars": lambda data, path: pl.DataFrame(data).write_csv(path),
    "pyarrow": lambda data, path: pa.csv.write_csv(pa.table(data), path),
    "windows": lambda data, path: pd.DataFrame(data).to_csv(
        path, index=False, lineterminator="\r\n", encoding="utf-8-sig"
    ),
}


@pytest.mark.usefixtures("_pyarrow")
@pytest.mark.parametrize("writer", WRITERS)
def test_csv_files_of_every_writer_are_read_equally(
    writer: str, tmp_path: Path, mixed: dict[str, list[Any]], mixed_batches: list[Batch]
) -> None:
    path = tmp_path / "mixed.csv"
    WRITERS[writer](mixed, path)
    assert_same_batches(as_batches(path, batch_size=16, **ROLES), mixed_batches)


def test_tsv_and_other_delimiters(
    tmp_path: Path, mixed: dict[str, list[Any]], mixed_batches: list[Batch]
) -> None:
    frame = pd.DataFrame(mixed)
    frame.to_csv(tmp_path / "a.tsv", index=False, sep="\t")
    frame.to_csv(tmp_path / "b.csv", index=False, sep=";")
    assert_same_batches(as_batches(tmp_path / "a.tsv", batch_size=16, **ROLES), mixed_batches)
    semicolons = as_batches(tmp_path / "b.csv", batch_size=16, delimiter=";", **ROLES)
    assert_same_batches(semicolons, mixed_batches)


def test_csv_without_a_header_has_numbered_names(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "-1,0.5,7\n1,1.5,8\n")
    (batch,) = as_batches(path, target=0)
    assert batch.feature_names == ("x1", "x2")
    assert batch.X.tolist() == [[0.5, 7], [1.5, 8]]
    assert batch.y.tolist() == [-1, 1]
    assert next(as_batches(path, target="0")).y.tolist() == [-1, 1]
    assert next(as_batches(path, target="-1", header=True)).y.tolist() == [1]


@pytest.mark.parametrize("target", ["2", "0", "-1", "+1"])
@pytest.mark.parametrize("first", ["2,0,1.5", "-1,2,0", "0,1,2", "u,0,2"])
def test_a_position_is_used_with_any_first_row(target: str, first: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", f"{first}\n1,2,3\n")
    options: dict[str, Any] = {"categorical": [0], "on_error": "skip"}
    expected = list(as_batches(path, target=int(target), **options))
    assert sum(batch.n_rows for batch in expected) >= 1
    assert_same_batches(as_batches(path, target=target, **options), expected)
    assert_same_batches(as_batches(path, target=target, header=False, **options), expected)


def test_a_name_that_looks_like_a_position_is_one_in_a_header(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "5,0,1\n1,2,0\n3,4,1\n")
    (batch,) = as_batches(path, target="1", drop=["0"], header=True)
    assert (batch.feature_names, batch.y.tolist()) == (("5",), [0, 1])


def test_a_first_row_with_the_target_is_a_header(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "2019,2020,y\n1,2,0\n3,4,1\n")
    (batch,) = as_batches(path, target="y")
    assert batch.feature_names == ("2019", "2020")
    assert batch.n_rows == 2
    text_only = write(tmp_path / "b.csv", "u,x\nv,y\n")
    assert next(as_batches(text_only, target=0, header=False)).y.tolist() == ["u", "v"]


@pytest.mark.usefixtures("_pyarrow")
def test_empty_csv_cells_are_missing_values(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "x,c,y\n1,u,0\nNA,,1\n\n?,v,0\n2,null,1\n")
    assert error_of(path, target="y").startswith(", line 3: Input X contains NaN, column 0 ('x')")
    first, second = as_batches(path, target="y", missing="ignore", batch_size=2)
    np.testing.assert_array_equal(dense(first), [[1, 1], [np.nan, 0]])
    np.testing.assert_array_equal(dense(second), [[np.nan, 0, 1], [2, 0, 0]])


@pytest.mark.parametrize("batch_size", [1, 2, 10])
def test_a_column_is_what_most_of_its_values_are(batch_size: int, tmp_path: Path) -> None:
    rows = "".join(f"{i},blue,{i % 2}\n" for i in range(20))
    path = write(tmp_path / "a.csv", "x,c,y\n1,,0\n2,,1\n3,NA,0\n4,red,1\n5,7,0\n" + rows)
    *_, last = as_batches(path, target="y", batch_size=batch_size)
    assert last.feature_names == ("x", "c=red", "c=7", "c=blue")
    path = write(tmp_path / "b.csv", "x,y\nodd,0\n1,1\n2,0\n")
    assert error_of(path, target="y", batch_size=batch_size) == (
        f", line 2: Column 'x' must hold numbers, got 'odd'. {advice()}"
    )


@pytest.mark.parametrize("batch_size", [1000, SAMPLE, 10_000])
def test_a_column_without_values_holds_numbers(batch_size: int, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "x,y\n" + ",0\n" * SAMPLE + "red,1\n")
    options = {"target": "y", "missing": "ignore", "batch_size": batch_size}
    cause = f", line {SAMPLE + 2}: Column 'x' must hold numbers, got 'red'. {advice()}"
    assert error_of(path, **options) == cause
    write(path, "x,y\n" + ",0\n" * (SAMPLE - 1) + "red,1\n")
    *_, last = as_batches(path, **options)
    assert last.feature_names == ("x=red",)


def test_a_column_that_starts_empty_holds_numbers(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "x,y\n,0\n,1\n5,0\nred,1\n6,0\n")
    options = {"target": "y", "missing": "ignore", "batch_size": 2}
    cause = f", line 5: Column 'x' must hold numbers, got 'red'. {advice()}"
    assert error_of(path, **options) == cause
    *_, last = as_batches(path, categorical=["x"], **options)
    assert last.feature_names == ("x=5", "x=red", "x=6")


@pytest.mark.usefixtures("_pyarrow")
@pytest.mark.parametrize("first", ["7", "q1", ""])
def test_csv_columns_can_be_dropped(first: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", f"id,x,y\n{first},1,0\nq2,2,1\n")
    for target in (2, "2", -1, "y"):  # positions are those of the file, whatever is dropped
        for drop in (["id"], "id", [0], ["-3"]):
            (batch,) = as_batches(path, target=target, drop=drop)
            assert (batch.X.tolist(), batch.y.tolist()) == ([[1], [2]], [0, 1])
    assert error_of(path, target="y", drop=["no"]).endswith(", got 'no'.")
    assert error_of(path, target="y", drop=[2]) == (
        ": target must not be a column of drop, got 'y'."
    )


@pytest.mark.usefixtures("_pyarrow")
def test_csv_columns_can_be_categorical(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "x,zip,y\n1,7,0\n2,8,1\n")
    for categorical in (["zip"], [1], ["-2"]):
        (batch,) = as_batches(path, target="y", categorical=categorical)
        assert batch.feature_names == ("x", "zip=7", "zip=8")
    error = error_of(path, target="y", categorical=["zap"])
    assert error.endswith(", got 'zap'. Did you mean 'zip'?")


@pytest.mark.parametrize("delimiter", ["", ";;", "§", '"', "\n", "\0"])
def test_invalid_delimiters_are_an_error(delimiter: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "x,y\n1,2\n")
    with pytest.raises(ValueError, match="delimiter must be one ASCII character"):
        as_batches(path, target="y", delimiter=delimiter)


@pytest.mark.usefixtures("_pyarrow")
@pytest.mark.parametrize("batch_size", [1, 2, 10])
def test_large_integers_are_exact_as_csv_labels(batch_size: int, tmp_path: Path) -> None:
    labels = [2**53 + 1, 2**53, 2**53 - 1, 2**63 - 1, -(2**63)]
    rows = "".join(f"1,{label}\n" for label in labels)
    path = write(tmp_path / "a.csv", "x,y\n" + rows + "1,9007199254740993.0\n1,\n1,1e300\n")
    options: dict[str, Any] = {"target": "y", "batch_size": batch_size, "on_error": "skip"}
    batches = as_batches(path, **options)
    assert [label for batch in batches for label in batch.y.tolist()] == [*labels, 2**53 + 1]
    assert batches.rows_skipped == 2
    for other in ("9007199254740993.5", str(2**63)):
        path = write(tmp_path / "b.csv", f"x,y\n1,-1\n1,{other}\n")
        assert error_of(path, target="y") == (
            ", line 3: Labels must fit 64-bit integers, got a larger one. Convert labels to text."
        )


@pytest.mark.usefixtures("_pyarrow")
@pytest.mark.parametrize(
    ("content", "cause"),
    [
        ("1,0\n2,1,9\n3,1\n", "A row must have 2 columns, got 3."),
        ("1,0\n2\n3,1\n", "A row must have 2 columns, got 1."),
        ("1,0\ntwo,1\n3,1\n", "Column 'x' must hold numbers, got 'two'."),
        ("1,0\n1_0,1\n3,1\n", "Column 'x' must hold numbers, got '1_0'."),
        ("1,0\n2,one\n3,1\n", "Column 'y' must hold numbers, got 'one'."),
        (b"1,0\n\xff,1\n3,1\n", "Text must be UTF-8, got byte 0xff."),
        ("1,0\n-inf,1\n3,1\n", "Input X contains infinity: -inf, column 0 ('x')."),
        ("1,0\n2,\n3,1\n", "Input y contains NaN."),
        ("1,0\n2,0.5\n3,1\n", "Unknown label type: continuous."),
        ("1,0\n2\r5,1\n3,1\n", r"Lines must end in \n or \r\n, got \r. For old Mac files use tr "),
    ],
)
@pytest.mark.parametrize("batch_size", [1, 2, 10])
def test_bad_csv_rows_are_named_and_can_be_skipped(
    content: str | bytes, cause: str, batch_size: int, tmp_path: Path
) -> None:
    data = content.encode() if isinstance(content, str) else content
    path = write(tmp_path / "a.csv", b"x,y\n" + data)
    options = {"target": "y", "batch_size": batch_size}
    assert error_of(path, **options).startswith(f", line 3: {cause}")
    batches = as_batches(path, on_error="skip", **options)
    got = list(batches)
    assert np.vstack([dense(batch) for batch in got]).tolist() == [[1], [3]]
    assert np.concatenate([batch.y for batch in got]).tolist() == [0, 1]
    assert (batches.rows_read, batches.rows_delivered, batches.rows_skipped) == (3, 2, 1)
    assert batches.skip_reasons == [str(path) + error_of(path, **options)]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("batch_size", [1, 2, 10])
@pytest.mark.parametrize("quote", ["", '"'])
def test_fields_may_be_as_long_as_lines(
    end: str, batch_size: int, quote: str, tmp_path: Path
) -> None:
    long = "x" * 200_000
    rows = ["c,y", f"{quote}{long}{quote},0", f"u{long},1", f'"{long}{end}{long}",0', "bad"]
    path = write(tmp_path / "a.csv", end.join(rows))
    batches = as_batches(path, target="y", batch_size=batch_size, on_error="skip")
    *_, last = batches
    limit = csv.field_size_limit()
    assert last.feature_names == (f"c={long}", f"c=u{long}", f"c={long}{end}{long}")
    assert (batches.rows_read, batches.rows_skipped) == (4, 1)
    assert limit == csv.field_size_limit() == 131_072


def test_a_quote_within_a_field_is_a_character(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", 'c,y\n5" pipe,0\n6" pipe,1\n')
    (batch,) = as_batches(path, target="y")
    assert batch.feature_names == ('c=5" pipe', 'c=6" pipe')


def test_invalid_csv_headers_are_an_error(tmp_path: Path) -> None:
    twice = write(tmp_path / "a.csv", "x,y,x\n1,2,3\n")
    assert (
        error_of(twice, target="y")
        == ": Column names must differ, got 'x' 2 times. Rename one of them."
    )
    invalid = write(tmp_path / "b.csv", b"x,\xe9\n1,2\n")
    found = error_of(invalid, target="x")
    assert found.startswith(
        ", line 1: Text must be UTF-8, got byte 0xe9. For Latin-1 use iconv -f "
    )
    alone = write(tmp_path / "c.csv", "x,y\n")
    assert error_of(alone, target="y") == ": The file must have rows, got none."
    absent = write(tmp_path / "d.csv", "x,y\n1,2\n")
    assert error_of(absent, target="z") == ": A column must be one of 'x', 'y', got 'z'."
    assert error_of(absent).startswith(": target must be the column of the labels")
    words = write(tmp_path / "e.csv", "x,y\nu,2\n")
    assert (
        error_of(words, target="y", sample_weight="x")
        == ": The weight column 'x' must hold numbers, got text."
    )


def test_csv_files_must_agree(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", "x,c,y\n1,u,0\n")
    write(tmp_path / "b.csv", "y,x,c\n1,2,v\n")  # another order is fine
    first, second = as_batches([tmp_path / "a.csv", tmp_path / "b.csv"], target="y")
    assert dense(first).tolist() == [[1, 1]]
    assert dense(second).tolist() == [[2, 0, 1]]
    for content, cause in {
        "x,y\n1,0\n": "Rows must have column 'c', as the rows before.",
        "x,c,y,z\n1,u,0,1\n": "Rows must have the columns of the rows before, got the new column "
        "'z'.",
    }.items():
        other = write(tmp_path / "c.csv", content)
        with pytest.raises(SourceError, match=f"^{other}: {cause}$"):
            list(as_batches([tmp_path / "a.csv", other], target="y"))


def test_csv_dates_are_clock_readings(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "when,x,y\n1970-01-01T00:01Z,1,0\n1970-01-02,2,1\nsoon,3,0\n")
    options: dict[str, Any] = {"target": "y", "time": "when"}
    assert error_of(path, **options) == ", line 4: Column 'when' must hold times, got 'soon'."
    (batch,) = as_batches(path, on_error="skip", **options)
    assert batch.time is not None
    assert batch.time.tolist() == [60, 86400]
    other = write(tmp_path / "b.csv", "when,x,y\n31/12/1999,1,0\n")
    assert (
        error_of(other, **options)
        == ": The time column 'when' must hold ISO dates, got '31/12/1999'."
    )


@pytest.mark.usefixtures("_pyarrow")
@pytest.mark.parametrize("batch_size", [1, 2, 10])
def test_invalid_weights_and_times_are_named(batch_size: int, tmp_path: Path) -> None:
    text = "t,w,x,y\n1,1,1,0\n,2,2,1\nbad\n3,NA,3,0\n4,4,4,1\n"
    path = write(tmp_path / "a.csv", text)
    options: dict[str, Any] = {
        "target": "y",
        "sample_weight": "w",
        "time": "t",
        "batch_size": batch_size,
    }
    batches = as_batches(path, on_error="skip", **options)
    assert np.concatenate([batch.sample_weight for batch in batches]).tolist() == [1, 4]
    assert [reason.removeprefix(f"{path}, ") for reason in batches.skip_reasons] == [
        "line 3: Column 't' must hold times, got a missing value.",
        "line 4: A row must have 4 columns, got 1.",
        "line 5: Column 'w' must hold weights, got a missing value.",
    ]


def test_carriage_return_line_ends_are_reported(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "x,y\r1,0\r2,1\r")
    assert error_of(path, target="y").startswith(r", line 1: Lines must end in \n or \r\n, got \r")


def test_one_column_may_be_label_weight_and_time(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,y\n5,1\n6,2\nx,3\n")
    batches = as_batches(path, target="y", sample_weight="y", time="y", on_error="skip")
    (batch,) = batches
    assert batch.y.tolist() == batch.sample_weight.tolist() == batch.time.tolist() == [1, 2]
