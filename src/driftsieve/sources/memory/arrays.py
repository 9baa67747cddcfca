"""numpy arrays and scipy sparse matrices in memory."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from driftsieve._arguments import arg
from driftsieve._rows.labels import refuse_masked
from driftsieve._rows.matrix import check_readable
from driftsieve.sources.base import Encoded, Options, Rows


class ArrayReader:
    """Reader of a matrix by slices of rows; target, time and weight are arrays or columns of it."""

    def __init__(self, X: Any, options: Options) -> None:
        options.refuse(
            "arrays, which have no names: choose columns by X[:, ...]", ("categorical", "drop")
        )
        check_readable(X)
        self._matrix = X.tocsr() if sparse.issparse(X) else np.asarray(X)
        if self._matrix.ndim != 2:
            raise ValueError(f"Expected 2D array, got {self._matrix.ndim}D array instead.")
        self._batch_size = options.batch_size
        n_rows, n_columns = self._matrix.shape
        if options.target is None:
            raise ValueError(
                f"{arg('target')} must be the labels or their column, got none. Pass it, or (X, y)."
            )
        given = options.roles | arrays_of(options, n_rows)
        for role, value in given.items():
            if isinstance(value, str):
                raise ValueError(
                    f"{arg(role)} must be a position or an array for rows in an array, got "
                    f"{value!r}."
                )
            if isinstance(value, Integral) and not -n_columns <= value < n_columns:
                raise ValueError(f"{arg(role)} must be one of {n_columns} columns, got {value}.")
        self._given = list(given.values())

    def read(self) -> Iterator[Rows]:
        taken = [int(item) for item in self._given if isinstance(item, Integral)]
        for start in range(0, self._matrix.shape[0], self._batch_size):
            rows = slice(start, start + self._batch_size)
            part = self._matrix[rows]
            columns: list[Any] = [
                None if g is None else _column(part, g, rows) for g in self._given
            ]
            if taken:
                part = part[:, np.delete(np.arange(part.shape[1]), taken)]
            yield Rows(part.shape[0], Encoded(part, *columns))


def _column(part: Any, given: Any, rows: slice) -> Any:
    if not isinstance(given, Integral):
        return given[rows]
    column = part[:, [given]]
    return (column.toarray() if sparse.issparse(column) else column).ravel()


def arrays_of(options: Options, n_rows: int) -> dict[str, NDArray[Any]]:
    """Return target, weight and time if they are arrays and not columns of the source."""
    return {
        role: _aligned(value, n_rows, role)
        for role, value in options.roles.items()
        if not (value is None or isinstance(value, str | Integral))
    }


def _aligned(values: Any, n_rows: int, what: str) -> NDArray[Any]:
    """Return one value for each row of the source."""
    refuse_masked(values, what)
    # Labels in a list are kept: numpy would convert the number in ["a", 1] to a string.
    is_list = what == "target" and isinstance(values, list)
    array = np.array(values, dtype=object) if is_list else np.asarray(values)
    if array.shape != (n_rows,):
        raise ValueError(
            "Found input variables with inconsistent numbers of samples: "
            f"the source has {n_rows} rows, {what} has shape {array.shape}."
        )
    return array
