"""Batch: valid rows are kept unchanged, and errors name the invalid ones."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import driftsieve as ds
from batch_rows import X, Y
from driftsieve._core import are_canonical
from driftsieve.batch import Batch, validated
from driftsieve.exceptions import RowError


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "view",
    [
        lambda a: a,
        np.asfortranarray,
        lambda a: a[::-1, ::-1],
        lambda a: a[::2, 1:],
        lambda a: np.broadcast_to(a[0], (4, 3)),
    ],
)
def test_a_dense_float_matrix_is_carried_without_a_copy(dtype: Any, view: Any) -> None:
    matrix = view(X.astype(dtype))
    batch = Batch.of(matrix, np.zeros(len(matrix), dtype=int))
    assert batch.X.dtype == dtype
    assert batch.X.strides == matrix.strides
    assert np.shares_memory(batch.X, matrix)


def test_packed_records_are_copied_because_their_strides_cannot_be_addressed() -> None:
    records = np.zeros(3, dtype=[("tag", "u1"), ("x", "f8", (2,))])
    records["x"] = X[:, :2]
    assert not records["x"].flags.aligned
    batch = Batch.of(records["x"], Y)
    assert batch.X.flags.aligned
    np.testing.assert_array_equal(batch.X, X[:, :2])


@pytest.mark.parametrize("dtype", ["int8", "uint64", "bool", "float16", ">f8", ">f4", "longdouble"])
def test_other_numbers_become_float64(dtype: str) -> None:
    batch = Batch.of(X.astype(dtype), Y)
    assert batch.X.dtype == np.float64
    np.testing.assert_array_equal(batch.X, X.astype(dtype).astype(float))


def test_lists_and_empty_batches_are_fine() -> None:
    assert Batch.of([[1, 2], [3, 4]], [0, 1]).X.dtype == np.float64
    empty = Batch.of(np.empty((0, 4)), [], sample_weight=[], time=[])
    assert (empty.n_rows, empty.n_features) == (0, 4)
    assert Batch.of(sparse.csr_array((0, 4)), []).n_features == 4


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "dia", "bsr"])
@pytest.mark.parametrize("cls", ["array", "matrix"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bool"])
def test_every_sparse_format_becomes_canonical_csr(form: str, cls: str, dtype: str) -> None:
    make = getattr(sparse, f"{form}_{cls}")
    batch = Batch.of(make(X.astype(dtype)), Y)
    assert isinstance(batch.X, sparse.csr_array)
    assert batch.X.has_canonical_format
    assert batch.X.dtype == (dtype if dtype.startswith("float") else np.float64)
    np.testing.assert_array_equal(batch.X.toarray(), X.astype(dtype).astype(float))


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float64, np.int8, np.bool_])
def test_duplicates_are_summed_and_the_input_is_not_changed(index: Any, dtype: Any) -> None:
    data = np.array([1, 1, 1, 1], dtype=dtype)
    indices, indptr = np.array([2, 0, 2, 1], dtype=index), np.array([0, 3, 4], dtype=index)
    matrix = sparse.csr_array((data, indices, indptr), shape=(2, 3))
    batch = Batch.of(matrix, [0, 1])
    np.testing.assert_array_equal(batch.X.toarray(), matrix.toarray().astype(float))
    assert batch.X.indices.dtype == index
    assert batch.X.nnz == 3
    assert matrix.nnz == 4
    np.testing.assert_array_equal(matrix.indices, [2, 0, 2, 1])
    np.testing.assert_array_equal(matrix.data, data)
    snapshot, expected = (ds.Bank().update(rows, [0, 1]).snapshot() for rows in (matrix, batch.X))
    np.testing.assert_array_equal(snapshot.mean, expected.mean)  # raw rows count the same


def test_only_a_batch_that_may_hold_nan_is_validated_again() -> None:
    sound = Batch.of(X, Y, missing="ignore")
    assert validated(sound, "ignore") is sound
    assert validated(sound, "error").missing == "error"
    gap = X.copy()
    gap[1, 2] = np.nan
    with pytest.raises(ValueError, match="contains NaN at row 1, column 2"):
        ds.Bank().update(Batch.of(gap, Y, missing="ignore"))


def test_canonical_csr_is_shared() -> None:
    matrix = sparse.csr_matrix(X)
    assert np.shares_memory(Batch.of(matrix, Y).X.data, matrix.data)


@pytest.mark.parametrize("index", [np.int16, np.int32, ">i4"])
def test_indices_and_their_bounds_may_be_of_different_kinds(index: Any) -> None:
    matrix = sparse.csr_array(X)
    matrix.indices, matrix.indptr = matrix.indices.astype(index), matrix.indptr.astype(np.int64)
    batch = Batch.of(matrix, Y)
    assert batch.X.indices.dtype == batch.X.indptr.dtype
    np.testing.assert_array_equal(batch.X.toarray(), X)
    ds.Bank().update(matrix, Y)


def test_corrupt_csr_is_refused() -> None:
    matrix = sparse.csr_array(X)
    matrix.indices[0] = 99
    with pytest.raises(ValueError, match="ind"):
        Batch.of(matrix, Y)


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_canonical_check_agrees_with_scipy(index: Any) -> None:
    rng = np.random.default_rng(1)
    found = set()
    for _ in range(2000):
        indptr = np.sort(rng.integers(0, 20, 4)).astype(index)
        indptr[0] = rng.random() < 0.05
        if rng.random() < 0.05:
            indptr[2] += rng.integers(-3, 4)
        rows = [rng.choice(25, max(n, 0), replace=False) for n in np.diff(indptr)]
        indices = np.concatenate([np.sort(row) for row in rows]).astype(index)
        if len(indices) and rng.random() < 0.5:
            indices[rng.integers(len(indices))] = rng.integers(-1, 26)
        try:
            matrix = sparse.csr_array((np.ones(len(indices)), indices, indptr), shape=(3, 25))
            matrix.check_format(full_check=True)
            expected = matrix.has_canonical_format
        except ValueError:
            expected = False
        assert are_canonical(indices, indptr, 25) == expected, (indices, indptr)
        found.add(expected)
    assert found == {True, False}


def test_feature_names_are_checked() -> None:
    assert Batch.of(X, Y, feature_names=["a", "b", "c"]).feature_names == ("a", "b", "c")
    with pytest.raises(ValueError, match="X has 3 features, but 2 feature_names"):
        Batch.of(X, Y, feature_names=["a", "b"])
    with pytest.raises(ValueError, match="'b' twice"):
        Batch.of(X, Y, feature_names=["a", "b", "b"])
    with pytest.raises(TypeError, match="must be strings, got 3"):
        Batch.of(X, Y, feature_names=["a", "b", 3])  # type: ignore[list-item]


@pytest.mark.parametrize("value", [np.inf, -np.inf])
@pytest.mark.parametrize("missing", ["error", "ignore"])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, sparse.csc_array])
def test_infinity_is_always_an_error(value: float, missing: Any, make: Any) -> None:
    matrix = X.copy()
    matrix[1, 2] = value
    with pytest.raises(ValueError, match=rf"contains infinity: {value} at row 1, column 2\.$"):
        Batch.of(make(matrix), Y, missing=missing)


@pytest.mark.parametrize("make", [np.asarray, np.asfortranarray, sparse.csr_array])
def test_the_first_nan_is_named_or_kept(make: Any) -> None:
    matrix = X.copy()
    matrix[2, 0] = matrix[1, 2] = np.nan
    with pytest.raises(ValueError, match=r"NaN at row 1, column 2 \('z'\)"):
        Batch.of(make(matrix), Y, feature_names=["x", "y", "z"])
    assert np.isnan(Batch.of(make(matrix), Y, missing="ignore").X[2, 0])


@pytest.mark.parametrize(
    ("bad", "error", "message"),
    [
        (X[0], ValueError, "Expected 2D array, got 1D"),
        (X[None], ValueError, "Expected 2D array, got 3D"),
        (sparse.coo_array(X[0]), ValueError, "Expected 2D sparse array, got 1D"),
        (X.astype(object), TypeError, "must hold numbers, got an array of dtype object"),
        (X.astype(complex), ValueError, "Complex data not supported"),
        (sparse.csr_array(X.astype(complex)), ValueError, "Complex data not supported"),
        (X.astype(str), TypeError, "must hold numbers"),
        (X.astype("M8[s]"), TypeError, "must hold numbers"),
        (np.ma.masked_equal(X, 0), TypeError, "masked"),
        ([["a", "b", "c"]] * 3, TypeError, "must hold numbers"),
    ],
)
def test_invalid_matrix_is_an_error(bad: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Batch.of(bad, Y)


def test_lengths_must_agree() -> None:
    with pytest.raises(ValueError, match="inconsistent numbers of samples: X has 3 rows, y has 2"):
        Batch.of(X, [0, 1])
    with pytest.raises(ValueError, match="X has 3 rows, sample_weight has 2"):
        Batch.of(X, Y, sample_weight=[1, 1])
    with pytest.raises(ValueError, match="X has 3 rows, time has 4"):
        Batch.of(X, Y, time=[1, 2, 3, 4])


def test_unknown_value_of_missing_is_an_error() -> None:
    with pytest.raises(ValueError, match="missing must be"):
        Batch.of(X, Y, missing="drop")  # type: ignore[arg-type]


def test_a_batch_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Batch.of(X, Y).y = Y  # type: ignore[misc]


def test_the_error_of_a_row_travels_between_processes() -> None:
    with pytest.raises(RowError) as caught:
        Batch.of(X, [0, None, 1])
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (str(copy), copy.row) == ("Input y contains a missing label: None at row 1.", 1)
    assert copy.cause == "Input y contains a missing label: None."
