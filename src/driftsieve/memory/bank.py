"""LearnedBank: a bank with several half-lives that learns how long to remember."""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from driftsieve._core import Turn
from driftsieve._state.settings import AUTO, HalfLives, is_auto, is_ladder
from driftsieve._state.snapshots import SeenFeatures
from driftsieve.bank import Bank, ClockName
from driftsieve.batch import Batch, validated
from driftsieve.exceptions import LimitError
from driftsieve.memory.attributes import OfLadder
from driftsieve.memory.fresh import Fresh, FreshBank, FreshSums, empty_without_limits
from driftsieve.memory.merging import merge
from driftsieve.memory.panel import Indices, next_panel, panel_size
from driftsieve.memory.period import (
    FEW,
    MOST_FEATURES,
    N_SHORT,
    Period,
    n_pauses,
    n_sparse_values,
    rows_of_period,
)
from driftsieve.memory.predicting import clipped, predicted, relevances
from driftsieve.memory.relevance import RELEVANCE, of_stacked
from driftsieve.memory.rungs import N_RUNGS, UNKNOWN, default_rungs
from driftsieve.memory.storing import from_bytes, to_bytes
from driftsieve.memory.summary import Memory
from driftsieve.memory.sums import Sums
from driftsieve.memory.waiting import Waiting
from driftsieve.scores import ScoreFunction, score_of
from driftsieve.snapshot import Floats, Snapshot

EDGES_FROM = 2
"""Half-life, by number, whose quantiles or means fresh rows are compared with."""


