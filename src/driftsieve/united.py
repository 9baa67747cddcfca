"""The columns that two banks have together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Columns(NamedTuple):
    """The columns of one bank: a sparse one may have met fewer than there are."""

    names: tuple[str, ...] | None
    n: int
    is_sparse: bool


def united(
    ours: Columns, theirs: Columns
) -> tuple[tuple[str, ...] | None, NDArray[np.uint64], int]:
    """All names, where each of their columns stands, and how many columns there are.

    >>> united(Columns(("a", "b"), 2, True), Columns(("b", "c"), 2, True))
    (('a', 'b', 'c'), array([1, 2], dtype=uint64), 3)
    """
    unnamed = ours.names is None and theirs.names is None
    if not ours.n or not theirs.n or unnamed:
        width = max(ours.n, theirs.n)
        for columns in (ours, theirs):
            if columns.n not in (0, width) and not columns.is_sparse:
                raise ValueError(
                    f"The banks have {ours.n} and {theirs.n} features and no names to "
                    "match them by."
                )
        return ours.names or theirs.names, np.arange(theirs.n, dtype=np.uint64), width
    if ours.names is None or theirs.names is None:
        raise ValueError("One of the banks has feature names and the other has none.")
    place = {name: j for j, name in enumerate(ours.names)}
    for name in theirs.names:
        place.setdefault(name, len(place))
    target = np.array([place[name] for name in theirs.names], dtype=np.uint64)
    return tuple(place), target, len(place)
