"""Bank: names, classes, limits and clock around the compiled state of all features."""

from __future__ import annotations

import copy
import math
import operator
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, Literal, TypeVar, cast, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from driftsieve._arguments import arg, check_choice
from driftsieve._core import Bank as CoreBank
from driftsieve._core import Clock
from driftsieve._rows.class_index import ClassIndex
from driftsieve._rows.names import FeatureNames
from driftsieve._rows.raw import RawRows, raw_rows
from driftsieve._state.columns import NO_COLUMNS, Columns, united
from driftsieve._state.header import Header
from driftsieve._state.intake import Intake
from driftsieve._state.limits import MAX_CLASSES, MAX_FEATURES, Limits, OnLimit, Sizes
from driftsieve._state.settings import (
    Fading,
    HalfLife,
    HalfLives,
    check_number,
    check_times,
    fading_of,
    half_life_of,
    half_lives_of,
    refuse_digit_dates,
    thread_count,
    tick_of_merge,
)
from driftsieve._state.snapshots import (
    SeenFeatures,
    take_chosen,
    take_seen,
    take_snapshots,
    take_stacked,
)
from driftsieve._storage import envelope
from driftsieve.batch import Batch, Missing, validated
from driftsieve.snapshot import Snapshot

ClockName = Literal["row", "batch", "time"]
Taken = TypeVar("Taken")


