"""BankPair: the two banks for the features of dictionaries."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy import sparse

from driftsieve._rows.class_index import ClassIndex
from driftsieve._state.intake import Intake
from driftsieve._state.limits import Sizes
from driftsieve.batch import Batch, Missing
from driftsieve.memory.bank import LearnedBank
from driftsieve.memory.period import N_RECENT
from driftsieve.memory.reading import AnyBank, read_scores
from driftsieve.river.layout import LaidRows
from driftsieve.scores import ScoreFunction
from driftsieve.scores.reader import can_score, read_bank
from driftsieve.snapshot import Floats


class BankPair(NamedTuple):
    """A dense bank for the keys of the first row, and a sparse bank for all later keys.

    Both get every row, so a late feature counts the earlier rows too.
    """

    dense: AnyBank
    late: AnyBank

    @property
    def nbytes(self) -> int:
        """Size of both banks in memory, in bytes."""
        return sum(bank.nbytes for bank in self)

    def _batches(
        self, laid: LaidRows, n_columns: int, missing: Missing
    ) -> list[tuple[AnyBank, Batch]]:
        """Return the rows of each bank as a validated batch."""
        width = laid.dense.shape[1]
        given = (laid.codes, laid.weights, laid.times, None, False, missing)
        dense = [(self.dense, Batch(laid.dense, *given))] if width else []
        return [*dense, (self.late, Batch(_late(laid, n_columns - width), *given))]

    def taking(
        self, laid: LaidRows, n_columns: int, missing: Missing
    ) -> list[Callable[[], object]]:
        """Return the calls that add the rows."""
        return [bank._taking(batch) for bank, batch in self._batches(laid, n_columns, missing)]

    def bytes_with(
        self, laid: LaidRows, sizes: Sizes, missing: Missing, limit: float, be_sure: bool
    ) -> float:
        """Return the size of both banks with these rows, without ``beside``: see ``BytesWith``."""
        needed = float(self.nbytes)
        codes, classes = (
            laid.codes.astype(np.uint32),
            ClassIndex([*range(sizes.classes)], "integers"),
        )
        for bank, batch in self._batches(laid, sizes.features, missing):
            needed -= bank.nbytes
            intake = Intake(batch, codes, classes)
            needed += intake.bytes_with(bank._core, bank._threads, limit - needed, be_sure)
        return needed

    @property
    def _learned(self) -> list[LearnedBank]:
        return [bank for bank in self if isinstance(bank, LearnedBank)]

    def beside(self, *, fresh: bool) -> int:
        """Return the bytes of what is learned, with or without the rows since the last review."""
        values = zip(self._learned, (0, N_RECENT), strict=False)  # a dense bank keeps no values
        return sum(bank._beside(fresh=fresh, recent=n) for bank, n in values)

    def drop_fresh(self) -> None:
        """Drop the rows since the last review, from which nothing is learned then."""
        for bank in self._learned:
            bank._drop_fresh()

    def rows_left(self) -> float:
        """Return the number of rows until the next review; infinite without a learned memory."""
        return min((bank._period.left for bank in self._learned), default=math.inf)

    def learn(self, laid: LaidRows, n_columns: int, missing: Missing, limit: float) -> None:
        """Learn from rows that were added to both banks, within ``limit`` bytes for both.

        The banks have one learned memory.
        """
        for bank, batch in self._batches(laid, n_columns, missing):
            if isinstance(bank, LearnedBank):
                bank._learn(batch, limit - self.nbytes + bank.nbytes - bank._core.nbytes)
                self.share(bank)

    def share(self, learned: LearnedBank) -> None:
        """Copy what one bank has learned to the other."""
        for bank in self._learned:
            bank._sums = learned._sums

    def read_scores(self, score_func: str | ScoreFunction, n_bins: int, one_class: float) -> Floats:
        """Return the score of every feature; ``one_class`` if there are fewer than two classes."""
        parts = [np.empty(0)]
        for bank in self:
            if not bank.n_features:
                continue
            known = can_score(bank)
            scores = read_scores(bank, score_func, n_bins) if known else None
            parts.append(np.full(bank.n_features, one_class) if scores is None else scores)
        return np.concatenate(parts)

    def read(self, function: ScoreFunction, n_bins: int, one_class: float) -> Floats:
        """Apply the function to every feature; ``one_class`` if it has fewer than two classes."""
        parts = [read_bank(bank, function, n_bins, one_class) for bank in self]
        return np.concatenate([np.empty(0), *parts])

    def can_score(self) -> bool:
        """Whether rows of two classes have weight now."""
        return any(map(can_score, self))


def _late(laid: LaidRows, n_columns: int) -> sparse.csr_array:
    shape = (len(laid.indptr) - 1, n_columns)
    if not len(laid.data):
        return _no_values(shape)
    return sparse.csr_array((laid.data, laid.indices, laid.indptr), shape=shape).sorted_indices()


@lru_cache(maxsize=1)
def _no_values(shape: tuple[int, int]) -> sparse.csr_array:
    """Return an empty CSR matrix. It is cached, because scipy takes long to make one."""
    return sparse.csr_array(shape)
