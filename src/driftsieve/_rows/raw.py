"""RawRows: labelled rows of the right shape and types, whose values are not validated yet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from driftsieve._rows.frames import matrix_of_frame
from driftsieve._rows.labels import labels_of
from driftsieve._rows.matrix import Matrix, as_matrix, check_readable
from driftsieve._rows.names import FeatureNames, unique_names
from driftsieve._rows.vectors import as_floats, as_weights


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RawRows:
    """Rows whose values and order of sparse indices are not validated; all else is.

    ``Bank.update`` accepts raw rows because it finds values that are not finite while it adds the
    rows, which is faster than a separate pass. ``Batch`` is the validated type.
    """

    X: Matrix
    """(n_rows, n_features) matrix."""
    y: NDArray[Any]
    """(n_rows,) labels."""
    sample_weight: NDArray[np.float64] | None
    """(n_rows,) weights; None if all are 1."""
    time: NDArray[np.float64] | None
    """(n_rows,) times, or None."""
    feature_names: FeatureNames | None
    """Names of the columns, or None."""
    has_dates: bool = False
    """Whether the times were dates. They are in seconds since 1970."""

    def __repr__(self) -> str:
        kind = "dense" if isinstance(self.X, np.ndarray) else "sparse"
        return (
            f"<driftsieve.{type(self).__name__}: {self.n_rows} {kind} rows, {self.n_features} "
            "features>"
        )

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.X.shape[1])

    def part(self, rows: NDArray[np.bool_], n_features: int) -> Self:
        """Return some rows and the first columns, without a copy if possible.

        Parameters
        ----------
        rows : ndarray of shape (n_rows,) of bool
            True for rows to keep.
        n_features : int
            Number of columns to keep.

        Returns
        -------
        Batch
            The part, of the same type.

        See Also
        --------
        run : Consecutive rows.

        Examples
        --------
        >>> from driftsieve import Batch
        >>> batch = Batch.of([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [0, 1, 0])
        >>> batch.part(batch.y == 0, 1).X
        array([[1.],
               [5.]])
        """
        X, names = self.X, self.feature_names
        if n_features < self.n_features:
            X, names = X[:, :n_features], None if names is None else names[:n_features]
        if rows.all():
            return replace(self, X=X, feature_names=names)
        weight, time = (None if v is None else v[rows] for v in (self.sample_weight, self.time))
        y = self.y[rows]
        return replace(self, X=X[rows], y=y, sample_weight=weight, time=time, feature_names=names)

    def run(self, begin: int, end: int) -> Self:
        """Return the rows from begin to end - 1. Dense rows share memory.

        Parameters
        ----------
        begin, end : int
            Range of rows, as in a slice.

        Returns
        -------
        Batch
            The rows, of the same type.

        See Also
        --------
        part : Any rows.

        Examples
        --------
        >>> from driftsieve import Batch
        >>> batch = Batch.of([[1.0], [3.0], [5.0]], [0, 1, 0])
        >>> batch.run(1, 3).y
        array([1, 0])
        """
        rows = slice(begin, end)
        weight, time = (None if v is None else v[rows] for v in (self.sample_weight, self.time))
        return replace(self, X=self.X[rows], y=self.y[rows], sample_weight=weight, time=time)


def raw_rows(
    X: Any,
    y: Any,
    sample_weight: ArrayLike | None = None,
    time: ArrayLike | None = None,
    feature_names: Sequence[str] | None = None,
    *,
    has_dates: bool = False,
) -> RawRows:
    """Check shapes and types as ``Batch.of`` documents them, without copying a float matrix."""
    check_readable(X)
    # The check by narwhals takes longer than everything else for a row of a thousand numbers.
    is_array = isinstance(X, np.ndarray) or sparse.issparse(X)
    if not is_array and nw.dependencies.is_into_dataframe(X):
        X, frame_names = matrix_of_frame(X)
        feature_names = frame_names if feature_names is None else feature_names
    matrix = as_matrix(X)
    n_rows, n_features = matrix.shape
    names = None if feature_names is None else unique_names(feature_names, n_features)
    labels = labels_of(y)
    weight = None if sample_weight is None else as_weights(sample_weight)
    clock, are_dates = (None, False) if time is None else as_floats(time, "time")
    for what, column in (("y", labels), ("sample_weight", weight), ("time", clock)):
        if column is not None and len(column) != n_rows:
            raise ValueError(
                "Found input variables with inconsistent numbers of samples: "
                f"X has {n_rows} rows, {what} has {len(column)}."
            )
    return RawRows(matrix, labels, weight, clock, names, has_dates or are_dates)