class Bank:
    """State of all features after one pass over labelled rows, in bounded memory.

    Guarantees, for every feature, with W the weight of all rows:

    - ``mean`` and ``var`` are exact up to rounding; class totals are exact.
    - The cumulative weight at any value, of all classes and of each, is right within
      ``epsilon * W``, whatever the order of the rows, their weights and how banks were merged. A
      feature with at most ``1 / epsilon`` distinct values, or a stream of dense rows shorter than
      ``8 / epsilon`` and 64,000, is exact. ``Snapshot.rank_error`` bounds the actual error.
    - Any split of the same rows into batches gives the same bits (except with ``clock="batch"``,
      where the split has a meaning), with any number of threads.

    Parameters
    ----------
    epsilon : float
        Largest rank error, as a share of the weight; in [1e-8, 0.5).
    moments, quantiles : bool
        What to keep: moments serve T and Fisher, quantiles the other three scores.
    decay, half_life : float
        How fast the past fades: a row weighs ``decay ** age``, or half after every ``half_life``
        of the clock. Give one of them, or neither for no fading. With ``clock="time"`` the
        half-life may be a duration: ``"30d"``, ``"12h"``, ``"90s"`` or a timedelta of the standard
        library, pandas or numpy. It must be one where ``time`` holds dates; times that are numbers
        are then seconds. A list keeps several half-lives in one pass, None or infinity for no
        fading, and ``snapshot(half_life=h)`` reads one of them. All guarantees above hold for each
        half-life, with W the weight at that half-life: moments are those of a bank of that
        half-life alone up to rounding, and so are quantiles wherever that bank is exact.
    clock : {"row", "batch", "time"}
        What age is counted in: rows, calls of ``update``, or the unit of the timestamps ``time``.
    missing : {"error", "ignore"}
        NaN is an error, or such a row does not count for that feature. Infinity is always an error.
    n_threads : int, optional
        Threads to use; all cores that this process may use by default, and with -1. As with
        ``n_jobs`` of scikit-learn, -2 is all cores but one.
    max_features, max_classes : int
        Largest numbers of features and classes: 10 million and 1,000 by default.
    max_bytes : float, optional
        Largest ``nbytes``; a quarter of the memory that this process may use by default.
    on_limit : {"error", "ignore_new"}
        A batch that would exceed a limit is refused; or new columns (also those of sparse rows
        that were 0 in every row before) and rows of new classes are left out and counted in
        ``ignored``. New ones may use three quarters of ``max_bytes``; rows of known features and
        classes are refused only above all of it.

    See Also
    --------
    driftsieve.FeatureScreener : Selects features, for scikit-learn.
    driftsieve.scores : The scores of a bank.
    driftsieve.offline : The same from all rows at once.

    Examples
    --------
    >>> import driftsieve as ds
    >>> bank = ds.Bank().update([[0.0, 5.0], [1.0, 5.0], [0.0, 6.0], [1.0, 6.0]], [0, 1, 0, 1])
    >>> ds.scores.mutual_info(bank.snapshot()).round(3)
    array([0.693, 0.   ])
    """

    def __init__(
        self,
        epsilon: float = 0.01,
        *,
        moments: bool = True,
        quantiles: bool = True,
        decay: float | None = None,
        half_life: HalfLives | None = None,
        clock: ClockName = "row",
        missing: Missing = "error",
        n_threads: int | None = None,
        max_features: int = MAX_FEATURES,
        max_classes: int = MAX_CLASSES,
        max_bytes: float | None = None,
        on_limit: OnLimit = "error",
    ) -> None:
        check_number("epsilon", epsilon)
        if not 1e-8 <= epsilon < 0.5:  # the core accepts the same range in bytes
            raise ValueError(
                f"{arg('epsilon')} must be at least 1e-8 and less than 0.5, got {epsilon}."
            )
        if not (moments or quantiles):
            raise ValueError("moments or quantiles must be True, got False for both.")
        check_choice("clock", clock, *get_args(ClockName))
        check_choice("missing", missing, *get_args(Missing))
        self.n_threads = n_threads
        limits = Limits(max_features, max_classes, max_bytes, on_limit)
        core = CoreBank(
            epsilon,
            moments,
            quantiles,
            missing == "ignore",
            Clock[clock],
            half_lives_of(decay, half_life, clock),
        )
        fading = fading_of(decay, half_life)
        self._adopt(core, Header(ClassIndex(), None, limits, 0, 0, fading=fading))

    def _adopt(self, core: CoreBank, header: Header) -> None:
        core.header = header
        self._core = core
        self._plain_rows = False
        self._labels_of_core: ClassIndex | None = None
        self._beside = 0  # bytes of max_bytes that are used for something else

    @property
    def _header(self) -> Header:
        """Header of the state. The core keeps it, so that it changes together with the rows."""
        return cast("Header", self._core.header)

    @property
    def _fading(self) -> Fading | None:
        """How the half-life was given, which says what times may be."""
        return self._header.fading

    @property
    def n_threads(self) -> int | None:
        """Number of threads as given; it can be set at any time."""
        return self._n_threads

    @n_threads.setter
    def n_threads(self, n_threads: int | None) -> None:
        self._threads, self._n_threads = thread_count(n_threads), n_threads

    @property
    def epsilon(self) -> float:
        """Largest rank error, as a share of the weight."""
        return self._core.epsilon

    @property
    def moments(self) -> bool:
        """Whether the bank keeps moments."""
        return self._core.moments

    @property
    def quantiles(self) -> bool:
        """Whether the bank keeps quantile summaries."""
        return self._core.quantiles

    @property
    def clock(self) -> ClockName:
        """What age is counted in."""
        return cast("ClockName", self._core.clock.name)

    @property
    def missing(self) -> Missing:
        """Whether NaN is an error or a missing value."""
        return "ignore" if self._core.ignore_missing else "error"

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self._core.n_features

    @property
    def max_features(self) -> int:
        """Largest number of features."""
        return self._header.limits.max_features

    @property
    def max_classes(self) -> int:
        """Largest number of classes."""
        return self._header.limits.max_classes

    @property
    def max_bytes(self) -> float:
        """Largest ``nbytes``."""
        return self._header.limits.bytes

    @property
    def on_limit(self) -> OnLimit:
        """What happens to a batch that would exceed a limit."""
        return self._header.limits.on_limit

    @property
    def half_lives(self) -> tuple[float, ...]:
        """All half-lives in ticks (seconds for durations), ascending; infinite without fading."""
        return tuple(self._core.half_lives)

    @property
    def half_life(self) -> float | tuple[float, ...]:
        """The only half-life, or all ``half_lives``."""
        half_lives = self.half_lives
        return half_lives[0] if len(half_lives) == 1 else half_lives

    @property
    def decay(self) -> float | tuple[float, ...]:
        """Factor of a row's weight per tick, for the only half-life or for each."""
        decays = tuple(math.exp2(-1.0 / half_life) for half_life in self.half_lives)
        return decays[0] if len(decays) == 1 else decays

    @property
    def classes(self) -> NDArray[Any]:
        """Labels seen so far, sorted."""
        return self._header.labels.sorted()[0]

    @property
    def feature_names(self) -> FeatureNames | None:
        """Names of the features, or None without names."""
        return self._header.names

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(rows for _, _, rows in self._core.totals(0))

    @property
    def ignored(self) -> dict[str, int]:
        """Counts of rows, columns and values that ``on_limit="ignore_new"`` left out.

        ``n_rows`` plus the ignored rows is the number of all rows. The ignored features are the
        columns of the widest batch; the ignored values those of sparse columns that had been 0 in
        every row before.
        """
        return {
            "rows": self._header.ignored_rows,
            "features": self._header.ignored_features,
            "values": self._header.ignored_values,
        }

    @property
    def now(self) -> float | None:
        """Latest clock reading; None before the first row."""
        return self._core.now if math.isfinite(self._core.now) else None

    @property
    def nbytes(self) -> int:
        """Size of the state in memory, in bytes."""
        with self._core:
            return self._core.nbytes

    @property
    def is_whole(self) -> bool:
        """False after memory ran out during a change: every other use is then an error."""
        return self._core.is_whole

    def __repr__(self) -> str:
        settings = f"epsilon={self.epsilon}, half_life={self.half_life}, clock={self.clock!r}"
        return self._described("driftsieve.Bank", settings)

    def _described(self, name: str, settings: str) -> str:
        """Return the ``repr`` of a bank with this name and these settings."""
        if not self.is_whole:
            return f"<{name}: ran out of memory in the middle of a change>"
        try:
            n_rows = self.n_rows
        except RuntimeError:
            return f"<{name}: in use by another thread>"
        n_classes = len(self._header.labels)
        sizes = f"{n_rows} rows, {self.n_features} features, {n_classes} classes"
        return f"<{name}: {sizes}, {settings}>"

    def update(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        time: ArrayLike | None = None,
    ) -> Bank:
        """Add rows.

        Parameters
        ----------
        X : array, sparse matrix, data frame or Batch
            Rows and features; or a batch, for example from ``as_batches``, with its own labels,
            weights and times.
        y : array of shape (n_rows,)
            Label of each row; not given with a batch.
        sample_weight : array of shape (n_rows,), optional
            Weight of each row, 1 by default.
        time : array of shape (n_rows,), optional
            Time of each row, numbers or dates; required with ``clock="time"``, and only then.

        Returns
        -------
        Bank
            This bank.

        Raises
        ------
        ValueError, TypeError
            For invalid input. The bank is unchanged.
        LimitError
            If the rows would exceed a limit. The bank is unchanged.

        See Also
        --------
        merge : Add the rows of another bank.
        snapshot : Read the state.

        Notes
        -----
        With ``clock="batch"`` each call is a tick, also one without rows.

        Examples
        --------
        >>> import driftsieve as ds
        >>> bank = ds.Bank(half_life=100)
        >>> bank.update([[0.0, 5.0], [1.0, 6.0]], ["ham", "spam"]).n_rows
        2
        """
        plain = self._plain_rows and sample_weight is None and time is None
        if plain and self._core.update_plain(X, y, self._threads):
            return self
        rows = self._rows_of(X, y, sample_weight, time)
        with self._core:
            return self._take(rows)

    def _rows_of(
        self, X: Any, y: Any, sample_weight: ArrayLike | None, time: ArrayLike | None
    ) -> RawRows:
        """Return the rows that ``update`` was given."""
        if isinstance(X, Batch):
            if not (y is None and sample_weight is None and time is None):
                raise TypeError(
                    "y, sample_weight and time must not be given with a Batch, which has its own."
                )
            return validated(X, self.missing)
        if y is None:
            raise TypeError("y must be given with X, got None. Only a Batch has its own labels.")
        return raw_rows(X, y, sample_weight, time)

    def _taking(self, batch: Batch) -> Callable[[], bool]:
        """Return the call that adds a batch within the limits."""
        intake = Intake.of(batch, self._header.labels)
        header = self._header._replace(labels=intake.labels)
        return intake.call(self._core, self._threads, header)

    def _admitted(self, rows: RawRows) -> Intake:
        """Return the part of the rows that is within the limits."""
        known = self._header
        how = (self._core, known, self._threads, self._beside)
        return Intake.of(rows, known.labels).admitted(*how)

    def _check(self, rows: RawRows) -> None:
        """ValueError where the clock or the columns of rows are not those of this bank."""
        if self.clock == "time":
            if rows.time is None and rows.n_rows:
                raise ValueError(
                    f"{arg('time')} must be given with {arg('clock', 'time')}, got None."
                )
        elif rows.time is not None:
            raise ValueError(
                f"{arg('time')} must be given with {arg('clock', 'time')} only, got it with "
                f"{arg('clock', self.clock)}."
            )
        if self._fading is not None and rows.time is not None and rows.n_rows:
            check_times(self._fading, rows.time.max(), are_dates=rows.has_dates)
            if not (rows.has_dates or self._core.ticks):
                refuse_digit_dates(self._fading, rows.time)
        columns = self._columns
        if columns.n or self._core.ticks:
            columns.check(Columns.of(rows))

    def _take(self, rows: RawRows) -> Bank:
        self._check(rows)
        known, columns = self._header, self._columns
        width = rows.n_features
        if known.limits.ignores_new and not isinstance(rows, Batch):
            rows = validated(rows, self.missing)  # all values, including those to be ignored
        intake = self._admitted(rows)
        n_ignored, rows = rows.n_rows - intake.rows.n_rows, intake.rows
        left_out = width - max(columns.n, rows.n_features)
        header = known._replace(
            labels=intake.labels,
            names=columns.names_with(Columns.of(rows)),
            ignored_rows=known.ignored_rows + n_ignored,
            ignored_features=max(known.ignored_features, left_out),
            ignored_values=known.ignored_values + intake.ignored_values,
        )
        self._plain_rows = False
        if not intake.call(self._core, self._threads, header)():
            batch = validated(rows, self.missing)  # raises if a value is not finite
            if batch.X is rows.X:
                raise ValueError("X must not change during an update. Pass a copy.")
            self._admitted(batch)  # the bytes of rows out of order could not be forecast before
            intake._replace(rows=batch).call(self._core, self._threads, header)()
        self._open_fast_lane()
        return self

    def _open_fast_lane(self) -> None:
        """Enable the fast path of ``update`` if no limit can be reached."""
        labels = self._header.labels
        if self._core.most_bytes(len(labels)) + self._beside > self._header.limits.bytes:
            return
        if labels is not self._labels_of_core:
            known = labels.array()
            self._core.know_labels(labels.numbers, known if known.dtype == np.int64 else None)
            self._labels_of_core = labels
        self._plain_rows = True

    def set_limits(self, **limits: Any) -> Bank:
        """Change limits for later rows.

        Parameters
        ----------
        **limits
            ``max_features``, ``max_classes``, ``max_bytes`` or ``on_limit``.

        Returns
        -------
        Bank
            This bank.

        See Also
        --------
        ignored : Counts of what ``on_limit="ignore_new"`` left out.

        Examples
        --------
        >>> import driftsieve as ds
        >>> ds.Bank().set_limits(max_classes=10).max_classes
        10
        """
        with self._core:
            changed = replace(self._header.limits, **limits)
            if changed != self._header.limits:
                self._plain_rows = False
                self._core.header = self._header._replace(limits=changed)
        return self

    def merge(self, other: Bank, start: float | None = None) -> Bank:
        """Add the rows of another bank with the same settings.

        Classes and feature names are united. A column that a sparse bank never had was 0 in all its
        rows. A column that a dense bank never had is missing there, with ``missing="ignore"``; with
        ``missing="error"`` such banks do not merge. A sparse and a dense bank merge to a dense
        bank. The columns of a bank without rows do not count.

        Parameters
        ----------
        other : Bank
            The other bank, which is not changed.
        start : float, optional
            Tick at which the rows of ``other`` begin. Required for fading, except with
            ``clock="time"``.

        Returns
        -------
        Bank
            This bank.

        Raises
        ------
        ValueError
            If the settings or columns of the banks do not match.
        LimitError
            If the result would exceed a limit of this bank, whatever ``on_limit``: a part of a bank
            cannot be left out.

        See Also
        --------
        cut : Split a bank by features.

        Examples
        --------
        >>> import driftsieve as ds
        >>> monday = ds.Bank().update([[0.0], [1.0]], ["ham", "spam"])
        >>> tuesday = ds.Bank().update([[0.5]], ["spam"])
        >>> monday.merge(tuesday).snapshot().class_weight
        array([1., 2.])
        """
        if not isinstance(other, Bank):
            raise TypeError(f"other must be a Bank, got {type(other).__name__}.")
        for name in ("epsilon", "clock", "half_life", "missing", "moments", "quantiles"):
            ours, theirs = getattr(self, name), getattr(other, name)
            if ours != theirs:
                raise ValueError(
                    f"Banks must have the same {arg(name)} to be merged, got {ours!r} and "
                    f"{theirs!r}."
                )
        fades = math.isfinite(self.half_lives[0])
        start = tick_of_merge(start, self.clock, fades, self._core.ticks)
        with self._core, nullcontext() if other is self else other._core:
            ours, their_columns = self._columns, other._columns
            if ours.n and not other.n_rows:
                their_columns = NO_COLUMNS
            elif not self.n_rows:
                ours = NO_COLUMNS
            names, target, n_features = united(ours, their_columns, self.missing)
            known, theirs = self._header, other._header
            class_map, labels = known.labels.union(theirs.labels)
            rows = (other._core, class_map, target, len(labels), n_features, start, self._threads)
            sizes = Sizes(n_features, len(labels))
            replace(known.limits, on_limit="error").admit(
                sizes,
                sizes,
                lambda _sizes, limit, _sure: (
                    self._beside + self._core.bytes_with_bank(*rows, max(limit - self._beside, 0.0))
                ),
                lambda: self._core.nbytes + self._beside,
            )
            header = known._replace(
                labels=labels,
                names=names,
                ignored_rows=known.ignored_rows + theirs.ignored_rows,
                ignored_features=max(known.ignored_features, theirs.ignored_features),
                ignored_values=known.ignored_values + theirs.ignored_values,
            )
            self._plain_rows = False
            self._core.merge(*rows, header)
        return self

    @property
    def _columns(self) -> Columns:
        known = self._header
        sizes = (self.n_features, self._core.is_sparse, known.ignored_features)
        return Columns(known.names, *sizes)

    def snapshot(
        self,
        n_bins: int | None = 5,
        features: slice | None = None,
        half_life: HalfLife | None = None,
    ) -> Snapshot:
        """Return the state of the features as immutable arrays.

        Parameters
        ----------
        n_bins : int or None
            Number of quantile bins of each feature. None leaves the bins out, which T and Fisher
            do not need.
        features : slice, optional
            A range of features, to read millions of them block by block. Default: all.
        half_life : float, optional
            Which of several half-lives to read, ``inf`` for no fading. Not needed with one
            half-life.

        Returns
        -------
        Snapshot
            The arrays that scores are computed from.

        Raises
        ------
        ValueError
            If the bank does not have that half-life, or has several and none is given.

        See Also
        --------
        snapshots : All half-lives at once.

        Examples
        --------
        >>> import driftsieve as ds
        >>> bank = ds.Bank(half_life=[1, None]).update([[0.0], [1.0], [2.0]], [0, 1, 0])
        >>> bank.snapshot(half_life=1).class_weight, bank.snapshot(half_life=math.inf).class_weight
        (array([1.25, 0.5 ]), array([2., 1.]))
        """
        return self._snapshots(n_bins, features, [self._rung(half_life)])[0]

    def snapshots(
        self, n_bins: int | None = 5, features: slice | None = None
    ) -> dict[float, Snapshot]:
        """Return a snapshot for each half-life, the shortest first.

        Parameters
        ----------
        n_bins, features
            As in ``snapshot``.

        Returns
        -------
        dict of float to Snapshot
            By half-life in ticks, ``inf`` for no fading.

        See Also
        --------
        snapshot : One of them.

        Examples
        --------
        >>> import driftsieve as ds
        >>> bank = ds.Bank(half_life=[1, None]).update([[0.0], [1.0], [2.0]], [0, 1, 0])
        >>> {h: snap.W for h, snap in bank.snapshots().items()}
        {1.0: 1.75, inf: 3.0}
        """
        rungs = range(len(self.half_lives))
        snapshots = self._snapshots(n_bins, features, rungs)
        return dict(zip(self.half_lives, snapshots, strict=True))

    def _snapshots(
        self, n_bins: int | None, features: slice | None, rungs: Sequence[int]
    ) -> list[Snapshot]:
        return self._taken(take_snapshots, n_bins, features, rungs)

    def _whole(
        self, n_bins: int | None, features: slice | None, rungs: Sequence[int]
    ) -> SeenFeatures:
        """Return snapshots of all features, as ``_seen`` does."""
        return SeenFeatures(None, self._snapshots(n_bins, features, rungs))

    def _seen(
        self, n_bins: int | None, features: slice | None, rungs: Sequence[int]
    ) -> SeenFeatures:
        """Return snapshots without features that were 0 in every row."""
        return self._taken(take_seen, n_bins, features, rungs)

    def _taken(
        self,
        take: Callable[..., Taken],
        n_bins: int | None,
        features: slice | None,
        rungs: Sequence[int],
    ) -> Taken:
        if n_bins is not None and operator.index(n_bins) < 2:
            raise ValueError(
                f"{arg('n_bins')} must be a whole number of at least 2, got {n_bins!r}."
            )
        with self._core:
            how = (int(n_bins or 0), self._range(features), self._threads, rungs)
            return take(self._core, self._header, *how)

    def _seen_at(
        self, half_life: HalfLife | None, n_bins: int | None, features: slice
    ) -> SeenFeatures:
        return self._seen(n_bins, features, [self._rung(half_life)])

    def _chosen_at(
        self, half_life: HalfLife | None, n_bins: int | None, features: NDArray[np.int64]
    ) -> Snapshot:
        """Return some features, by number and without names."""
        return self._snapshots_of(features, n_bins or 0, [self._rung(half_life)])[0]

    def _snapshots_of(
        self, features: NDArray[np.int64], n_bins: int, rungs: Sequence[int] | None = None
    ) -> list[Snapshot]:
        """Return some features, by number and without names, by default at every half-life."""
        at = range(len(self.half_lives)) if rungs is None else rungs
        with self._core:
            return take_chosen(self._core, self._header, n_bins, features, at)

    def _stacked(self, features: NDArray[np.int64], n_bins: int) -> Snapshot | None:
        """Return the same as one snapshot, see `take_stacked`."""
        with self._core:
            return take_stacked(self._core, self._header, n_bins, features)

    def _rung(self, half_life: HalfLife | None) -> int:
        """Return the index of a half-life."""
        known = self.half_lives
        if half_life is None and len(known) == 1:
            return 0
        listed = ", ".join(f"{each:g}" for each in known)
        if half_life is None:
            raise ValueError(
                f"{arg('half_life')} must be given for a bank with several half-lives, got None. "
                f"Pass one of {listed}."
            )
        ticks = half_life_of(None, half_life, self.clock)
        if ticks not in known:
            raise ValueError(f"{arg('half_life')} must be one of {listed}, got {half_life!r}.")
        return known.index(ticks)

    def cut(self, features: slice) -> Bank:
        """Return a bank of some of the features, with the same rows and classes.

        A bank that is too wide for one machine is cut, and the cuts are merged with those of other
        banks.

        Parameters
        ----------
        features : slice
            A range of features. They are numbered from 0 in the result.

        Returns
        -------
        Bank
            A new bank.

        See Also
        --------
        merge : Add the rows of another bank.

        Examples
        --------
        >>> import driftsieve as ds
        >>> bank = ds.Bank().update([[0.0, 5.0, 1.0], [1.0, 5.0, 3.0]], ["ham", "spam"])
        >>> bank.cut(slice(1, 3)).n_features
        2
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
        """Serialize the whole state.

        Returns
        -------
        bytes
            In the layout of docs/byte_format.md.

        See Also
        --------
        from_bytes : The inverse.

        Examples
        --------
        >>> import driftsieve as ds
        >>> bank = ds.Bank().update([[0.0], [1.0]], ["ham", "spam"])
        >>> ds.Bank.from_bytes(bank.to_bytes()).n_rows
        2
        """
        with self._core:
            return envelope.pack(self._header.stored(), self._core.to_bytes())

    @classmethod
    def from_bytes(cls, data: bytes | memoryview, *, n_threads: int | None = None) -> Bank:
        """Restore a bank from the bytes of ``to_bytes``.

        Parameters
        ----------
        data : bytes or memoryview
            A serialized bank.
        n_threads : int, optional
            Number of threads; all cores by default.

        Returns
        -------
        Bank

        Raises
        ------
        StateError
            If the bytes are not a valid bank.

        See Also
        --------
        to_bytes : The inverse.

        Examples
        --------
        >>> import driftsieve as ds
        >>> data = ds.Bank().update([[0.0], [1.0]], ["ham", "spam"]).to_bytes()
        >>> ds.Bank.from_bytes(data).classes.tolist()
        ['ham', 'spam']
        """
        header, payload = envelope.unpack(data, "bank")
        core = CoreBank.from_bytes(payload)
        bank = cls.__new__(cls)
        bank.n_threads = n_threads
        bank._adopt(core, Header.restored(header, core.n_classes, core.n_features))
        return bank

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(Bank.from_bytes, n_threads=self.n_threads), (self.to_bytes(),)

    def __copy__(self) -> Bank:
        return copy.deepcopy(self)
