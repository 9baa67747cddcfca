"""The rows of a data frame, laid out as a DictBank keeps those of dictionaries."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


def as_labels(y: Any) -> list[Hashable]:
    """The labels as they would come one by one: a list is not made an array of one type.

    >>> as_labels([1, "1", ("a", 2)]), as_labels(np.array([True, False]))
    ([1, '1', ('a', 2)], [True, False])
    """
    if len(shape := getattr(y, "shape", (0,))) != 1:
        raise ValueError(f"y should be a 1d array, got an array of shape {shape} instead.")
    as_list = getattr(y, "tolist", getattr(y, "to_pylist", None))  # Arrow's is the second
    return list(y if as_list is None else as_list())


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
