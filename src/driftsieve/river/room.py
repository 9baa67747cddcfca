"""Room: how many rows may wait, and what they and the banks may come to take."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from driftsieve._core import Clock, RowCollector
from driftsieve.growth import SharedMeter, of_value
from driftsieve.river.known import NOBODY, Known, Newcomers

ROWS = 1024  # wait, or a block: giving some to the banks costs as much as a hundred rows
_MOST_CELLS = 1 << 22  # 32 MB of rows wait at most
_MOST_VALUES = 1 << 17  # and that many of late features


class Room:
    """For the rows that wait in ``rows``, and for the banks of the meter, within ``limit`` bytes.

    There are ``width`` dense columns. Those of each dense bank but the last end at ``ends``.
    """

    def __init__(
        self,
        limit: float,
        known: Known,
        rows: RowCollector,
        meter: SharedMeter,
        width: int,
        ends: Sequence[int],
    ) -> None:
        self._limit = limit
        self._known = known
        self._rows = rows
        self._meter = meter
        self._width = width
        self._ends = tuple(ends)
        self._block = meter.dense[0].block_rows
        self._further_blocks = 0
        self._further_blocks = self._count_further_blocks()

    def needed(
        self, rows: float, values: int, new: Newcomers = NOBODY, width: int | None = None
    ) -> float:
        """Bytes there may be with the rows that wait, and so many more and their newcomers, with
        which there are ``width`` dense columns.
        """
        n_keys = len(self._known.columns) + len(new.keys)
        n_classes = len(self._known.classes) + len(new.labels)
        ends = [0, *self._ends, self._width if width is None else width]
        widths = [end - start for start, end in pairwise(ends)]
        rows, values = rows + len(self._rows), values + self._rows.n_values
        further = 8 * self._width * self._block * self._further_blocks
        return further + self._meter.needed(widths, n_keys - self._width, n_classes, rows, values)

    def make(self, n_rows: int, n_values: int) -> None:
        """Let rows wait now that the banks have ``n_rows``, and ``n_values`` of late features:
        up to the end of a block of the banks, which take whole blocks as they lie.
        """
        self._meter.measure(n_values)
        if self._meter.dense[0].clock == Clock.batch:
            most = 1
        elif self._block * self._width <= _MOST_CELLS:
            most = self._block * (1 + self._further_blocks) - n_rows % self._block
        else:
            most = max(1, _MOST_CELLS // 8 // self._width)
        left = self._limit - self.needed(most, 0)
        if left < 0:
            left = max(0.0, self._limit - self.needed(0, 0)) / 2
            most = min(most, int(left / self._meter.of_row(self._width)))
        values = left / of_value(len(self._known.classes))
        self._rows.make_room(most, int(min(_MOST_VALUES, max(0.0, values))))

    def _count_further_blocks(self) -> int:
        """How many blocks may wait beyond one, which is what the meter allows for."""
        further = min(ROWS, _MOST_CELLS // max(1, self._width)) // self._block - 1
        nbytes = 8 * self._width * self._block * further
        return further if 0 < 4 * nbytes <= self._limit - self.needed(0, 0) else 0
