"""The options of as_batches with every kind of source."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from source_helpers import X, Y, assert_same_batches, write

from driftsieve.exceptions import SourceError
from driftsieve.sources import as_batches


@pytest.mark.parametrize("role", ["target", "time", "sample_weight"])
@pytest.mark.parametrize("make", [list, np.array, pd.Series, pl.Series, pa.array])
def test_rows_and_files_reject_arrays_as_roles(role: str, make: Any, tmp_path: Path) -> None:
    rows = [{"a": 1.0, "y": 0}, {"a": 2.0, "y": 1}]
    for source in (rows, iter(rows), write(tmp_path / "a.csv", "a,y\n1,0\n2,1\n")):
        with pytest.raises(SourceError, match=f"^{role} must be a column or key .*, got "):
            as_batches(source, **{"target": "y", role: make([0, 1])})


def test_numpy_integers_are_positions() -> None:
    matrix = np.column_stack([X, Y])
    expected = list(as_batches((X, Y)))
    assert_same_batches(as_batches(matrix, target=np.int64(-1)), expected)
    frame = pd.DataFrame(matrix, columns=list("abcd"))
    assert next(as_batches(frame, target=np.int64(-1))).y.tolist() == Y.tolist()


@pytest.mark.parametrize("option", ["drop", "categorical"])
def test_options_that_name_columns_need_some(option: str) -> None:
    for source in ((X, Y), (sparse.csr_array(X), Y)):
        with pytest.raises(SourceError, match=f"^{option} must not be given for "):
            as_batches(source, **{option: [0]})
    pairs = as_batches(zip(X, Y, strict=True), **{option: [0]})
    with pytest.raises(SourceError, match=f"^{option} must not be given for "):
        next(pairs)


def test_columns_can_be_dropped_or_called_categorical() -> None:
    frame = pl.DataFrame({"id": [[1], [2]], "zip": [123, 45], "x": [1.5, 2.5], "y": [0, 1]})
    with pytest.raises(
        SourceError, match=r"Column 'id' must hold numbers or text, got type List\(Int64\).*drop"
    ):
        next(as_batches(frame, target="y"))
    (batch,) = as_batches(frame, target="y", drop=["id"], categorical=["zip"])
    assert batch.feature_names == ("x", "zip=123", "zip=45")
    with pytest.raises(
        SourceError, match=r"A column must be one of 'id', 'zip', 'x', 'y', got 'no'."
    ):
        as_batches(frame, target="y", drop=["no"])


@pytest.mark.parametrize("make", [list, set, iter, np.array, pd.Index, pd.Series, pl.Series])
def test_columns_are_accepted_as_any_iterable(make: Any) -> None:
    frame = pd.DataFrame({"a": [1, 2], "b": [3, 4], "c": [5, 6], "y": [0, 1]})
    (batch,) = as_batches(frame, target="y", drop=make(["a", "b"]))
    assert batch.feature_names == ("c",)
    (batch,) = as_batches(frame, target="y", categorical=make(["a", "b"]))
    assert batch.feature_names == ("c", "a=1", "b=3", "a=2", "b=4")


@pytest.mark.parametrize("one", [0, np.int64(0), "a", np.str_("a")])
def test_one_column_needs_no_list(one: Any) -> None:
    frame = pd.DataFrame({"a": [1, 2], "c": [5, 6], "y": [0, 1]})
    (batch,) = as_batches(frame, target="y", drop=one)
    assert batch.feature_names == ("c",)
    (batch,) = as_batches(frame, target="y", categorical=one)
    assert batch.feature_names == ("c", "a=1", "a=2")


@pytest.mark.parametrize("role", ["target", "time", "sample_weight"])
def test_column_that_is_used_and_dropped_is_an_error(role: str, tmp_path: Path) -> None:
    rows = [{"a": 1.0, "y": 0}, {"a": 2.0, "y": 1}]
    files = [("a.csv", "a,y\n1,0\n2,1\n"), ("a.jsonl", '{"a": 1, "y": 0}\n{"a": 2, "y": 1}\n')]
    paths = [write(tmp_path / name, text) for name, text in files]
    for source in (rows, pd.DataFrame(rows), *paths):
        with pytest.raises(SourceError, match=f"{role} must not be a column of drop, got 'y'"):
            as_batches(source, **{"target": None, role: "y", "drop": "y"})
    with pytest.raises(SourceError, match=f"{role} must not be a column of drop, got 'a'"):
        as_batches(pd.DataFrame(rows), **{"target": "y", role: "a", "drop": 0})


def test_unknown_source_type_is_an_error() -> None:
    with pytest.raises(TypeError, match=r"source must be .*, got int"):
        as_batches(5)
    with pytest.raises(TypeError, match="Rows must be dicts or"):
        next(as_batches([1, 2, 3]))
    with pytest.raises(SourceError, match="target must not be given for"):
        next(as_batches([([1, 2], 0)], target="y"))


@pytest.mark.parametrize("empty", [[], (X[:0], Y[:0]), pd.DataFrame({"a": [], "y": []})])
def test_empty_in_memory_source_has_no_batches(empty: Any) -> None:
    assert list(as_batches(empty, target=None if isinstance(empty, tuple) else "y")) == []


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"batch_size": 0}, "batch_size must be at least 1"),
        ({"skip_rows": -1}, "skip_rows must be at least 0"),
        ({"on_error": "drop"}, "on_error must be"),
        ({"format": "xml"}, "format must be one of auto, svmlight"),
        ({"missing": "drop"}, "missing must be"),
    ],
)
def test_invalid_arguments_are_an_error(bad: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        as_batches((X, Y), **bad)
