"""Conversion of the vectors of a Spark column to a matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from driftsieve._rows.matrix import Matrix
from driftsieve.batch import Missing
from driftsieve.exceptions import RowError

if TYPE_CHECKING:
    import pyarrow as pa

VECTOR = ("type", "size", "indices", "values")
"""The fields of a vector of pyspark.ml.linalg, as its VectorUDT stores them."""


def matrix_of_vectors(fields: list[pa.Array], width: int | None, missing: Missing) -> Matrix:
    """Return the vectors with these ``VECTOR`` fields; all values of a null vector are missing."""
    kind = fields[0]
    if not kind.null_count:
        return _vectors(*fields)
    present = kind.is_valid()
    rows = present.to_numpy(zero_copy_only=False)
    if missing == "error":
        hint = '. Pass missing="ignore" to treat null vectors as missing values.'
        raise RowError("Input X contains a null vector", int(np.argmin(rows)), hint)
    if width is None:
        raise ValueError(
            "The column of vectors must contain at least one vector, got only nulls. The number "
            "of features is not known."
        )
    vectors = _vectors(*(field.filter(present) for field in fields))
    return _with_missing_rows(vectors, rows, width)


def different_sizes(one: int, other: int) -> str:
    """Return the message for vectors of two sizes."""
    return f"The vectors of a column must have one size, got {one} and {other}."


def _vectors(kind: pa.Array, size: pa.Array, indices: pa.Array, values: pa.Array) -> Matrix:
    """Return a dense matrix if all vectors are dense, otherwise CSR. No value is copied."""
    dense = kind.to_numpy() == 1
    lengths = values.value_lengths().to_numpy()
    sizes = np.where(dense, lengths, size.fill_null(0).to_numpy())
    width = int(sizes[0]) if len(sizes) else 0
    if (sizes != width).any():
        row = int(np.argmax(sizes != width))
        raise ValueError(different_sizes(width, int(sizes[row])))
    if len(sizes) and not width:
        raise ValueError("The vectors must have at least one feature, got size 0.")
    data = values.flatten().to_numpy()
    if dense.all():
        return data.reshape(len(kind), width)
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    columns = indices.flatten().to_numpy()
    if dense.any():
        place = np.arange(len(data)) - np.repeat(indptr[:-1], lengths)
        place[np.repeat(~dense, lengths)] = columns
        columns = place
    return sparse.csr_array((data, columns, indptr), shape=(len(kind), width))


def _with_missing_rows(vectors: Matrix, present: NDArray[np.bool_], width: int) -> Matrix:
    """Return the vectors in the rows where they are present, and NaN in the other rows."""
    if vectors.shape[0] and vectors.shape[1] != width:
        raise ValueError(different_sizes(width, vectors.shape[1]))
    if vectors.shape[0] and isinstance(vectors, np.ndarray):
        X = np.full((len(present), width), np.nan)
        X[present] = vectors
        return X
    csr = sparse.csr_array(vectors)
    lengths = np.full(len(present), width)
    lengths[present] = np.diff(csr.indptr)
    from_vector = np.repeat(present, lengths)
    data, columns = np.full(lengths.sum(), np.nan), np.empty(lengths.sum(), dtype=np.int64)
    data[from_vector], columns[from_vector] = csr.data, csr.indices
    columns[~from_vector] = np.tile(np.arange(width), int((~present).sum()))
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    return sparse.csr_array((data, columns, indptr), shape=(len(present), width))
