"""The algorithm of SparseFSA for one class against the rest; targets are -1 and 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from driftsieve._core import FsaLoss, FsaRows
from driftsieve._rows.matrix import Matrix
from driftsieve.snapshot import Floats

Loss = Literal["logistic", "lorenz"]

# The largest second derivative of each loss.
CURVATURE: dict[Loss, float] = {"logistic": 0.25, "lorenz": 2.0}


@dataclass(frozen=True, slots=True)
class Schedule:
    """The annealing schedule of the selection, from all features to k."""

    k: int
    n_epochs: int
    mu: float

    def n_kept(self, epoch: int, n_features: int) -> int:
        """Return the number of features to keep after an epoch (from 1 on), rounded down.

        M_e = k + (p − k)·max(0, (N − 2e) / (2eμ + N)). It is k from half of the epochs on.

        >>> [Schedule(5, n_epochs=10, mu=10).n_kept(e, 1000) for e in (1, 2, 3, 4, 5, 10)]
        [270, 124, 61, 27, 5, 5]
        """
        k = min(self.k, n_features)
        left = max(0, self.n_epochs - 2 * epoch)
        return k + int((n_features - k) * left // (2 * epoch * self.mu + self.n_epochs))

    def cooling(self, epoch: int) -> float:
        """Return the factor of the steps of an epoch.

        Steps fall to 0 once the selection is made, so that the order of rows has little influence.
        """
        return min(1.0, 2.0 * (1.0 - (epoch - 1) / self.n_epochs))


def largest(values: Floats, m: int) -> NDArray[np.intp]:
    """Return the indices, ascending, of the m largest values; ties go to the lower index.

    Unlike `selection.functions.top_k` it does not sort, which would take longer than an epoch.
    """
    # Partitioning from the other end, where the many zeros are, takes ten times as long.
    bar = -np.partition(-values, m - 1)[m - 1]
    keep = values > bar
    keep[np.flatnonzero(values == bar)[: m - np.count_nonzero(keep)]] = True
    return np.flatnonzero(keep)


def view(X: Matrix) -> FsaRows:
    """Return a view of the rows for the C++ core, without a copy."""
    if isinstance(X, np.ndarray):
        return FsaRows(X)
    return FsaRows(X.data, X.indices, X.indptr, X.shape[1])


def total(row_weight: Floats, sizes: Floats) -> Floats:
    """Return the sums over the rows of weights, weighted squares and weighted non-zeros."""
    sums = np.array([row_weight.sum(), *(column.sum() for column in sizes.T)])
    if not np.isfinite(sums).all():
        raise ValueError("The squares of X must be finite, got an overflow. Scale X down.")
    return sums


@dataclass(frozen=True, slots=True)
class Descent:
    """Parameters of gradient steps; `learning_rate` is in units of 1 / curvature."""

    loss: Loss
    learning_rate: float
    shrinkage: float
    momentum: float
    batch_size: int

    def start(self, weights: Floats) -> Floats:
        """Return weights and, last, the intercept, with a column of zeros for momentum."""
        at_rest = np.zeros((len(weights), 2 if self.momentum else 1))
        at_rest[:, 0] = weights
        return at_rest

    def epoch(
        self,
        rows: FsaRows,
        order: NDArray[np.int64],
        target: Floats,
        row_weight: Floats,
        weights: Floats,
        sums: Floats,
        cooling: float = 1.0,
    ) -> None:
        """Update the weights (see fsa.hpp), with steps for rows with these `sums`."""
        rows_weigh, squares, non_zeros = sums
        # The trace bounds the curvature. The intercept moves like the weight of a feature with
        # typical values: as a feature of ones it would hardly change while other values are large.
        gain = squares / non_zeros if squares else 1.0
        curvature = CURVATURE[self.loss] * (gain + (squares / rows_weigh if squares else 0.0))
        rows.epoch(
            order,
            target,
            row_weight,
            weights,
            loss=FsaLoss[self.loss],
            step=cooling * self.learning_rate / curvature,
            intercept_gain=gain,
            shrinkage=self.shrinkage,
            momentum=self.momentum,
            batch_size=self.batch_size,
        )


def anneal(
    X: Matrix,
    sizes: Floats,
    target: Floats,
    row_weight: Floats,
    descent: Descent,
    schedule: Schedule,
    rng: np.random.RandomState,
) -> tuple[Floats, Floats]:
    """Return the weights of all features, all but k of them 0, and the intercept; and the margins.

    `sizes` are those of the rows (see `FsaRows.sizes`).
    """
    n_rows, n_features = X.shape
    support = np.arange(n_features)
    weights = descent.start(np.zeros(n_features + 1))
    rows = view(X)
    for epoch in range(1, schedule.n_epochs + 1):
        order = rng.permutation(n_rows).astype(np.int64, copy=False)
        sums = total(row_weight, sizes[support])  # shorter rows allow longer steps
        descent.epoch(rows, order, target, row_weight, weights, sums, schedule.cooling(epoch))
        m = schedule.n_kept(epoch, n_features)
        if m < len(support):
            keep = largest(np.abs(weights[:-1, 0]), m)
            support, weights = support[keep], weights[np.append(keep, -1)]
            # Copy without the dropped features, so that later epochs do not read them.
            X = np.take(X, keep, axis=1) if isinstance(X, np.ndarray) else X[:, keep]
            rows = view(X)
    result = np.zeros(n_features + 1)
    result[np.append(support, -1)] = weights[:, 0]
    return result, target * (X @ weights[:-1, 0] + weights[-1, 0])
