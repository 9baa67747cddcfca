"""How many bytes the state of a bank may come to take, known before the rows are taken in.

The sizes are those of the core's structures, with the room that its vectors keep: a test holds
them against ``nbytes``. They may be a few times too large, never too small.
"""

from __future__ import annotations

from collections.abc import Sequence

from scipy import sparse

from driftsieve._core import Bank as CoreBank
from driftsieve.batch import Batch

_FEATURE = 24  # a FeatureState
_CLASS = 2 * 88  # a ClassState; its vector doubles
_ENTRY = 30  # an Entry, in a vector that may be a quarter too long
_REST = 2 * 56 + _FEATURE  # a SparseFeature; its vector doubles
_LOGGED = 2 * 24  # a LoggedValue; its vector doubles
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

    def has_room(self, core: CoreBank, batch: Batch, n_classes: int, limit: float) -> bool:
        """Whether the bank stays within ``limit`` with this batch; if so, it is counted as used.

        Otherwise ``needed`` tells what it may come to.
        """
        is_dense = not (core.is_sparse or (not core.ticks and sparse.issparse(batch.X)))
        if is_dense and most_of_dense(core, batch.n_features, n_classes) <= limit:
            self.free, self.used = (batch.n_features, n_classes), float("inf")
            return True
        more = (_more_of_dense if is_dense else _more_of_sparse)(core, batch, n_classes)
        if self.used + more > limit:
            waiting = (_waiting_in_dense if is_dense else _waiting_in_sparse)(core)
            self.used = core.nbytes * _widening(core, batch) + waiting
        self.needed = self.used + more
        if self.needed > limit:
            return False
        self.used = self.needed
        return True


def of_merge(core: CoreBank, other: CoreBank, n_features: int, n_classes: int) -> float:
    """Bytes that a bank may take with the rows of another."""
    table = 16 * _stride(n_classes) + 16
    if not (core.is_sparse and other.is_sparse):
        table = _FEATURE + (_CLASS + 2 * _ENTRY) * n_classes
    return 2 * (core.nbytes + other.nbytes) + n_features * table


def most_of_dense(core: CoreBank, n_features: int, n_classes: int) -> float:
    """Rows are summed up in blocks, and the summary of a class has a largest size."""
    block = block_rows(core)
    of_feature = _FEATURE + (_CLASS + _ENTRY * _entries(core)) * n_classes + 8 * block
    return n_features * of_feature + 40 * block


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
            now = 1.5 * nbytes + _waiting_in_dense(core)
            if n_classes > core.n_classes:
                now += _CLASS * n_classes * width
            most = most_of_dense(core, width, n_classes) + 8 * width * block_rows(core)
            needed += min(most, now + rows * self.of_row(width))
        if self.late is None:
            return needed
        table = n_late * (8 + 8 * _stride(n_classes) * (n_classes > self.late.n_classes))
        log = _LOG_BYTES if self._logged or values else 0
        beside = max(0, self._late_bytes - log)
        becoming = _of_values(self.late, self._logged, n_late, n_classes)
        return needed + log + 1.5 * beside + table + becoming + values * of_value(n_classes)

    @staticmethod
    def of_row(width: int) -> float:
        return width * (_FEATURE + _ENTRY + 32) + 100


def of_value(n_classes: int) -> float:
    """Bytes of a value in a sparse column that had none, and while it waits."""
    return 16 * _stride(n_classes) + 16 + _REST + _CLASS + 3 * _LOGGED + _ENTRY + 32


def _more_of_dense(core: CoreBank, batch: Batch, n_classes: int) -> float:
    block = block_rows(core)
    rows = min(batch.n_rows, block)
    entries = min(batch.n_rows, _entries(core) * n_classes)
    classes = _CLASS * n_classes if n_classes > core.n_classes else 0
    feature = 0 if core.n_features else _FEATURE
    return batch.n_features * (feature + classes + _ENTRY * entries + 16 * rows) + 40 * rows


def _waiting_in_dense(core: CoreBank) -> float:
    rows = min(block_rows(core), core.ticks)
    entries = min(rows, _entries(core) * core.n_classes)
    classes = _CLASS * min(core.n_classes, rows)
    return core.n_features * (8 * rows + _ENTRY * entries + classes) + 40 * rows


def _more_of_sparse(core: CoreBank, batch: Batch, n_classes: int) -> float:
    width = max(core.n_features, batch.n_features)
    values = batch.X.size  # of a sparse matrix: those that are stored
    stride, before = _stride(n_classes), _stride(core.n_classes)
    return (
        (8 * width if batch.n_features > core.n_features else 0)
        + (8 * core.n_features * stride if stride > before else 0)
        + min(values, width) * (16 * stride + 16)
        + 2 * _LOGGED * min(values, _LOG + batch.n_features)
        + _of_values(core, values, width, n_classes)
    )


def _waiting_in_sparse(core: CoreBank) -> float:
    table = core.n_features * (16 * _stride(core.n_classes) + 16 + _REST)
    values = _LOG if core.ticks else 0
    return (
        _LOG_BYTES
        + min(core.nbytes, table)
        + _of_values(core, values, core.n_features, core.n_classes)
    )


def _of_values(core: CoreBank, values: int, width: int, n_classes: int) -> float:
    """What values become when features get them: pending, then entries of a class."""
    features = min(values, width)
    classes = min(values, features * n_classes)
    pending = min(values, features * max(32, int(1 / core.epsilon) + 1))
    entries = min(values, classes * _entries(core))
    return _REST * features + _CLASS * classes + _LOGGED * pending + _ENTRY * entries


def _widening(core: CoreBank, batch: Batch) -> float:
    """An entry grows from 16 to 24 bytes where weights are not small whole numbers."""
    return 1.5 if batch.sample_weight is not None or core.ticks >= _WHOLE else 1.0


def _stride(n_classes: int) -> int:
    """Numbers that a sparse feature keeps for the value it showed first."""
    return 3 + 2 * max(2, 1 << max(0, n_classes - 1).bit_length())


def _entries(core: CoreBank) -> int:
    """Entries in the summary of one class, in the worst order known (docs/guarantees.md)."""
    return int(20 / core.epsilon) + 4 if core.quantiles else 0


def block_rows(core: CoreBank) -> int:
    """Rows that are gathered before they are summed up."""
    return 1024 + int(7 / core.epsilon) if core.quantiles else 256
