"""A period: the rows between two reviews, and the relevances at its begin."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from driftsieve._rows.class_index import ClassIndex
from driftsieve.bank import Bank
from driftsieve.batch import Batch
from driftsieve.memory.fresh import Fresh
from driftsieve.memory.panel import AT_FIRST, KEPT, Indices, in_turn
from driftsieve.snapshot import Floats

FIRST_ROWS = 500
"""Rows before the first period."""
FEW = 16
SHORT, MIDDLE, LONG = 500, 1000, 1600
"""Rows of the first periods: of sparse rows or up to FEW features, of up to AT_FIRST, of more."""
N_SHORT, N_MIDDLE, N_LONG = 16, 8, 1
"""Number of first periods with so many rows."""
MOST_ROWS = 3200
"""Rows of later periods, and the most of a block of a bank with quantiles that they end with."""
N_STEADY = 36
"""Reviews after which there are pauses between periods."""
N_AS_LONG = 2
"""Reviews after which the next pauses are twice as long."""
MOST_PAUSES = {True: 8, False: 4}
"""Most periods that a pause replaces, of up to AT_FIRST features and of more. Reviews then take a
small share of the time."""
N_RECENT = 4096
MOST_FEATURES = 1 << 40


@dataclass(slots=True)
class Period:
    """Counts of rows, and a bank of the fresh rows without fading."""

    rows: int
    """Number of rows in the whole period."""
    features: Indices
    """Features that are compared at its end, ascending."""
    before: Floats
    """(H, m) relevance of the features at each half-life at its begin."""
    fresh: Fresh | None = None
    """Rows of the period, with these features only; None without features, and in a pause."""
    n_rows: int = 0
    n_values: int = 0
    recent: Indices = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """Columns of the latest values of sparse rows."""
    turn: int = 0
    """Position in the fixed order of features, for the panel of a dense bank."""
    most: int = MOST_FEATURES
    """Largest number of features of the next panel: less after one that did not fit."""

    @classmethod
    def first(cls, n_rungs: int) -> Self:
        """Return the first period, before any review."""
        return cls(FIRST_ROWS, np.empty(0, dtype=np.int64), np.empty((n_rungs, 0)))

    @property
    def left(self) -> int:
        """Number of rows until the review."""
        return self.rows - self.n_rows

    def nbytes_with(self, n_values: int, *, fresh: bool = True) -> int:
        """Return the bytes with so many more values of sparse rows in ``recent``.

        They are those of all, or of what is left without a panel.
        """
        recent = self.recent.itemsize * min(N_RECENT, len(self.recent) + n_values)
        if not fresh:
            return recent
        counted = 0 if self.fresh is None else self.fresh.nbytes
        return counted + self.features.nbytes + self.before.nbytes + recent

    def take(self, batch: Batch, labels: ClassIndex, room: float = math.inf) -> None:
        """Count rows that were added to the ladder, and keep those of the panel.

        LimitError, without a change, if the panel needs more than ``room`` bytes.
        """
        if self.fresh is not None:
            others = self.nbytes_with(n_sparse_values(batch)) - self.fresh.nbytes
            self.fresh.add(batch, self.features, labels, room - others)
        self.n_rows += batch.n_rows
        self.n_values += batch.X.size if isinstance(batch.X, np.ndarray) else batch.X.nnz
        if not isinstance(batch.X, np.ndarray):
            latest = batch.X.indices[-N_RECENT:].astype(np.int64)
            self.recent = np.concatenate([self.recent, latest])[-N_RECENT:]

    def without_features(self) -> Period:
        """Return the period without a panel, so that the review at its end compares nothing."""
        if not len(self.features):
            return self
        none, before = self.features[:0], self.before[:, :0]
        most = max(1, len(self.features) // 2)
        return replace(self, features=none, before=before, fresh=None, most=most)

    def candidates(self, n_features: int, size: int) -> Indices:
        """Return candidates for the next panel: features of the latest values, or in order."""
        if len(self.recent) or not n_features:
            return self.recent[::-1]
        found = in_turn(n_features, self.turn, size)
        self.turn = (self.turn + size - int(KEPT * size)) % n_features
        return found


def n_sparse_values(batch: Batch) -> int:
    """Return the number of values of sparse rows, 0 for dense rows."""
    return 0 if isinstance(batch.X, np.ndarray) else int(batch.X.nnz)


def rows_of_period(bank: Bank, n_reviews: int, n_periods: int = 1) -> int:
    """Return the number of rows of one or several periods, given the bank at their begin.

    A bank with quantiles is quick to read at the end of a block only. Later periods end there.
    """
    core = bank._core
    rows = least_rows(bank.n_features, n_reviews, is_sparse=core.is_sparse)
    if rows < MOST_ROWS or not (bank.quantiles and 0 < core.block_rows <= MOST_ROWS):
        return n_periods * rows
    least = (n_periods - 1) * core.block_rows + MIDDLE
    return least + core.rows_to_block_end(least)


def least_rows(n_features: int, n_reviews: int, *, is_sparse: bool = False) -> int:
    """How many rows a period has, unless it ends with a block.

    Reviews have a fixed cost, which is a large share of the time of narrow rows.

    >>> least_rows(10, 0), least_rows(10, 20), least_rows(10, 50)
    (500, 3200, 3200)
    >>> least_rows(1000, 0), least_rows(1000, 1)
    (1600, 3200)
    """
    if is_sparse:
        return min(SHORT << min(n_reviews // N_SHORT, 8), MOST_ROWS)
    rows, n_first = (LONG, N_LONG) if n_features > AT_FIRST else (MIDDLE, N_MIDDLE)
    if n_features <= FEW:
        rows, n_first = SHORT, N_SHORT
    return rows if n_reviews < n_first else MOST_ROWS


def n_pauses(n_features: int, n_reviews: int) -> int:
    """How many periods a pause after a review replaces.

    >>> [n_pauses(10, n) for n in (35, 36, 38, 40, 42, 100)]
    [0, 1, 2, 4, 8, 8]
    """
    if n_reviews < N_STEADY:
        return 0
    most = MOST_PAUSES[n_features <= AT_FIRST]
    return min(1 << min((n_reviews - N_STEADY) // N_AS_LONG, 8), most)