class LearnedBank(OfLadder):
    """A bank that keeps several half-lives and learns how long to remember.

    At fixed numbers of rows there is a review: it compares the relevance of the features at each
    half-life, as computed before, with their relevance in the rows since then. ``scores`` predicts
    the relevance in the next rows. Any split of the same rows into batches gives the same bits
    (except with ``clock="batch"``).

    Parameters
    ----------
    score_func : {"t", "fisher", "mutual_info", "chi2", "gini"} or callable
        The score by which features are compared.
    n_bins : int
        Number of quantile bins for mutual information, chi-square and Gini.
    k : int, optional
        Number of features to select. Half-lives are compared by the relevance of their k best
        features, or of the best quarter if that is fewer. Default: a tenth of the features.
    half_life : "auto" or a list of half-lives
        The half-lives to choose from. "auto" has eight, each twice the one before, and no fading.
        The shortest is 250 rows or one batch; with ``clock="time"`` it is the time of 250 rows,
        measured with the first 500 rows.
    clock : {"row", "batch", "time"}
        What age is counted in.
    **parameters
        Other parameters of :class:`driftsieve.Bank`, except ``decay``.

    See Also
    --------
    driftsieve.Bank : One half-life, or several without learning.
    driftsieve.FeatureScreener : Uses a LearnedBank with ``half_life="auto"``.

    Examples
    --------
    >>> import numpy as np
    >>> from driftsieve.memory import LearnedBank
    >>> X = np.random.default_rng(0).normal(size=(4000, 5))
    >>> bank = LearnedBank().update(X, X[:, 3] > 0)
    >>> int(bank.scores().argmax())
    3
    """

    def __init__(
        self,
        score_func: str | ScoreFunction = "mutual_info",
        *,
        n_bins: int = 5,
        k: int | None = None,
        half_life: HalfLives = AUTO,
        clock: ClockName = "row",
        **parameters: Any,
    ) -> None:
        self.score_func, self.n_bins, self.k = score_func, n_bins, k
        self._turn = Turn()
        self.choices: str | tuple[float, ...]
        parameters = score_of(score_func).keeps | parameters
        if is_ladder(half_life):
            rungs: Any = half_life
        elif is_auto(half_life):
            rungs = default_rungs(clock)
        else:
            raise ValueError(f'half_life must be "auto" or a list, got {half_life!r}.')
        bank = Bank(half_life=UNKNOWN if rungs is None else rungs, clock=clock, **parameters)
        self.choices = bank.half_lives if is_ladder(half_life) else AUTO
        self._waiting = None
        if rungs is None:
            bank._core.header = bank._header._replace(fading=None)  # times may be dates or numbers
            self._waiting = Waiting(bank)
        self._made: Bank | None = None
        self._start(bank)

    def _start(self, bank: Bank) -> None:
        self._ladder = bank
        n_rungs = len(bank.half_lives) if self._waiting is None else N_RUNGS + 1
        self._sums = Sums.empty(n_rungs)
        self._period = Period.first(n_rungs)

    @property
    def half_life(self) -> float:
        """Half-life whose best features were the most relevant; p-values are computed at it."""
        return self.half_lives[self._sums.best_rung()]

    @property
    def decay(self) -> float:
        """Factor of a row's weight per tick at ``half_life``."""
        return math.exp2(-1.0 / self.half_life)

    @property
    def nbytes(self) -> int:
        """Size of the state in memory, in bytes: all half-lives, and what is learned from."""
        with self._turn:
            waiting = self._waiting.nbytes if self._waiting else 0
            return self._ladder.nbytes + self._beside(fresh=True) + waiting

    def set_limits(self, **limits: Any) -> LearnedBank:
        """Change limits for later rows.

        Parameters
        ----------
        **limits
            ``max_features``, ``max_classes``, ``max_bytes`` or ``on_limit``.

        Returns
        -------
        LearnedBank
            This bank.

        See Also
        --------
        driftsieve.Bank.set_limits : The same for a bank without learning.

        Examples
        --------
        >>> from driftsieve.memory import LearnedBank
        >>> LearnedBank().set_limits(max_classes=10).max_classes
        10
        """
        self._ladder.set_limits(**limits)
        return self

    def __repr__(self) -> str:
        name = self.score_func if isinstance(self.score_func, str) else "a function"
        settings = f"score_func={name!r}, half_life={self.choices!r}, clock={self.clock!r}"
        return self._ladder._described("driftsieve.memory.LearnedBank", settings)

    # --- learning -------------------------------------------------------------------------------

    def update(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        time: ArrayLike | None = None,
    ) -> LearnedBank:
        """Add rows, and learn from them.

        Parameters
        ----------
        X, y, sample_weight, time
            As in :meth:`driftsieve.Bank.update`.

        Returns
        -------
        LearnedBank
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

        Examples
        --------
        >>> from driftsieve.memory import LearnedBank
        >>> LearnedBank().update([[0.0, 5.0], [1.0, 6.0]], ["ham", "spam"]).n_rows
        2
        """
        with self._turn:  # a thread that reads cannot come between the rows and their review
            rows = self._ladder._rows_of(X, y, sample_weight, time)
            self._add(validated(rows, self.missing))
        return self

    def _add(self, batch: Batch) -> None:
        self._made = None
        more = self._waiting is not None  # the last of these rows brings the half-lives
        if batch.n_rows + more <= self._left or self.clock == "batch":
            self._take(batch)
        elif self._is_far_from_limit(batch):
            # All rows or none are added, so everything is checked before the first of them.
            self._ladder._check(batch)
            self._ladder._admitted(batch)
            self._take_in_parts(batch)
        else:
            changed = copy.deepcopy(self)
            changed._take_in_parts(batch)
            vars(self).update(changed.__getstate__())

    def _is_far_from_limit(self, batch: Batch) -> bool:
        """Return whether no part of these rows can exceed ``max_bytes``.

        The half-lives may follow from these rows, and then the size of their bank is not known yet.
        """
        if self._waiting is not None:
            return False
        n_classes = len(self._ladder._header.labels.encode(batch.y)[1])
        n_values = None if isinstance(batch.X, np.ndarray) else n_sparse_values(batch)
        rows = (batch.n_rows, batch.n_features, n_values, n_classes)
        beside = self._beside(fresh=False, recent=n_values or 0)
        bounds = (self._core.most_bytes_with(*rows, measure) for measure in (False, True))
        return any(2 * (beside + bound) <= self.max_bytes for bound in bounds)

    def _take_in_parts(self, batch: Batch) -> None:
        """Add rows, with a review after each period."""
        begin = 0
        while begin < batch.n_rows:
            end = min(begin + self._left, batch.n_rows)
            self._take(batch.run(begin, end))
            begin = end

    @property
    def _n_best(self) -> int:
        """Number of best features by which half-lives are compared, of those in a review."""
        n_compared = len(self._period.features) or self.n_features
        return max(1, min(self.k or self.n_features // 10, n_compared // 4))

    @property
    def _left(self) -> int:
        """Number of rows until the next review, or until the half-lives are known."""
        return self._period.left if self._waiting is None else self._waiting.left

    def _take(self, batch: Batch) -> None:
        if self._waiting is not None:
            self._waiting.take(batch)
            if self._waiting.is_over:
                self._stop_waiting(self._waiting)
            return
        self._ladder._beside = self._beside(fresh=False, recent=n_sparse_values(batch))
        self._ladder.update(batch)
        if self.on_limit == "ignore_new":
            batch = batch.part(np.isin(batch.y, self.classes), self.n_features)
        self._learn(batch)

    def _beside(self, *, fresh: bool, recent: int = 0) -> int:
        """Return the bytes of what is not in the ladder, with or without the fresh rows.

        ``recent`` is the number of more values of sparse rows.
        """
        return self._sums.nbytes + self._period.nbytes_with(recent, fresh=fresh)

    def _drop_fresh(self) -> None:
        """Drop the fresh rows, so that nothing is learned at the next review."""
        self._period = self._period.without_features()

    def _learn(self, batch: Batch, room: float | None = None) -> None:
        """Count rows that were added to the ladder, and review the half-lives if it is time.

        ``room`` is the number of bytes for all that is not in the ladder. The fresh rows are
        dropped if they need more.
        """
        if room is None:
            room = self.max_bytes - self._ladder.nbytes
        labels = self._ladder._header.labels
        try:
            self._period.take(batch, labels, room - self._sums.nbytes)
        except LimitError:
            self._drop_fresh()
            self._period.take(batch, labels)
        if self._period.left <= 0:
            self._review(room)

    def _stop_waiting(self, waiting: Waiting) -> None:
        bank = waiting.bank_with_rungs()
        self._waiting = None
        self._start(bank)
        for batch in waiting.batches:
            self._period.take(batch, bank._header.labels)
        self._review(self.max_bytes - bank.nbytes)

    def _review(self, room: float) -> None:
        """Compare the half-lives in the fresh rows, and begin another period."""
        period = self._period
        if period.fresh is not None:
            fresh = period.fresh.relevance()
            if fresh is not None:
                of_period = (period.before, fresh, self._n_best, period.n_rows)
                self._sums = self._sums.reviewed(*of_period)
        self._period = self._next_period(room)

    def _next_period(self, room: float) -> Period:
        period, bank = self._period, self._ladder
        n_reviews = int(self._sums.n_reviews)
        pauses = n_pauses(bank.n_features, n_reviews)
        if pauses and period.fresh is not None:
            rows = rows_of_period(bank, n_reviews, pauses)
            return replace(period, rows=rows, fresh=None, n_rows=0, n_values=0)
        n_values = period.n_values // max(1, pauses)  # of one period
        kind = "quantiles" if bank.quantiles else "moments"
        if bank._columns.is_sparse:
            kind = "sparse"
        is_first = n_reviews < N_SHORT
        size = panel_size(bank.n_features, n_values, kind, is_first=is_first)
        known, before = period.features, self._sums.weights() @ period.before
        of_feature = 8 * (1 + len(bank.half_lives))  # in the arrays of a period
        room = max(0.0, room - self._beside(fresh=False))
        size = int(min(size, period.most, room // of_feature))
        others = period.candidates(bank.n_features, size)
        features = next_panel(bank.n_features, size, known, before, others)
        found = self._compared(features)
        relevance, fresh = found or (np.zeros((len(bank.half_lives), 0)), None)
        return Period(
            rows_of_period(bank, n_reviews),
            features if found else features[:0],
            relevance,
            fresh,
            recent=period.recent,
            turn=period.turn,
            most=min(period.most + period.most // 8 + 1, MOST_FEATURES),
        )

    def _compared(self, features: Indices) -> tuple[Floats, Fresh] | None:
        """Return (H, m) relevances of features, and what counts fresh rows of them.

        None without features, or if a half-life has only one class.
        """
        bank, score = self._ladder, self.score_func
        if not len(features):
            return None
        few = bank.quantiles and len(features) <= FEW and not bank._core.is_sparse
        if few or not isinstance(score, str):
            found = relevances(bank, features, score, self.n_bins, RELEVANCE)
            rows = FreshBank(empty_without_limits(bank), score, self.n_bins)
            return None if found is None else (found, rows)
        together = bank._stacked(features, score_of(score).bins(self.n_bins) or 0)
        if together is None:
            return None
        n_rungs, m = len(bank.half_lives), len(features)
        begin = min(EDGES_FROM, n_rungs - 1) * m
        fresh = FreshSums.after(together, slice(begin, begin + m), score, bank)
        return clipped(of_stacked(RELEVANCE[score], together)).reshape(n_rungs, m), fresh

    # --- reading --------------------------------------------------------------------------------

    @property
    def memory(self) -> Memory:
        """Summary of the learned memory."""
        bank = self.bank
        unit = {"row": "rows", "batch": "batches"}.get(self.clock, "")
        if self.clock == "time" and bank._fading == "duration":
            unit = "seconds"
        return Memory.of(self._sums, self._n_best, bank.half_lives, self._ticks, unit)

    def snapshot(
        self, n_bins: int | None = 5, features: slice | None = None, half_life: Any = None
    ) -> Snapshot:
        """Return the state of the features at one half-life, as immutable arrays.

        Parameters
        ----------
        n_bins, features
            As in :meth:`driftsieve.Bank.snapshot`.
        half_life : float, optional
            One of ``half_lives``. Default: ``self.half_life``.

        Returns
        -------
        Snapshot
            The arrays that scores are computed from.

        See Also
        --------
        scores : Combines all half-lives.

        Examples
        --------
        >>> from driftsieve.memory import LearnedBank
        >>> bank = LearnedBank().update([[0.0, 5.0], [1.0, 6.0]], ["ham", "spam"])
        >>> bank.snapshot(half_life=math.inf).class_weight
        array([1., 1.])
        """
        with self._turn:
            at = self.half_life if half_life is None else half_life
            return self.bank.snapshot(n_bins, features, at)

    def _seen_at(self, half_life: Any, n_bins: int | None, features: slice) -> SeenFeatures:
        with self._turn:
            at = self.half_life if half_life is None else half_life
            return self.bank._seen_at(at, n_bins, features)

    def _chosen_at(self, half_life: Any, n_bins: int | None, features: Indices) -> Snapshot:
        with self._turn:
            at = self.half_life if half_life is None else half_life
            return self.bank._chosen_at(at, n_bins, features)

    def scores(self, n_bins: int | None = None) -> Floats:
        """Predict the relevance of every feature in the next rows.

        The relevance is the score per row minus its mean under independence, so it can be negative.
        It is in nats for mutual information, and a share of variance for T and Fisher. For Gini it
        is the remaining impurity, and smaller is better. Constant features rank last.

        Parameters
        ----------
        n_bins : int, optional
            Number of quantile bins. Default: ``self.n_bins``.

        Returns
        -------
        ndarray of shape (n_features,)

        See Also
        --------
        driftsieve.scores : The scores of a bank at a single half-life.

        Examples
        --------
        >>> from driftsieve.memory import LearnedBank
        >>> X = np.random.default_rng(0).normal(size=(4000, 5))
        >>> bank = LearnedBank("fisher").update(X, X[:, 3] > 0)
        >>> bank.scores().round(1) + 0.0
        array([0. , 0. , 0. , 0.6, 0. ])
        """
        score, weights = self.score_func, self._sums.weights()
        with self._turn:
            return predicted(self.bank, score, n_bins or self.n_bins, weights).scores(score)

    @property
    def _ticks(self) -> float:
        """Number of ticks of the clock so far; infinite for times."""
        return math.inf if self.clock == "time" else float(self._ladder._core.ticks)

    # --- merging and storing --------------------------------------------------------------------

    def merge(self, other: LearnedBank, start: float | None = None) -> LearnedBank:
        """Add the rows of another bank with the same settings, and what it has learned.

        The rows since the last review of each bank are not reviewed.

        Parameters
        ----------
        other : LearnedBank
            The other bank, which is not changed.
        start : float, optional
            As in :meth:`driftsieve.Bank.merge`.

        Returns
        -------
        LearnedBank
            This bank.

        Raises
        ------
        ValueError
            If the settings or columns of the banks do not match.

        See Also
        --------
        update : Add rows.

        Examples
        --------
        >>> from driftsieve.memory import LearnedBank
        >>> monday = LearnedBank().update([[0.0], [1.0]], ["ham", "spam"])
        >>> tuesday = LearnedBank().update([[0.5]], ["spam"])
        >>> monday.merge(tuesday, start=2).n_rows
        3
        """
        if not isinstance(other, LearnedBank):
            raise TypeError(f"other must be a LearnedBank, got {type(other).__name__}.")
        with self._turn, other._turn:
            merge(self, other, start)
        return self

    def to_bytes(self) -> bytes:
        """Serialize the whole state.

        Returns
        -------
        bytes
            In the layout of docs/byte_format.md.

        Raises
        ------
        ValueError
            If ``score_func`` is a function.

        See Also
        --------
        from_bytes : The inverse.

        Examples
        --------
        >>> from driftsieve.memory import LearnedBank
        >>> bank = LearnedBank().update([[0.0], [1.0]], ["ham", "spam"])
        >>> LearnedBank.from_bytes(bank.to_bytes()).n_rows
        2
        """
        with self._turn:
            return to_bytes(self)

    @classmethod
    def from_bytes(cls, data: bytes | memoryview, *, n_threads: int | None = None) -> LearnedBank:
        """Restore a bank from the bytes of ``to_bytes``.

        Parameters
        ----------
        data : bytes or memoryview
            A serialized bank.
        n_threads : int, optional
            Number of threads; all cores by default.

        Returns
        -------
        LearnedBank

        Raises
        ------
        StateError
            If the bytes are not a valid bank.

        See Also
        --------
        to_bytes : The inverse.

        Examples
        --------
        >>> from driftsieve.memory import LearnedBank
        >>> data = LearnedBank("t").to_bytes()
        >>> LearnedBank.from_bytes(data).score_func
        't'
        """
        return from_bytes(cls, data, n_threads)

    def __copy__(self) -> LearnedBank:
        return copy.deepcopy(self)

    def __getstate__(self) -> dict[str, Any]:
        with self._turn:
            return {name: value for name, value in vars(self).items() if name != "_turn"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _turn=Turn())
