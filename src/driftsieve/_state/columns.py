"""The columns of banks and batches, and which of them fit together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from driftsieve._arguments import arg
from driftsieve._rows.labels import check_text
from driftsieve._rows.matrix import Missing
from driftsieve._rows.names import FeatureNames, NumberedNames
from driftsieve._rows.raw import RawRows


class Columns(NamedTuple):
    """The columns of a bank or a batch. Sparse ones may be followed by others that were all 0."""

    names: FeatureNames | None
    n: int
    is_sparse: bool
    n_left_out: int = 0  # further columns, which on_limit="ignore_new" left out

    @classmethod
    def of(cls, rows: RawRows) -> Columns:
        return cls(rows.feature_names, rows.n_features, bool(sparse.issparse(rows.X)))

    def check(self, batch: Columns) -> None:
        """Raise ValueError if rows with other columns cannot be added to a bank with these.

        Sparse rows may be narrower (absent entries are 0) or wider (columns are added).
        """
        expected = self.n + self.n_left_out
        if not (self.is_sparse and batch.is_sparse) and batch.n != expected:
            hint = ": only a stream that was sparse from its first row on can grow"
            raise ValueError(
                f"X has {batch.n} features, but {expected} features were expected, as in the rows "
                f"before{hint if batch.is_sparse else ''}."
            )
        if self.names is batch.names:  # the usual case, and there may be millions of names
            return
        shared = min(len(self.names or ()), len(batch.names or ()))
        known, names = (self.names or ())[:shared], (batch.names or ())[:shared]
        if names != known:
            at = next(j for j in range(shared) if names[j] != known[j])
            raise ValueError(
                "The feature names should match those that were passed before, in their order: "
                f"column {at} was {known[at]!r} and is {names[at]!r}."
            )

    def names_with(self, batch: Columns) -> FeatureNames | None:
        """Return all names, after ``check``; raise ValueError if only some columns have one."""
        known = self.names or ()
        names = max(known, batch.names or (), key=len)
        width = max(self.n, batch.n)
        if names and len(names) < width:
            raise ValueError(
                f"Feature names must be given for all {width} columns, got {len(names)}. Give them "
                "with every batch, or with none."
            )
        if not isinstance(names, NumberedNames):
            check_text(names[len(known) :], "Feature names")
        return names or None


NO_COLUMNS = Columns(None, 0, is_sparse=True)


def united(
    ours: Columns, theirs: Columns, missing: Missing
) -> tuple[FeatureNames | None, NDArray[np.uint64], int]:
    """Return all names, the position of each of their columns, and the number of columns.

    A column that a dense bank does not have is missing in its rows, which is a ValueError with
    ``missing="error"``. A column that a sparse bank does not have was 0.

    >>> united(Columns(("a", "b"), 2, True), Columns(("b", "c"), 2, True), "error")
    (('a', 'b', 'c'), array([1, 2], dtype=uint64), 3)
    """
    first = {names and getattr(names, "first", -1) for names in (ours.names, theirs.names)}
    by_place = first == {None} or (len(first) == 1 and first != {-1})
    if not ours.n or not theirs.n or by_place:
        width = max(ours.n, theirs.n)
        for columns in (ours, theirs):
            if columns.n not in (0, width) and not columns.is_sparse:
                raise ValueError(
                    "Banks without feature names must have the same number of features to be "
                    f"merged, got {ours.n} and {theirs.n}."
                )
        names = max(ours.names or (), theirs.names or (), key=len) or None
        return names, np.arange(theirs.n, dtype=np.uint64), width
    if ours.names is None or theirs.names is None:
        raise ValueError(
            "Either both banks or none must have feature names to be merged, got one with names."
        )
    place = {name: j for j, name in enumerate(ours.names)}
    for name in theirs.names:
        place.setdefault(name, len(place))
    if missing == "error":
        for columns, which in ((ours, "this bank"), (theirs, "the other bank")):
            known = {*(columns.names or ())}
            lacking = [name for name in place if name not in known]
            if lacking and not columns.is_sparse:
                more = f" and {len(lacking) - 5} more" if len(lacking) > 5 else ""
                raise ValueError(
                    "Banks of dense rows must have the same columns to be merged, got rows without "
                    f"{', '.join(map(repr, lacking[:5]))}{more} in {which}. With "
                    f"{arg('missing', 'ignore')} from the first row on, such values count as "
                    "missing."
                )
    target = np.array([place[name] for name in theirs.names], dtype=np.uint64)
    return tuple(place), target, len(place)
