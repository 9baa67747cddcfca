"""Similarity of each row to the rows before it, measured during a run."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from driftsieve.batch import Batch
from driftsieve.snapshot import Floats

_COLUMNS, _ROWS = 32, 50_000  # largest numbers of columns and rows that are measured
_FEWEST = 50  # rows of a batch within which neighbours are compared
_MOST_RUNS = 100
_UNLIKELY = math.log(1e-4)


class Neighbours:
    """Autocorrelation of labels and features, runs of labels, and times out of order.

    Neighbours are compared within a batch, so that slow drift does not count. Autocorrelations are
    0 on average for rows in random order.
    """

    def __init__(self) -> None:
        self.n_rows = self.n_pairs = self.n_back = 0
        self._runs: list[int] = []  # lengths of runs of labels, unless there are many labels
        self._label = np.zeros(2)
        self._columns = np.zeros((2, 0))
        self._last: object = None

    def take(self, batch: Batch) -> None:
        """Measure a batch."""
        self._count_runs(batch.y)
        if batch.time is not None:
            self.n_back += int((np.diff(batch.time) < 0).sum())
        self.n_rows += batch.n_rows
        if batch.n_rows >= _FEWEST and self.n_pairs < _ROWS:
            self.n_pairs += batch.n_rows - 1
            self._label += _of_labels(batch.y)
            X = batch.X[:, :_COLUMNS]
            found = _of_columns(X if isinstance(X, np.ndarray) else X.toarray())
            self._columns = np.pad(
                self._columns, ((0, 0), (0, max(0, found.shape[1] - self._columns.shape[1])))
            )
            self._columns[:, : found.shape[1]] += found

    @property
    def label(self) -> float:
        """Autocorrelation of the label."""
        return float(_ratio(self._label))

    @property
    def columns(self) -> Floats:
        """Autocorrelation of each of the first columns."""
        return _ratio(self._columns)

    @property
    def look_independent(self) -> bool:
        """Whether nothing indicates that the rows are not in random order; False for few rows."""
        largest = np.abs([self.label, *self.columns]).max()
        return self.n_pairs >= 1000 and bool(largest * math.sqrt(self.n_pairs) < 4)

    def are_sorted(self, n_classes: int) -> bool:
        """Whether each class is one run of rows, which is unlikely in random order."""
        if not 1 < len(self._runs) == n_classes:
            return False
        chance = sum(math.lgamma(n + 1) for n in [*self._runs, n_classes])
        return chance - math.lgamma(self.n_rows + 1) < _UNLIKELY

    def _count_runs(self, y: NDArray[np.generic]) -> None:
        if len(self._runs) > _MOST_RUNS or not len(y):
            return
        starts = np.flatnonzero(y[1:] != y[:-1]) + 1
        lengths = np.diff([0, *starts[:_MOST_RUNS].tolist(), len(y)]).tolist()
        if self._runs and y[0] == self._last:
            self._runs[-1] += lengths.pop(0)
        self._runs += lengths
        self._last = y[-1]


def _of_labels(y: NDArray[np.generic]) -> Floats:
    """Return how much more neighbours agree than any two rows, and the maximum of that."""
    n = len(y)
    counts = np.unique(y, return_counts=True)[1]
    expected = (counts * (counts - 1)).sum() / n
    return np.array([(y[1:] == y[:-1]).sum() - expected, n - 1 - expected])


def _of_columns(X: Floats) -> Floats:
    """Return the covariance of neighbours and the variance of each column, both times n."""
    with np.errstate(all="ignore"):
        known = np.isfinite(X)
        deviation = np.where(known, X - np.nanmean(np.where(known, X, np.nan), axis=0), 0.0)
    squares = (deviation**2).sum(axis=0)
    shift = squares / len(X)  # neighbours in random order have covariance -squares / n
    return np.array([(deviation[1:] * deviation[:-1]).sum(axis=0) + shift, squares])


def _ratio(sums: Floats) -> Floats:
    zero = np.zeros_like(sums[0])
    return np.asarray(np.divide(sums[0], sums[1], out=zero, where=sums[1] > 0))
