"""Bank: names, classes and clock around the compiled states of all features."""

from __future__ import annotations

import copy
import math
import operator
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from driftsieve import codec
from driftsieve._core import Bank as CoreBank
from driftsieve._core import Clock
from driftsieve.admission import admitted
from driftsieve.bank_header import Header
from driftsieve.batch import Batch, Missing
from driftsieve.columns import Columns, united
from driftsieve.freezing import frozen
from driftsieve.growth import Meter, of_merge
from driftsieve.labels import Labels
from driftsieve.limits import MAX_CLASSES, MAX_FEATURES, Limits, OnLimit
from driftsieve.settings import check_number, half_life_of, thread_count, tick_of_merge
from driftsieve.snapshot import Snapshot

ClockName = Literal["sample", "batch", "time"]


class Bank:
    """One pass over labelled rows, in bounded memory, ready to be scored at any moment.

    Guarantees, for every feature, with W the weight of all rows:

    - ``mean`` and ``var`` are exact up to rounding; class totals are exact.
    - The cumulative weight at any value, of all classes and of each, is right within
      ``epsilon * W``, whatever the order of the rows, their weights and how banks were merged. A
      feature with at most ``1 / epsilon`` distinct values, or a stream of dense rows shorter than
      ``8 / epsilon`` and 64,000, is exact. ``Snapshot.rank_error`` bounds what there is.
    - The same rows split into batches in any way give the same bits (``clock="batch"`` apart,
      where the split has a meaning), on any number of threads.

    Parameters
    ----------
    epsilon : float
        Largest rank error, as a share of the weight; in [1e-8, 0.5).
    moments, quantiles : bool
        What to keep: moments serve T and Fisher, quantiles the other three scores.
    alpha, half_life : float
        How fast the past fades: a row weighs ``alpha ** age``, or half after every ``half_life``
        of the clock. Give one of them, or neither for no fading.
    clock : {"sample", "batch", "time"}
        What age is counted in: rows, calls of ``update``, or the unit of the timestamps ``t``.
    missing : {"error", "ignore"}
        NaN is an error, or such a row does not count for that feature. Infinity is always an error.
    n_threads : int, optional
        Threads to use; all cores that this process may use by default.
    max_features, max_classes : int
        How many there may be: 10 million and 1,000 by default.
    max_bytes : float, optional
        What ``nbytes`` may come to; a quarter of the memory this process may use by default.
    on_limit : {"error", "ignore_new"}
        Rows that would go beyond a limit are refused, all of a batch; or columns beyond it and
        rows of new classes are left out and counted in ``ignored``. Newcomers may fill half of
        ``max_bytes``: the rest is for what is known, whose rows are refused when it is full.

    Examples
    --------
    >>> import driftsieve as ds
    >>> bank = ds.Bank().update([[0.0, 5.0], [1.0, 5.0], [0.0, 6.0], [1.0, 6.0]], [0, 1, 0, 1])
    >>> ds.scores.mutual_info(bank.freeze()).round(3)
    array([0.693, 0.   ])
    """

    def __init__(
        self,
        epsilon: float = 0.01,
        *,
        moments: bool = True,
        quantiles: bool = True,
        alpha: float = 1.0,
        half_life: float | None = None,
        clock: ClockName = "sample",
        missing: Missing = "error",
        n_threads: int | None = None,
        max_features: int = MAX_FEATURES,
        max_classes: int = MAX_CLASSES,
        max_bytes: float | None = None,
        on_limit: OnLimit = "error",
    ) -> None:
        check_number("epsilon", epsilon)
        if not 1e-8 <= epsilon < 0.5:  # what the core takes from bytes, too
            raise ValueError(
                f"epsilon must be between 0 and 0.5, and at least 1e-8, got {epsilon}."
            )
        if not (moments or quantiles):
            raise ValueError("A bank must keep moments, quantiles or both; both are False.")
        if clock not in ("sample", "batch", "time"):
            raise ValueError(f'clock must be "sample", "batch" or "time", got {clock!r}.')
        if missing not in ("error", "ignore"):
            raise ValueError(f'missing must be "error" or "ignore", got {missing!r}.')
        self.n_threads = n_threads
        limits = Limits(max_features, max_classes, max_bytes, on_limit)
        core = CoreBank(
            epsilon,
            moments,
            quantiles,
            missing == "ignore",
            Clock[clock],
            half_life_of(alpha, half_life),
        )
        self._adopt(core, Header(Labels(), None, limits, 0, 0))

    def _adopt(self, core: CoreBank, header: Header) -> None:
        core.header = header
        self._core = core
        self._meter = Meter()
        self._plain_rows = False
        self._labels_of_core: Labels | None = None

    @property
    def _header(self) -> Header:
        """Kept by the core: it changes together with the rows, so no interrupt comes between."""
        return cast("Header", self._core.header)

    @property
    def n_threads(self) -> int | None:
        """As it was given; it may be set at any time."""
        return self._n_threads

    @n_threads.setter
    def n_threads(self, n_threads: int | None) -> None:
        self._threads, self._n_threads = thread_count(n_threads), n_threads

    epsilon = property(lambda self: cast("float", self._core.epsilon))
    moments = property(lambda self: cast("bool", self._core.moments))
    quantiles = property(lambda self: cast("bool", self._core.quantiles))
    clock = property(lambda self: cast("ClockName", self._core.clock.name))
    missing = property(lambda self: "ignore" if self._core.ignore_missing else "error")
    n_features = property(lambda self: cast("int", self._core.n_features))

    max_features = property(lambda self: cast("int", self._header.limits.max_features))
    max_classes = property(lambda self: cast("int", self._header.limits.max_classes))
    max_bytes = property(lambda self: cast("float", self._header.limits.bytes))
    on_limit = property(lambda self: cast("OnLimit", self._header.limits.on_limit))

    @property
    def half_life(self) -> float:
        """Infinite where nothing fades."""
        return self._core.half_life

    @property
    def alpha(self) -> float:
        return math.exp2(-1.0 / self.half_life)

    @property
    def classes(self) -> NDArray[Any]:
        """Labels seen so far, sorted."""
        return self._header.labels.sorted()[0]

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        return self._header.names

    @property
    def n_rows(self) -> int:
        return sum(rows for _, _, rows in self._core.totals())

    @property
    def ignored(self) -> dict[str, int]:
        """What ``on_limit="ignore_new"`` left out: rows, and columns of the widest batch.

        ``n_rows`` and the rows ignored are all the rows that were given.
        """
        return {"rows": self._header.ignored_rows, "features": self._header.ignored_features}

    @property
    def now(self) -> float | None:
        """The latest clock reading; None before any row."""
        return self._core.now if math.isfinite(self._core.now) else None

    @property
    def nbytes(self) -> int:
        """Bytes the state takes in memory."""
        with self._core:
            return self._core.nbytes

    @property
    def is_whole(self) -> bool:
        """False once memory ran out in the middle of a change: then every other use is refused."""
        return self._core.is_whole

    def __repr__(self) -> str:
        if not self.is_whole:
            return "<driftsieve.Bank: ran out of memory in the middle of a change>"
        try:
            n_rows = self.n_rows
        except RuntimeError:
            return "<driftsieve.Bank: in use by another thread>"
        return (
            f"<driftsieve.Bank: {n_rows} rows, {self.n_features} features, "
            f"{len(self._header.labels)} classes, epsilon={self.epsilon}, "
            f"half_life={self.half_life}, clock={self.clock!r}>"
        )

    def update(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        t: ArrayLike | None = None,
    ) -> Bank:
        """Take in rows: dense or sparse, arrays or data frames, any number of them.

        Bad input raises an error and leaves the bank as it was.
        """
        plain = self._plain_rows and sample_weight is None and t is None
        if plain and self._core.update_plain(X, y, self._threads):
            return self
        batch = Batch.of(X, y, sample_weight=sample_weight, t=t, missing=self.missing, look=False)
        with self._core:
            return self._take(batch)

    def update_batch(self, batch: Batch) -> Bank:
        """Take in a batch, such as ``as_batches`` gives."""
        if not isinstance(batch, Batch):
            raise TypeError(
                f"update_batch takes a Batch, got {type(batch).__name__}: call update(X, y)."
            )
        if self.missing == "error" and batch.was_looked_at and not batch.has_no_nan:
            batch = batch.looked_at(self.missing)
        with self._core:
            return self._take(batch)

    def _taking(self, batch: Batch) -> Callable[[], bool]:
        """What takes in rows that someone has checked and found room for, of classes by number.

        It is one call of the core, so that no interrupt comes between it and the next of its kind.
        """
        classes, labels = self._header.labels.encode(batch.y)
        return self._core_call(batch, classes, self._header._replace(labels=labels))

    def _core_call(
        self, batch: Batch, classes: NDArray[np.uint32], header: Header
    ) -> Callable[[], bool]:
        """False, and nothing changed, if rows need a closer look that nobody had at them."""
        X, rows = batch.X, (classes, batch.sample_weight, batch.t, len(header.labels))
        how = (self._threads, batch.was_looked_at, header)
        if isinstance(X, np.ndarray):
            return partial(self._core.update_dense, X, *rows, *how)
        return partial(self._core.update_csr, X.data, X.indices, X.indptr, X.shape[1], *rows, *how)

    def _take(self, batch: Batch) -> Bank:
        if self.clock == "time":
            if batch.t is None and batch.n_rows:
                raise ValueError('clock="time" needs the timestamps of the rows: pass t.')
        elif batch.t is not None:
            raise ValueError(f't is used with clock="time" only; this bank has {self.clock!r}.')
        known, columns = self._header, self._columns
        if columns.n or self._core.ticks:
            columns.check(Columns.of(batch))
        width = batch.n_features
        if known.limits.ignores_new and not batch.was_looked_at:
            batch = batch.looked_at(self.missing)  # all of it, also what is ignored
        batch, classes, labels, n_ignored = admitted(
            batch, known.labels, self._core, known.limits, self._meter
        )
        left_out = width - max(columns.n, batch.n_features)
        header = known._replace(
            labels=labels,
            names=columns.names_with(Columns.of(batch)),
            ignored_rows=known.ignored_rows + n_ignored,
            ignored_features=max(known.ignored_features, left_out),
        )
        self._plain_rows = False
        if not self._core_call(batch, classes, header)():
            looked_at = batch.looked_at(self.missing)  # raises if a value is not finite
            if looked_at.X is batch.X:
                raise ValueError("X was changed by someone else while it was read.")
            self._core_call(looked_at, classes, header)()
        self._open_fast_lane()
        return self

    def _open_fast_lane(self) -> None:
        """Of ``update``, if no limit can be met."""
        labels = self._header.labels
        if self._meter.free != (self.n_features, len(labels)):
            return
        if labels is not self._labels_of_core:
            known = labels.array()
            self._core.know_labels(labels.numbers, known if known.dtype == np.int64 else None)
            self._labels_of_core = labels
        self._plain_rows = True

    def set_limits(self, **limits: Any) -> Bank:
        """Change ``max_features``, ``max_classes``, ``max_bytes`` or ``on_limit`` from now on."""
        with self._core:
            changed = replace(self._header.limits, **limits)
            if changed != self._header.limits:
                self._meter, self._plain_rows = Meter(), False
                self._core.header = self._header._replace(limits=changed)
        return self

    def merge(self, other: Bank, start: float | None = None) -> Bank:
        """Take in the rows that another bank of the same settings has seen; it is not changed.

        Classes and feature names are united; a feature that one of the banks never had was 0 there.
        With ``clock="time"`` nothing more is needed. With the other clocks and fading, ``start``
        is the tick at which the rows of ``other`` begin. What would go beyond a limit of this
        bank is refused, whatever ``on_limit``: a part of a bank cannot be left out.
        """
        if not isinstance(other, Bank):
            raise TypeError(f"merge takes a Bank, got {type(other).__name__}.")
        for name in ("epsilon", "clock", "half_life", "missing", "moments", "quantiles"):
            ours, theirs = getattr(self, name), getattr(other, name)
            if ours != theirs:
                raise ValueError(
                    f"Only banks with the same settings merge: {name} is {ours!r} here and "
                    f"{theirs!r} in the other bank."
                )
        start = tick_of_merge(start, self.clock, self.half_life, self._core.ticks)
        with self._core, nullcontext() if other is self else other._core:
            names, target, n_features = united(self._columns, other._columns)
            known, theirs = self._header, other._header
            class_map, labels = known.labels.union(theirs.labels)
            known.limits.check_features(n_features)
            known.limits.check_classes(len(labels))
            needed = of_merge(self._core, other._core, n_features, len(labels))
            if needed > known.limits.bytes:
                raise known.limits.too_large(self._core.nbytes, needed)
            header = known._replace(
                labels=labels,
                names=names,
                ignored_rows=known.ignored_rows + theirs.ignored_rows,
                ignored_features=max(known.ignored_features, theirs.ignored_features),
            )
            self._meter, self._plain_rows = Meter(), False
            sizes = (len(labels), n_features, start, self._threads)
            self._core.merge(other._core, class_map, target, *sizes, header)
        return self

    @property
    def _columns(self) -> Columns:
        known = self._header
        sizes = (self.n_features, self._core.is_sparse, known.ignored_features)
        return Columns(known.names, *sizes)

    def freeze(self, n_bins: int = 5, features: slice | None = None) -> Snapshot:
        """What the bank knows now, as immutable arrays; the bank is not changed.

        ``features`` picks a run of features, to go through millions of them block by block.
        """
        if operator.index(n_bins) < 2:
            raise ValueError(f"n_bins must be a whole number of at least 2, got {n_bins!r}.")
        with self._core:
            block = self._range(features)
            return frozen(self._core, self._header, int(n_bins), *block, self._threads)

    def cut(self, features: slice) -> Bank:
        """A bank of some of the features: the same rows and classes, columns numbered from 0.

        Banks too wide for one machine are cut, and the cuts merged with those of other banks.
        """
        part = Bank.__new__(Bank)
        part.n_threads = self.n_threads
        with self._core:
            begin, p = self._range(features)
            names = self._header.names and self._header.names[begin : begin + p]
            header = self._header._replace(names=names, ignored_features=0)
            part._adopt(self._core.cut(begin, p), header)
        return part

    def _range(self, features: slice | None) -> tuple[int, int]:
        if not isinstance(features, slice | None):
            raise TypeError(f"features must be a slice, or None for all, got {features!r}.")
        begin, stop, step = (features or slice(None)).indices(self.n_features)
        if step != 1:
            raise ValueError(f"features must be a slice of step 1, got step {step}.")
        return begin, max(0, stop - begin)

    def to_bytes(self) -> bytes:
        """The whole state; ``from_bytes`` gives an equal bank back."""
        with self._core:
            return codec.pack(self._header.stored(), self._core.to_bytes())

    @classmethod
    def from_bytes(cls, data: bytes | memoryview, *, n_threads: int | None = None) -> Bank:
        """The bank that ``to_bytes`` stored; ValueError if the bytes are not sound."""
        header, payload = codec.unpack(data, "bank")
        core = CoreBank.from_bytes(payload)
        bank = cls.__new__(cls)
        bank.n_threads = n_threads
        bank._adopt(core, Header.restored(header, core.n_classes, core.n_features))
        return bank

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.to_bytes(), self.n_threads)

    def __copy__(self) -> Bank:
        return copy.deepcopy(self)


def _restore(data: bytes, n_threads: int | None) -> Bank:
    return Bank.from_bytes(data, n_threads=n_threads)
