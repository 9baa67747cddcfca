"""The rows of a data frame, laid out as a DictBank keeps those of dictionaries."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Laid(NamedTuple):
    """Columns written out, and the others as CSR."""

    dense: NDArray[Any]
    data: NDArray[Any]
    indices: NDArray[Any]
    indptr: NDArray[Any]


def laid_out(
    X: NDArray[Any],
    names: Sequence[Hashable],
    columns: Mapping[Hashable, int],
    width: int,
    fill: float,
) -> Laid:
    """The first ``width`` columns written out, ``fill`` where X has none of that name; columns
    after them counted from ``width``. Names without a column are left out.

    >>> laid_out(np.array([[1.0, 2.0, 3.0]]), ["c", "b", "?"], {"a": 0, "b": 1, "c": 2}, 2, 0.0)
    Laid(dense=array([[0., 2.]]), data=array([1.]), indices=array([0]), indptr=array([0, 1]))
    """
    given = X[:, [name in columns for name in names]]
    at = np.array([columns[name] for name in names if name in columns], dtype=np.int64)
    dense = np.full((len(X), width), fill)
    dense[:, at[at < width]] = given[:, at < width]
    late = np.flatnonzero(at >= width)
    late = late[np.argsort(at[late])]
    return Laid(
        dense,
        given[:, late].ravel(),
        np.tile(at[late] - width, len(X)),
        np.arange(len(X) + 1) * len(late),
    )
