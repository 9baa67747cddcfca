"""The matrix of a batch: shape and type first, then its values."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from driftsieve._arguments import arg
from driftsieve._core import are_canonical, find_bad_value
from driftsieve._rows.names import FeatureNames
from driftsieve.exceptions import RowError

Missing = Literal["error", "ignore"]
Matrix: TypeAlias = NDArray[Any] | sparse.csr_array
_INDEX_KINDS = [(np.dtype(kind), np.dtype(kind)) for kind in (np.int32, np.int64)]


def check_readable(X: Any) -> None:
    """Raise TypeError for inputs that numpy or scikit-learn would misinterpret."""
    if np.ma.isMaskedArray(X):
        raise TypeError(
            "X must not be a masked array. Pass X.filled(np.nan), with missing='ignore'."
        )
    if nw.dependencies.is_polars_lazyframe(X):
        raise TypeError("X must be an eager data frame, got a LazyFrame. Pass X.collect().")


def as_matrix(X: Any) -> Matrix:
    """Return a float matrix, without a copy if possible. Values are not validated."""
    return _csr(X) if sparse.issparse(X) else _dense(X)


def validated_matrix(matrix: Matrix, names: FeatureNames | None, missing: Missing) -> Matrix:
    """Return the matrix with finite values (or NaN if allowed) and canonical CSR indices.

    A valid matrix is returned unchanged. RowError names the first invalid value.
    """
    matrix = matrix if isinstance(matrix, np.ndarray) else _canonical(matrix)
    _check_finite(matrix, names, allow_nan=missing == "ignore")
    return matrix


def _dense(X: Any) -> NDArray[Any]:
    matrix = np.asarray(X)
    check_numeric(matrix.dtype, "X")
    if matrix.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {matrix.ndim}D array instead. Reshape your data using "
            "array.reshape(-1, 1) for a single feature or array.reshape(1, -1) for a single row."
        )
    # Copies only a matrix that C++ cannot address, such as fields of packed records.
    return np.require(_as_float(matrix), requirements="A")


def _csr(X: Any) -> sparse.csr_array:
    check_numeric(X.dtype, "X")
    if X.ndim != 2:
        raise ValueError(f"Expected 2D sparse array, got {X.ndim}D instead.")
    csr = sparse.csr_array(X)
    csr.indices, csr.indptr = map(np.ascontiguousarray, (csr.indices, csr.indptr))
    is_float = csr.dtype in (np.float32, np.float64)  # others are added as scipy does, then cast
    if not is_float or (csr.indices.dtype, csr.indptr.dtype) not in _INDEX_KINDS:
        csr = _canonical(csr)
    csr.data = np.ascontiguousarray(_as_float(csr.data))
    return csr


def _canonical(csr: sparse.csr_array) -> sparse.csr_array:
    """Return CSR with sorted indices and summed duplicates; unchanged if it has them."""
    if csr.indices.dtype == csr.indptr.dtype and are_canonical(
        csr.indices, csr.indptr, csr.shape[1]
    ):
        return csr
    # Both get one type. scipy would read outside of the array for an index out of range, which it
    # does not check if the last pointer is 0.
    if (np.diff(csr.indptr) < 0).any():
        raise ValueError("Sparse X: index pointer values must form a non-decreasing sequence.")
    csr.check_format(full_check=True)
    csr = csr.copy()  # the constructor shares the arrays of the caller
    csr.sum_duplicates()
    return csr


def _as_float(values: NDArray[Any]) -> NDArray[Any]:
    return values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)


def check_numeric(dtype: np.dtype[Any], what: str) -> None:
    if dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {what} has dtype {dtype}.")
    if dtype.kind not in "fiub":
        raise TypeError(f"{what} must hold numbers, got an array of dtype {dtype}.")


def _check_finite(matrix: Matrix, names: FeatureNames | None, *, allow_nan: bool) -> None:
    """Raise RowError for the first infinity, or NaN unless allowed, with its position."""
    if isinstance(matrix, np.ndarray):
        bad = find_bad_value(matrix, allow_nan)
        if bad is None:
            return
        row, column = bad
        value = float(matrix[row, column])
    else:
        bad = find_bad_value(matrix.data.reshape(1, -1), allow_nan)
        if bad is None:
            return
        entry = bad[1]
        row = int(np.searchsorted(matrix.indptr, entry, side="right")) - 1
        column = int(matrix.indices[entry])
        value = float(matrix.data[entry])
    raise bad_value(value, row, column, names[column] if names else None)


def bad_value(value: float, row: int, column: int, name: str | None) -> RowError:
    """Return the error for a value that is NaN or infinite."""
    where = f", column {column}" + ("." if name is None else f" ({name!r}).")
    if np.isnan(value):
        hint = f" Pass {arg('missing', 'ignore')} to leave missing values out."
        return RowError("Input X contains NaN", row, where + hint)
    return RowError(f"Input X contains infinity: {value}", row, where)
