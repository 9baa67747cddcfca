"""Rows in the layout of a DictBank: dense columns, and the others as CSR."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class LaidRows(NamedTuple):
    """Dense columns, the others as CSR, and the class, weight and time of each row."""

    dense: NDArray[Any]
    data: NDArray[Any]
    indices: NDArray[Any]
    indptr: NDArray[Any]
    codes: NDArray[Any]
    weights: NDArray[Any] | None
    times: NDArray[Any] | None


class KeyedRows(NamedTuple):
    """Rows as a matrix with the key of each column, and the number of the class of each row."""

    X: NDArray[Any]
    names: list[Hashable]
    codes: NDArray[Any]
    weights: NDArray[Any] | None = None
    times: NDArray[Any] | None = None

    def of_classes(self, n_classes: int) -> KeyedRows:
        """Return the rows of the first classes."""
        kept = self.codes < n_classes
        return self if kept.all() else self._at(kept)

    def split(self, n_rows: int) -> tuple[KeyedRows, KeyedRows]:
        """Return the first rows, and the others."""
        return self._at(slice(n_rows)), self._at(slice(n_rows, None))

    def _at(self, rows: Any) -> KeyedRows:
        weights, times = (None if v is None else v[rows] for v in (self.weights, self.times))
        return KeyedRows(self.X[rows], self.names, self.codes[rows], weights, times)

    def laid_out(self, columns: Mapping[Hashable, int], width: int, fill: float) -> LaidRows:
        """Return the first ``width`` columns as dense and the others as sparse columns.

        Dense columns that X does not have are ``fill``. Sparse columns are counted from ``width``.
        Names without a column are left out.

        >>> rows = KeyedRows(np.array([[1.0, 2.0, 3.0]]), ["c", "b", "?"], np.array([0]))
        >>> laid = rows.laid_out({"a": 0, "b": 1, "c": 2}, 2, 0.0)
        >>> laid.dense, laid.data, laid.indices, laid.indptr
        (array([[0., 2.]]), array([1.]), array([0]), array([0, 1]))
        """
        given = self.X[:, [name in columns for name in self.names]]
        at = np.array([columns[name] for name in self.names if name in columns], dtype=np.int64)
        dense = np.full((len(given), width), fill)
        dense[:, at[at < width]] = given[:, at < width]
        late = np.flatnonzero(at >= width)
        late = late[np.argsort(at[late])]
        return LaidRows(
            dense,
            given[:, late].ravel(),
            np.tile(at[late] - width, len(given)),
            np.arange(len(given) + 1) * len(late),
            self.codes,
            self.weights,
            self.times,
        )
