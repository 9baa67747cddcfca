"""RowBudget: the number of rows that may wait within max_bytes."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable

from driftsieve._core import Bank as CoreBank
from driftsieve._core import Clock, RowCollector
from driftsieve._state.limits import Sizes

ROWS = 1024  # rows that wait, or a block; adding to the banks takes as long as a hundred rows
_MOST_CELLS = 1 << 22  # values of dense rows that wait
_MOST_VALUES = 1 << 17  # values of late features that wait


class RowBudget:
    """Memory for the rows that wait in ``rows`` and for their banks, within ``limit`` bytes.

    The first ``width`` columns belong to the bank ``dense``, whose buffer already has their waiting
    values. The other columns belong to ``late``.
    """

    def __init__(
        self, limit: float, rows: RowCollector, dense: CoreBank, late: CoreBank, width: int
    ) -> None:
        self._limit = limit
        self._rows = rows
        self._dense = dense
        self._late = late
        self._width = width
        self.beside = 0  # bytes of what is learned

    @property
    def _block(self) -> int:
        return self._dense.block_rows

    def needed(
        self, rows: int, values: int, sizes: Sizes, width: int, *, measure: bool = False
    ) -> float:
        """Return an upper bound of the bytes with the waiting rows and some more.

        ``rows`` rows and ``values`` of late features are added. There are then ``sizes`` features
        and classes, and ``width`` dense columns.
        """
        n_waiting, n_values = rows + len(self._rows), values + self._rows.n_values
        # the bound of a bank for rows that complete no block includes their place there
        in_block = self._dense.open_rows + n_waiting < self._block
        late = (sizes.features - width, n_values, sizes.classes, measure)
        return (
            self.beside
            + self._rows.most_bytes_with(rows, values, 0 if in_block else width)
            + self._dense.most_bytes_with(n_waiting, width, None, sizes.classes, measure)
            + self._late.most_bytes_with(n_waiting, *late)
        )

    def needed_by_new(self, values: int, sizes: Sizes, width: int) -> float:
        """Return the bytes of a full block of dense rows, and half of that for summaries."""
        full = self.needed(0, values, sizes, width, measure=True)
        left = self._block - 1 - self._dense.open_rows
        now, more = (
            self._dense.most_bytes_with(rows, width, None, sizes.classes, False)
            for rows in (0, left)
        )
        return full + 1.5 * more - now

    def spend(self, n_rows: int, sizes: Sizes) -> None:
        """Set the number of rows that may wait after ``n_rows``: up to the end of a block."""

        def with_rows(n: int) -> float:
            return self.needed(n, 0, sizes, self._width)

        if self._dense.clock == Clock.batch:
            most = 1
        elif self._block * self._width <= _MOST_CELLS:
            blocks = max(1, min(ROWS, _MOST_CELLS // max(1, self._width)) // self._block)
            most = self._block - n_rows % self._block
            # several blocks are faster if there is enough memory
            several = most + self._block * (blocks - 1)
            extra = self._rows.most_bytes_with(several - most, 0, self._width)
            if blocks > 1 and 4 * extra <= self._limit - with_rows(0):
                most = several
        else:
            most = max(1, _MOST_CELLS // 8 // self._width)
        if with_rows(most) > self._limit:
            self.needed(0, 0, sizes, self._width, measure=True)
        most = _most(most, self._limit, with_rows)
        # at most an eighth of the limit is for late values in addition to the banks
        values = _most(_MOST_VALUES, self._limit / 8, lambda n: self._rows.most_bytes_with(0, n, 0))
        values = _most(values, self._limit, lambda n: self.needed(most, n, sizes, self._width))
        self._rows.make_room(most, values)


def _most(n: int, limit: float, needed: Callable[[int], float]) -> int:
    """Return the largest number up to ``n`` that needs at most ``limit`` bytes, or 0."""
    if needed(n) <= limit:
        return n
    return max(0, bisect_right(range(n), limit, key=needed) - 1)
