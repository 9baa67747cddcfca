"""Rows of data frames: names are kept, numbers of every kind are accepted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from batch_rows import X, Y
from driftsieve import Bank, FeatureScreener
from driftsieve.batch import Batch
from driftsieve.river import FeatureScreener as RiverScreener
from driftsieve.sources import as_batches

FRAMES = [pd.DataFrame, pl.DataFrame, pa.table]


@pytest.mark.parametrize("frame", FRAMES)
def test_frames_carry_their_names(frame: Any) -> None:
    data = {"n": [1, 2], "f": [0.5, 1.5], "b": [True, False]}
    batch = Batch.of(frame(data), ["u", "v"])
    assert batch.feature_names == ("n", "f", "b")
    np.testing.assert_array_equal(batch.X, [[1, 0.5, 1], [2, 1.5, 0]])
    assert batch.X.dtype == np.float64


@pytest.mark.parametrize("frame", FRAMES)
def test_float32_frames_stay_float32(frame: Any) -> None:
    column = np.array([0.5, 1.5], dtype=np.float32)
    assert Batch.of(frame({"a": column, "b": column}), [0, 1]).X.dtype == np.float32


def test_a_pandas_frame_of_one_block_is_not_copied() -> None:
    frame = pd.DataFrame(X, columns=list("abc"))
    assert np.shares_memory(Batch.of(frame, Y).X, frame.to_numpy())


NULLS = [
    pd.DataFrame({"i": pd.array([1, None], dtype="Int64"), "b": pd.array([True, None], "boolean")}),
    pl.DataFrame({"i": [1, None], "b": [True, None]}),
    pa.table({"i": [1, None], "b": [True, None]}),
]


@pytest.mark.parametrize("frame", NULLS)
def test_nulls_are_missing_values(frame: Any) -> None:
    with pytest.raises(ValueError, match=r"NaN at row 1, column 0 \('i'\).*missing=\"ignore\""):
        Batch.of(frame, [0, 1])
    np.testing.assert_array_equal(
        Batch.of(frame, [0, 1], missing="ignore").X, [[1, 1], [np.nan, np.nan]]
    )


@pytest.mark.parametrize(
    "kinds",
    [
        "double[pyarrow]",
        "float[pyarrow]",
        {"a": "double[pyarrow]"},
        {"a": "float[pyarrow]", "b": "float32"},
        {"a": "Float64"},
        "Float32",
    ],
)
def test_floats_of_every_kind_that_pandas_has(kinds: Any) -> None:
    frame = pd.DataFrame({"a": [0.5, 1.5], "b": [2.5, -1.0]}).astype(kinds)
    np.testing.assert_array_equal(Batch.of(frame, [0, 1]).X, [[0.5, 2.5], [1.5, -1.0]])
    with_null = frame.mask(frame == 1.5)
    with pytest.raises(ValueError, match=r"NaN at row 1, column 0 \('a'\)"):
        Batch.of(with_null, [0, 1])
    np.testing.assert_array_equal(
        Batch.of(with_null, [0, 1], missing="ignore").X, [[0.5, 2.5], [np.nan, -1.0]]
    )


def arrow_backed(data: Any) -> pd.DataFrame:
    return pd.DataFrame(data).convert_dtypes(dtype_backend="pyarrow")


def wide(data: Any) -> pl.DataFrame:
    return pl.DataFrame(data).cast({"a": pl.Int128})


@pytest.mark.parametrize("frame", [*FRAMES, arrow_backed, wide])
def test_integers_beyond_the_digits_of_double_are_rounded(frame: Any) -> None:
    table = frame({"a": [2**62 + 1, -1], "b": [0.5, 1.5]})
    (read,) = as_batches((table, [0, 1]))
    for batch in (read, Batch.of(table, [0, 1])):
        assert batch.X.tolist() == [[2.0**62, 0.5], [-1.0, 1.5]]


@pytest.mark.parametrize("frame", FRAMES)
def test_a_text_column_is_named(frame: Any) -> None:
    with pytest.raises(TypeError, match=r"Column 'colour' must be numeric.*as_batches"):
        Batch.of(frame({"n": [1, 2], "colour": ["red", "blue"]}), [0, 1])


@pytest.mark.parametrize("frame", [pl.DataFrame, pa.table])
def test_column_of_no_type_has_missing_values(frame: Any) -> None:
    void = frame({"a": [None, None], "b": [1, 2]})
    with pytest.raises(ValueError, match=r"NaN at row 0, column 0 \('a'\)"):
        Batch.of(void, [0, 1])
    np.testing.assert_array_equal(
        Batch.of(void, [0, 1], missing="ignore").X, [[np.nan, 1], [np.nan, 2]]
    )


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (pd.date_range("2020", periods=2, tz="America/New_York"), "datetime64.*New_York"),
        (pd.period_range("2020", periods=2, freq="D"), r"period\[D\]"),
        (pd.array([1j, 2j]), "complex128"),
    ],
)
def test_a_column_that_is_not_numeric_is_called_by_its_type(column: Any, kind: str) -> None:
    with pytest.raises(
        TypeError, match=f"Column 'a' must be numeric, got {kind}.*seconds of dates"
    ):
        Batch.of(pd.DataFrame({"a": column}), [0, 1])


def test_frames_with_sparse_columns_are_an_error():
    thin = pd.DataFrame.sparse.from_spmatrix(sparse.csr_matrix(np.eye(2)))
    with pytest.raises(
        TypeError, match=r"Column 0 must be dense, got a sparse one. Pass X.sparse.to_coo\(\)"
    ):
        Batch.of(thin, [0, 1])
    some = pd.DataFrame({"a": [1.0, 2.0], "s": pd.arrays.SparseArray([0.0, 1.0])})
    with pytest.raises(TypeError, match=r"Column 's' must be dense.* else X\.astype\(float\)"):
        Batch.of(some, [0, 1])
    assert Batch.of(some.astype(float), [0, 1]).X.tolist() == [[1, 0], [2, 1]]
    with pytest.raises(TypeError, match=r"got a LazyFrame. Pass X.collect\(\)"):
        Batch.of(pl.DataFrame({"a": [1.0]}).lazy(), [0])


def test_column_names_that_are_no_strings() -> None:
    assert Batch.of(pd.DataFrame(X), Y).feature_names is None
    with pytest.raises(TypeError, match="all input features have string names"):
        Batch.of(pd.DataFrame(X, columns=["a", 1, 2]), Y)
    with pytest.raises(ValueError, match="Column names must differ"):
        Batch.of(pd.DataFrame(X, columns=["a", "b", "a"]), Y)


TWICE = [
    pd.DataFrame(X, columns=["a", "a", "b"]),
    pa.Table.from_arrays(list(map(pa.array, X.T)), names=["a", "a", "b"]),
]


@pytest.mark.parametrize("frame", TWICE, ids=["pandas", "pyarrow"])
@pytest.mark.parametrize(
    "read",
    [
        lambda frame: Bank().update(frame, Y),
        lambda frame: FeatureScreener(k=1).fit(frame, Y),
        lambda frame: RiverScreener(k=1).learn_many(frame, Y),
        lambda frame: RiverScreener(k=1).transform_many(frame),
        lambda frame: list(as_batches(frame, target="b")),
    ],
    ids=["bank", "screener", "river", "river transform", "batches"],
)
def test_two_columns_of_one_name_are_an_error(frame: Any, read: Any) -> None:
    with pytest.raises(ValueError, match=r"^Column names must differ, got 'a' 2 times\. Rename"):
        read(frame)
