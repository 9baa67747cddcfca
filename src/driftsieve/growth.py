"""How many bytes the state of a bank may come to take, known before the rows are taken in.

The sizes are those of the core's structures, with the room that its vectors keep: a test holds
them against ``nbytes``. They may be a few times too large, never too small.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from scipy import sparse

from driftsieve._core import (
    CLASS_BYTES,
    COUNTED_BYTES,
    FEATURE_BYTES,
    LOGGED_BYTES,
    SPARSE_FEATURE_BYTES,
    Clock,
)
from driftsieve._core import Bank as CoreBank
from driftsieve.batch import Batch

# vectors that double
_CLASS = 2 * CLASS_BYTES
_REST = 2 * SPARSE_FEATURE_BYTES
_LOGGED = 2 * LOGGED_BYTES
_MOMENTS = 48  # of one class of a sparse feature, without quantiles, values missing or not
_LARGE_PAGE = 1 << 21
_SPARE = 1.25  # a summary's vectors may be a quarter too long
_LOG = 1 << 17  # values that are logged before features get them
_LOG_BYTES = 2 * _LOGGED * _LOG // 8  # it grows by an eighth
_WHOLE = 1 << 30  # rows from which on weights may no longer be small whole numbers


class Meter:
    """What a bank takes at most, without a walk over its state for every row.

    ``used`` is ``nbytes`` as it was measured last, what could come of it without any new row
    (vectors double, rows that wait are summed up), and what rows since then may have added.
    """

    def __init__(self) -> None:
        self.used = self.needed = float("inf")
        self.free: tuple[int, int] | None = None  # features and classes that leave room for ever
        self._kind: tuple[int, bool] | None = None  # of mini-bins: number of classes, wide or not

    def is_free(self, batch: Batch, n_classes: int) -> bool:
        """Whether such rows always fit. That was said for weights that do not shrink."""
        is_plain = batch.sample_weight is None and batch.t is None
        return is_plain and (batch.n_features, n_classes) == self.free

    def has_room(self, core: CoreBank, batch: Batch, n_classes: int, limit: float) -> bool:
        """Whether the bank stays within ``limit`` with this batch; if so, it is counted as used.

        Otherwise ``needed`` tells what it may come to.
        """
        may_shrink = batch.sample_weight is not None or batch.t is not None
        if (
            _is_dense(core, batch)
            and _most_of_dense(core, batch.n_features, n_classes, may_shrink) <= limit
        ):
            self.free, self.used = (batch.n_features, n_classes), float("inf")
            return True
        self.needed = self.foretold(core, batch, n_classes, limit)
        if self.needed > limit:
            return False
        self.used = self.needed
        return True

    def foretold(self, core: CoreBank, batch: Batch, n_classes: int, limit: float) -> float:
        """Bytes with this batch; measured anew where that may help, or mini-bins grow."""
        is_dense = _is_dense(core, batch)
        more = (_more_of_dense if is_dense else _more_of_sparse)(core, batch, n_classes)
        kind = (n_classes, _is_wide(core, batch))
        if kind != self._kind or self.used + more > limit:
            waiting = (_waiting_in_dense if is_dense else _waiting_in_sparse)(core, *kind)
            self.used, self._kind = core.nbytes * _widening(core, batch, n_classes) + waiting, kind
        return self.used + more


def of_merge(core: CoreBank, other: CoreBank, n_features: int, n_classes: int) -> float:
    """Bytes that a bank may take with the rows of another."""
    nbytes = core.nbytes + other.nbytes
    classes = _CLASS * n_classes
    if core.is_sparse and other.is_sparse and not core.quantiles:
        others = min(n_features, nbytes / _MOMENTS)
        table: float = _columns(n_features, n_classes) + others * _room(n_classes) * _MOMENTS
    elif core.is_sparse and other.is_sparse:
        table = n_features * (16 + 2 * _record(n_classes))
        table += min(n_features, nbytes / SPARSE_FEATURE_BYTES) * classes
    else:
        table = n_features * (FEATURE_BYTES + classes + 2 * _mini_bin(n_classes, is_wide=True))
        ours, theirs = core.open_rows, other.open_rows
        # rows that wait get zeros in the columns that they never had, and may come to fill a block
        table += 16 * (n_features - core.n_features) * ours
        table += 16 * (n_features - other.n_features) * theirs
        if ours + theirs >= core.block_rows:  # which is kept as it is, or counted into cells
            kept = core.block_rows * _of_row(core, n_classes, is_wide=True)
            table += n_features * max(kept, _cells(core, n_classes, is_wide=True))
    return 3 * nbytes + table  # mini-bins may get more classes, and wide


def _is_dense(core: CoreBank, batch: Batch) -> bool:
    return not (core.is_sparse or (not core.ticks and sparse.issparse(batch.X)))


def _is_wide(core: CoreBank, batch: Batch) -> bool:
    """Whether weights may be other than small whole numbers."""
    fades = math.isfinite(core.half_life)
    return fades or batch.sample_weight is not None or core.ticks >= _WHOLE


def _widening(core: CoreBank, batch: Batch, n_classes: int) -> float:
    """What mini-bins that are there may grow by: to wide numbers, to more classes, to places."""
    turns_wide = _is_wide(core, batch) and not math.isfinite(core.half_life)
    return 1.0 + turns_wide + (n_classes > core.n_classes or n_classes > _ALL_KEPT)


def _most_of_dense(
    core: CoreBank, n_features: int, n_classes: int, may_shrink: bool = False
) -> float:
    """Rows are summed up in blocks, and a summary has a largest size, as have cells."""
    most = _most_mini_bins(core, may_shrink) * _mini_bin(n_classes, is_wide=True)
    of_feature = FEATURE_BYTES + _CLASS * n_classes + most + _cells(core, n_classes, is_wide=True)
    return n_features * (of_feature + 8 * core.block_rows) + 40 * core.block_rows


def _cells(core: CoreBank, n_classes: int, is_wide: bool) -> float:
    """Bytes of the cells that the values of a feature are counted into."""
    if not core.quantiles or n_classes > _ALL_KEPT:
        return 0.0
    return COUNTED_BYTES + (8 if is_wide else 2) * n_classes * (2 * core.cells + 300)


class SharedMeter:
    """What banks that see the same rows take together: dense ones, and one for sparse columns.

    ``measure`` walks over their states, at a moment at which no row waits; ``needed`` does not.
    """

    def __init__(self, dense: Sequence[CoreBank], late: CoreBank | None) -> None:
        self.dense, self.late = tuple(dense), late
        self.measure(0)

    def measure(self, n_values: int) -> None:
        """``n_values`` were given to the sparse columns so far."""
        self._dense_bytes = [core.nbytes for core in self.dense]
        self._late_bytes = 0 if self.late is None else self.late.nbytes
        self._logged = min(_LOG, n_values)

    def needed(
        self, widths: Sequence[int], n_late: int, n_classes: int, rows: float, values: int
    ) -> float:
        """Bytes they may come to with so many columns, classes, and rows and values beyond those
        that were measured, the memory in which these wait included. Infinitely many rows need no
        more than the dense banks can ever take.
        """
        needed = 0.0
        for core, nbytes, width in zip(self.dense, self._dense_bytes, widths, strict=True):
            now = 2 * nbytes + _waiting_in_dense(core, n_classes, is_wide=True)
            if n_classes > core.n_classes:
                now += (_CLASS * n_classes + _cells(core, n_classes, is_wide=True)) * width
            most = _most_of_dense(core, width, n_classes) + 8 * width * core.block_rows
            needed += min(most, now + rows * self.of_row(width))
        if self.late is None:
            return needed
        if not self.late.quantiles:
            others = min(n_late, self._late_bytes / _MOMENTS) + values
            moments = others * _room(n_classes) * _MOMENTS
            return needed + 2 * self._late_bytes + _columns(n_late, n_classes) + moments
        table = n_late * (16 + _record(n_classes) * (n_classes > self.late.n_classes))
        log = _LOG_BYTES if self._logged or values else 0
        beside = max(0, self._late_bytes - log)
        becoming = _of_values(self.late, self._logged, n_late, n_classes, is_wide=True)
        return needed + log + 1.5 * beside + table + becoming + values * of_value(n_classes)

    @staticmethod
    def of_row(width: int) -> float:
        return width * (FEATURE_BYTES + _mini_bin(_ALL_KEPT, is_wide=True) + 32) + 100


def of_value(n_classes: int) -> float:
    """Bytes of a value in a sparse column that had none, and while it waits."""
    summary = _mini_bin(_ALL_KEPT, is_wide=True)
    return 2 * _record(n_classes) + _REST + _CLASS * n_classes + 3 * _LOGGED + summary + 32


def _more_of_dense(core: CoreBank, batch: Batch, n_classes: int) -> float:
    rows = min(batch.n_rows, core.block_rows)
    is_wide = _is_wide(core, batch)
    may_shrink = batch.sample_weight is not None or batch.t is not None
    most = _most_mini_bins(core, may_shrink) * _mini_bin(n_classes, is_wide)
    summary = min(batch.n_rows * _of_row(core, n_classes, is_wide), most)
    classes = _CLASS * n_classes if n_classes > core.n_classes else 0
    feature = 0 if core.n_features else FEATURE_BYTES
    cells = 0.0 if core.ticks else _cells(core, n_classes, is_wide)
    return batch.n_features * (feature + classes + summary + cells + 16 * rows) + 40 * rows


def _waiting_in_dense(core: CoreBank, n_classes: int, is_wide: bool) -> float:
    rows = core.block_rows if core.clock == Clock.batch else min(core.block_rows, core.ticks)
    summary = rows * _of_row(core, n_classes, is_wide)
    classes = _CLASS * n_classes if rows else 0
    return core.n_features * (8 * rows + summary + classes) + 40 * rows


def _more_of_sparse(core: CoreBank, batch: Batch, n_classes: int) -> float:
    width = max(core.n_features, batch.n_features)
    values = batch.X.size  # of a sparse matrix: those that are stored
    if not core.quantiles:
        return _more_of_moments(core, width, values, n_classes)
    record, before = _record(n_classes), _record(core.n_classes)
    return (
        (16 * width if batch.n_features > core.n_features else 0)
        + (core.n_features * record if record > before else 0)
        + min(values, width) * 2 * record
        + 2 * _LOGGED * min(values, _LOG + batch.n_features)
        + _of_values(core, values, width, n_classes, _is_wide(core, batch))
    )


def _more_of_moments(core: CoreBank, width: int, values: int, n_classes: int) -> float:
    """Without quantiles: sums for columns, and moments for those with values other than 0 and 1."""
    room, others = _room(n_classes), float(values)
    columns = _columns(min(values, width), n_classes)
    if width > core.n_features or room > _room(core.n_classes):
        columns = _columns(width, n_classes)
        others += core.nbytes / _MOMENTS
    return columns + min(others, width) * room * _MOMENTS


def _waiting_in_sparse(core: CoreBank, n_classes: int, is_wide: bool) -> float:
    if not core.quantiles:
        return 0.0
    table = core.n_features * (2 * _record(n_classes) + _REST)
    logged = _LOG if core.ticks else 0
    pending = int(min(core.nbytes / LOGGED_BYTES, core.n_features * _most_pending(core)))
    return (
        _LOG_BYTES
        + min(core.nbytes, table)
        + _of_values(core, logged + pending, core.n_features, n_classes, is_wide)
    )


def _of_values(core: CoreBank, values: int, width: int, n_classes: int, is_wide: bool) -> float:
    """What values become when features get them: pending, then mini-bins, with class states."""
    features = min(values, width)
    pending = min(values, features * _most_pending(core))
    # class states are made when as many values are pending as may be, or one is missing
    summed = features if core.ignore_missing else min(values / _most_pending(core), features)
    summaries = values * _of_row(core, n_classes, is_wide)
    return _REST * features + _CLASS * n_classes * summed + _LOGGED * pending + summaries


def _room(n_classes: int) -> int:
    """Classes that a sparse bank keeps room for."""
    return max(2, 1 << max(0, n_classes - 1).bit_length())


def _columns(n: int, n_classes: int) -> int:
    """Bytes of the sums of sparse columns, without quantiles: many are in whole large pages."""
    sums = 8 * _room(n_classes) * n
    return sums + (_LARGE_PAGE if sums >= _LARGE_PAGE else 0) + 16 * n


def _record(n_classes: int) -> int:
    """Bytes that a sparse feature takes beside its rest."""
    room = _room(n_classes)
    return 20 + (32 if room == 2 else -(-(8 + 12 * room) // 64) * 64)  # whole cache lines


def _most_pending(core: CoreBank) -> int:
    return max(32, core.exact_values)


_ALL_KEPT = 4  # up to so many classes all weights of a mini-bin are kept, beyond it mostly not


def _mini_bin(n_classes: int, is_wide: bool) -> float:
    """Bytes of a mini-bin with all its class weights."""
    number = 8 if is_wide else 4
    return _SPARE * (8 + number * (1 + n_classes))


def _of_row(core: CoreBank, n_classes: int, is_wide: bool) -> float:
    """Bytes that one value may add to a summary: a mini-bin with the weight of one class."""
    if not core.quantiles:
        return 0.0
    number = 8 if is_wide else 4
    weights = number * n_classes if n_classes <= _ALL_KEPT else number + 4
    return _SPARE * (8 + number + weights)


def _most_mini_bins(core: CoreBank, may_shrink: bool) -> int:
    """In the worst order known (docs/guarantees.md), which are weights that shrink."""
    if not core.quantiles:
        return 0
    return int((70 if may_shrink else 20) / core.epsilon) + 4
