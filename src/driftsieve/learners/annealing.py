"""The algorithm of SparseFSA for one class against the rest; targets are -1 and 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from driftsieve._core import FsaLoss, FsaRows
from driftsieve.batch import Matrix
from driftsieve.snapshot import Floats

Loss = Literal["logistic", "lorenz"]

# The largest second derivative of each loss.
CURVATURE: dict[Loss, float] = {"logistic": 0.25, "lorenz": 2.0}


@dataclass(frozen=True, slots=True)
class Schedule:
    """The annealing of the selection, from all features to k."""

    k: int
    n_epochs: int
    mu: float

    def n_kept(self, epoch: int, n_features: int) -> int:
        """The number of features to keep after an epoch (counted from 1), rounded down.

        M_e = k + (p − k)·max(0, (N − 2e) / (2eμ + N)): k from half of the epochs on.

        >>> [Schedule(5, n_epochs=10, mu=10).n_kept(e, 1000) for e in (1, 2, 3, 4, 5, 10)]
        [270, 124, 61, 27, 5, 5]
        """
        k = min(self.k, n_features)
        left = max(0, self.n_epochs - 2 * epoch)
        return k + int((n_features - k) * left // (2 * epoch * self.mu + self.n_epochs))

    def cooling(self, epoch: int) -> float:
        """Once the selection is made, steps go to 0, so that the order of rows has little say."""
        return min(1.0, 2.0 * (1.0 - (epoch - 1) / self.n_epochs))


def largest(values: Floats, m: int) -> NDArray[np.intp]:
    """The indices, ascending, of the m largest values; ties go to the lower index.

    Unlike `select.top_k` it never sorts, which would cost more than an epoch.
    """
    # From the other end, where the many zeros are, numpy takes ten times as long.
    bar = -np.partition(-values, m - 1)[m - 1]
    keep = values > bar
    keep[np.flatnonzero(values == bar)[: m - np.count_nonzero(keep)]] = True
    return np.flatnonzero(keep)


def view(X: Matrix) -> FsaRows:
    """The rows as the core reads them, in place."""
    if isinstance(X, np.ndarray):
        return FsaRows(X)
    return FsaRows(X.data, X.indices, X.indptr, X.shape[1])


def total(row_weight: Floats, sizes: Floats) -> Floats:
    """Sums over the rows of the weights, and weighted ones of the squares and of the non-zeros."""
    sums = np.array([row_weight.sum(), *(column.sum() for column in sizes.T)])
    if not np.isfinite(sums).all():
        raise ValueError("The squares of X overflow: scale X down.")
    return sums


@dataclass(frozen=True, slots=True)
class Descent:
    """How to make gradient steps; `learning_rate` is in units of 1 / curvature of the mean loss."""

    loss: Loss
    learning_rate: float
    shrinkage: float
    momentum: float
    batch_size: int

    def start(self, weights: Floats) -> Floats:
        """The weights and, last, the intercept, at rest; a second column if there is momentum."""
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
        """Change the weights (see fsa.hpp), with steps that suit rows of these `sums`."""
        rows_weigh, squares, non_zeros = sums
        # The trace bounds the curvature. The intercept moves like the weight of a feature of
        # ordinary values: as a feature of ones it would hardly move beside large values.
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
    target: Floats,
    row_weight: Floats,
    descent: Descent,
    schedule: Schedule,
    rng: np.random.RandomState,
) -> Floats:
    """The weights of all features, all but k of them 0, and the intercept."""
    n_rows, n_features = X.shape
    support = np.arange(n_features)
    weights = descent.start(np.zeros(n_features + 1))
    rows = view(X)
    sizes = rows.sizes(row_weight)
    for epoch in range(1, schedule.n_epochs + 1):
        order = rng.permutation(n_rows).astype(np.int64, copy=False)
        sums = total(row_weight, sizes[support])  # shorter rows make for longer steps
        descent.epoch(rows, order, target, row_weight, weights, sums, schedule.cooling(epoch))
        m = schedule.n_kept(epoch, n_features)
        if m < len(support):
            keep = largest(np.abs(weights[:-1, 0]), m)
            support, weights = support[keep], weights[np.append(keep, -1)]
            # A copy without what was dropped: the epochs to come do not even read it.
            X = np.take(X, keep, axis=1) if isinstance(X, np.ndarray) else X[:, keep]
            rows = view(X)
    result = np.zeros(n_features + 1)
    result[np.append(support, -1)] = weights[:, 0]
    return result
