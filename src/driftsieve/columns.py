"""The columns of banks and batches, and which go together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from driftsieve.batch import Batch
from driftsieve.labels import check_text


class Columns(NamedTuple):
    """Those of a bank or a batch; if it is sparse, others may follow that were all 0."""

    names: tuple[str, ...] | None
    n: int
    is_sparse: bool
    n_left_out: int = 0  # after the others: a bank had no room for them

    @classmethod
    def of(cls, batch: Batch) -> Columns:
        return cls(batch.feature_names, batch.n_features, bool(sparse.issparse(batch.X)))

    def check(self, batch: Columns) -> None:
        """ValueError if a bank of these columns cannot take in rows of those.

        Sparse rows may be narrower (what is absent is 0) or wider (columns are added).
        """
        expected = self.n + self.n_left_out
        if not (self.is_sparse and batch.is_sparse) and batch.n != expected:
            hint = ": only a stream that was sparse from its first row on can grow"
            raise ValueError(
                f"X has {batch.n} features, but {expected} features were expected, as in the rows "
                f"before{hint if batch.is_sparse else ''}."
            )
        shared = min(len(self.names or ()), len(batch.names or ()))
        known, names = (self.names or ())[:shared], (batch.names or ())[:shared]
        if names != known:
            at = next(j for j in range(shared) if names[j] != known[j])
            raise ValueError(
                "The feature names should match those that were passed before, in their order: "
                f"column {at} was {known[at]!r} and is {names[at]!r}."
            )

    def names_with(self, batch: Columns) -> tuple[str, ...] | None:
        """All names, after ``check``; ValueError if some columns would have one and others none."""
        known = self.names or ()
        names = max(known, batch.names or (), key=len)
        width = max(self.n, batch.n)
        if names and len(names) < width:
            raise ValueError(
                f"Only {len(names)} of {width} columns would have a name: give feature names with "
                "every batch, or with none."
            )
        check_text(names[len(known) :], "Feature names")
        return names or None


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
