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
    """Only the values of ``X``, and the order of sparse indices, are not validated.

    ``Bank.update`` takes raw rows because it finds values that are not finite while it sums up,
    which costs less than a pass of its own. ``Batch`` is the validated type.
    """

    X: Matrix
    y: NDArray[Any]
    sample_weight: NDArray[np.float64] | None
    time: NDArray[np.float64] | None
    feature_names: FeatureNames | None
    has_dates: bool = False  # time was made of dates, and is in seconds

    def __repr__(self) -> str:
        kind = "dense" if isinstance(self.X, np.ndarray) else "sparse"
        return (
            f"<driftsieve.{type(self).__name__}: {self.n_rows} {kind} rows, {self.n_features} "
            "features>"
        )

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return int(self.X.shape[1])

    def part(self, rows: NDArray[np.bool_], n_features: int) -> Self:
        """Return some rows and the first ``n_features`` columns, without a copy if possible."""
        X, names = self.X, self.feature_names
        if n_features < self.n_features:
            X, names = X[:, :n_features], None if names is None else names[:n_features]
        if rows.all():
            return replace(self, X=X, feature_names=names)
        weight, time = (None if v is None else v[rows] for v in (self.sample_weight, self.time))
        y = self.y[rows]
        return replace(self, X=X[rows], y=y, sample_weight=weight, time=time, feature_names=names)

    def run(self, begin: int, end: int) -> Self:
        """Return the rows from begin to end - 1; dense ones share memory."""
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
    # asking narwhals costs more than all the rest for a row of a thousand numbers
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
