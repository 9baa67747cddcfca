"""Names of features, of which no two may be equal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from source_helpers import error_of, write

from driftsieve.exceptions import SourceError
from driftsieve.sources import as_batches

CLASH = (
    "Feature names must differ, got 'a=b' twice, from column 'a=b' and the value 'b' of column "
    "'a'. Leave one of the columns out with drop."
)
TABLE: dict[str, list[Any]] = {"a": ["c", "b", "c"], "a=b": [1, 2, 3], "y": [0, 1, 0]}


def write_csv(path: Path) -> None:
    write(path, "a,a=b,y\nshort\nc,1,0\nb,2,1\nc,3,0\n")


WRITERS = {
    "a.csv": write_csv,
    "a.parquet": lambda path: pl.DataFrame(TABLE).write_parquet(path),
    "a.arrow": lambda path: pl.DataFrame(TABLE).write_ipc(path),
}


@pytest.mark.parametrize("batch_size", [1, 2, 10])
@pytest.mark.parametrize("name", WRITERS)
def test_column_and_category_with_the_same_feature_name_are_an_error(
    name: str, batch_size: int, tmp_path: Path
) -> None:
    path = tmp_path / name
    WRITERS[name](path)
    options: dict[str, Any] = {"target": "y", "on_error": "skip", "batch_size": batch_size}
    place = "line 4" if name == "a.csv" else "row 1"
    assert error_of(path, **options) == f", {place}: {CLASH}"
    *_, batch = as_batches(path, **options, drop="a=b")
    assert batch.feature_names == ("a=c", "a=b")
    *_, batch = as_batches(path, **options, drop="a")
    assert batch.feature_names == ("a=b",)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize("batch_size", [1, 10])
def test_names_of_a_frame_that_are_alike(frame: Any, batch_size: int) -> None:
    with pytest.raises(SourceError) as caught:
        list(as_batches(frame(TABLE), target="y", batch_size=batch_size))
    assert str(caught.value) == f"row 1: {CLASH}"


@pytest.mark.parametrize("batch_size", [1, 2, 10])
@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_key_and_category_with_the_same_feature_name_are_an_error(
    batch_size: int, on_error: Any, tmp_path: Path
) -> None:
    rows: list[dict[str, Any]] = [{"a": "b", "y": 0}, {"a=b": 2, "y": 1}]
    cause = (
        "Feature names must differ, got 'a=b' twice, from the value 'b' of column 'a' and column "
        "'a=b'. Leave one of the columns out with drop."
    )
    options: dict[str, Any] = {"target": "y", "batch_size": batch_size, "on_error": on_error}
    path = write(tmp_path / "a.jsonl", "\n\n".join(map(json.dumps, rows)))
    assert error_of(path, **options) == f", line 3: {cause}"
    with pytest.raises(SourceError) as caught:
        list(as_batches(rows, **options))
    assert str(caught.value) == f"row 1: {cause}"


def test_a_bad_row_before_does_not_hide_which_row_it_is() -> None:
    rows: list[dict[str, Any]] = [{"a": "b"}, {"a": "b", "y": 0}, {"a=b": 2, "y": 1}]
    with pytest.raises(SourceError, match=r"^row 2: Feature names must differ, got 'a=b' twice"):
        list(as_batches(rows, target="y", on_error="skip"))


def test_missing_number_and_category_with_the_same_name_are_an_error() -> None:
    rows: list[dict[str, Any]] = [{"a=b": None, "y": 0}, {"a": "b", "y": 1}]
    for batch_size in (1, 2):
        with pytest.raises(SourceError, match="Feature names must differ, got 'a=b'"):
            list(as_batches(rows, target="y", missing="ignore", batch_size=batch_size))


def test_categories_of_two_columns_with_the_same_feature_name_are_an_error() -> None:
    rows = [{"a=b": "c", "a": "b", "y": 0}, {"a": "b=c", "y": 1}]
    cause = "'a=b=c' twice, from the value 'c' of column 'a=b' and the value"
    with pytest.raises(SourceError, match=cause):
        list(as_batches(rows, target="y"))
    (batch,) = as_batches(rows, target="y", drop="a=b")
    assert batch.feature_names == ("a=b", "a=b=c")


def test_too_many_features_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "c,y\nu,0\nv,1\nw,1\n")
    message = error_of(path, target="y", max_features=2)
    assert message.startswith(", line 4: The number of features must be at most max_features=2")
    with pytest.raises(SourceError, match=r"^row 1: .* at most max_features=2"):
        list(as_batches([{"a": 1, "y": 0}, {"b": 1, "c": 1, "y": 1}], target="y", max_features=2))
