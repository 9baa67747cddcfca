"""LearnedBank: a bank of several half-lives that learns which of them tell about the next rows."""

from __future__ import annotations

import copy
import math
import sys
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from driftsieve._state.settings import AUTO, HalfLives, is_auto, is_ladder
from driftsieve.bank import Bank, ClockName
from driftsieve.batch import Batch, validated
from driftsieve.memory.merging import merge
from driftsieve.memory.panel import Indices, next_panel, panel_size
from driftsieve.memory.period import DOUBLES_AFTER, Period, rows_of_period
from driftsieve.memory.predicting import predicted, relevances
from driftsieve.memory.relevance import RELEVANCE, RESPONSE
from driftsieve.memory.rungs import N_RUNGS, default_rungs
from driftsieve.memory.storing import from_bytes, to_bytes
from driftsieve.memory.summary import Memory
from driftsieve.memory.sums import Sums
from driftsieve.memory.waiting import Waiting
from driftsieve.scores import ScoreFunction, score_of
from driftsieve.snapshot import Floats, Snapshot


class LearnedBank:
    """A bank that keeps several half-lives and learns how long to remember.

    From time to time, at fixed numbers of rows, it compares the relevance that each half-life gave
    the features with their relevance in the rows that came later. ``scores`` are the relevances
    that it predicts for the next rows. The same rows split into batches in any way give the same
    bits (``clock="batch"`` apart).

    Parameters
    ----------
    score_func : {"t", "fisher", "mutual_info", "chi2", "gini"} or callable
        What features are compared by.
    n_bins : int
        Quantile bins of mutual information, chi-square and Gini.
    k : int, optional
        How many features are selected: half-lives are compared by the relevance of their k best, or
        of the best quarter if that is fewer, because all features are equally good at any
        half-life. A tenth of the features by default.
    half_life : "auto" or a list of half-lives
        Those to choose from. "auto" has eight, each twice the one before, and no forgetting: from
        250 rows or one batch on, or as long as 250 rows take with ``clock="time"``, which is
        counted in the first 500 rows.
    **parameters
        Others of :class:`driftsieve.Bank`, without ``decay``.

    See Also
    --------
    driftsieve.Bank : One half-life, or several without learning.
    driftsieve.FeatureScreener : Uses this one with ``half_life="auto"``.

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
        self.choices: str | tuple[float, ...]
        parameters = score_of(score_func).keeps | parameters
        if is_ladder(half_life):
            rungs: Any = half_life
        elif is_auto(half_life):
            rungs = default_rungs(clock)
        else:
            raise ValueError(f'half_life must be "auto" or a list, got {half_life!r}.')
        bank = Bank(half_life=rungs, clock=clock, **parameters)
        self.choices = bank.half_lives if is_ladder(half_life) else AUTO
        self._waiting = Waiting(bank) if rungs is None else None
        self._made: Bank | None = None
        self._start(bank)

    def _start(self, bank: Bank) -> None:
        self._ladder = bank
        n_rungs = len(bank.half_lives) if self._waiting is None else N_RUNGS + 1
        self._sums = Sums.empty(n_rungs)
        self._period = Period.first(n_rungs, self._fresh_bank())

    def _fresh_bank(self) -> Bank:
        """Return a bank without limits for rows that the ladder has taken in."""
        bank = self._ladder
        fresh = Bank(
            bank.epsilon,
            moments=bank.moments,
            quantiles=bank.quantiles,
            missing=bank.missing,
            n_threads=bank.n_threads,
            max_features=sys.maxsize,
            max_classes=sys.maxsize,
            max_bytes=np.inf,
        )
        if bank._core.absent_is_missing:
            fresh._core.take_absent_as_missing()
        return fresh

    # --- what a bank has ------------------------------------------------------------------------

    @property
    def bank(self) -> Bank:
        """The bank with all half-lives. While the unit of times is not known, one made for now."""
        if self._waiting is None or not self._waiting.n_rows:
            return self._ladder
        if self._made is None:
            self._made = self._waiting.bank_with_rungs()
        return self._made

    epsilon = property(lambda self: self._ladder.epsilon)
    moments = property(lambda self: self._ladder.moments)
    quantiles = property(lambda self: self._ladder.quantiles)
    clock = property(lambda self: self._ladder.clock)
    missing = property(lambda self: self._ladder.missing)
    n_features = property(lambda self: self._ladder.n_features)
    max_features = property(lambda self: self._ladder.max_features)
    max_classes = property(lambda self: self._ladder.max_classes)
    max_bytes = property(lambda self: self._ladder.max_bytes)
    on_limit = property(lambda self: self._ladder.on_limit)
    classes = property(lambda self: self._ladder.classes)
    feature_names = property(lambda self: self._ladder.feature_names)
    n_rows = property(lambda self: self._ladder.n_rows)
    ignored = property(lambda self: self._ladder.ignored)
    now = property(lambda self: self._ladder.now)
    is_whole = property(lambda self: self._ladder.is_whole)
    _columns = property(lambda self: self._ladder._columns)
    _core = property(lambda self: self._ladder._core)
    _taking = property(lambda self: self._ladder._taking)
    _threads = property(lambda self: self._ladder._threads)

    @property
    def half_lives(self) -> tuple[float, ...]:
        """The half-lives to choose from, in ticks of the clock."""
        return self.bank.half_lives

    @property
    def half_life(self) -> float:
        """The half-life whose best features were the most relevant ones; p-values are its own."""
        return self.half_lives[self._sums.best_rung()]

    @property
    def decay(self) -> float:
        """What a row's weight is multiplied by per tick at that half-life."""
        return math.exp2(-1.0 / self.half_life)

    @property
    def nbytes(self) -> int:
        """Bytes the state takes in memory."""
        period = self._period
        waiting = self._waiting.nbytes if self._waiting else 0
        arrays = period.features, period.before, period.recent, self._sums.products
        return self._ladder.nbytes + period.fresh.nbytes + waiting + sum(a.nbytes for a in arrays)

    @property
    def n_threads(self) -> int | None:
        """As it was given; it may be set at any time."""
        return self._ladder.n_threads

    @n_threads.setter
    def n_threads(self, n_threads: int | None) -> None:
        self._ladder.n_threads = self._period.fresh.n_threads = n_threads

    def set_limits(self, **limits: Any) -> LearnedBank:
        """Change ``max_features``, ``max_classes``, ``max_bytes`` or ``on_limit`` from now on."""
        self._ladder.set_limits(**limits)
        return self

    def __repr__(self) -> str:
        return f"<driftsieve.memory.LearnedBank around {self._ladder!r}>"

    # --- learning -------------------------------------------------------------------------------

    def update(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        time: ArrayLike | None = None,
    ) -> LearnedBank:
        """Take in rows, as :meth:`driftsieve.Bank.update` does."""
        rows = self._ladder._rows_of(X, y, sample_weight, time)
        batch = validated(rows, self.missing)
        self._made = None
        if batch.n_rows <= self._left or self.clock == "batch":
            self._take(batch)
            return self
        # Either all rows or none: what may be refused is refused before the first of them.
        self._ladder._check(batch)
        self._ladder._admitted(batch)
        begin = 0
        while begin < batch.n_rows:
            end = min(begin + self._left, batch.n_rows)
            self._take(batch.run(begin, end))
            begin = end
        return self

    @property
    def _n_best(self) -> int:
        """How many features memories are compared by, of those that a review compares."""
        n_compared = len(self._period.features) or self.n_features
        return max(1, min(self.k or self.n_features // 10, n_compared // 4))

    @property
    def _left(self) -> int:
        """Rows until something happens."""
        return self._period.left if self._waiting is None else self._waiting.left

    def _take(self, batch: Batch) -> None:
        if self._waiting is not None:
            self._waiting.take(batch)
            if self._waiting.is_over:
                self._stop_waiting(self._waiting)
            return
        self._ladder.update(batch)
        if self.on_limit == "ignore_new":
            batch = batch.part(np.isin(batch.y, self.classes), batch.n_features)
        self._learn(batch)

    def _learn(self, batch: Batch) -> None:
        """Count rows that the bank has taken in, and review memories if it is time to."""
        self._period.take(batch)
        if self._period.left <= 0:
            self._review()

    def _stop_waiting(self, waiting: Waiting) -> None:
        bank = waiting.bank_with_rungs()
        self._waiting = None
        self._start(bank)
        for batch in waiting.batches:
            self._period.take(batch)
        self._review()

    def _review(self) -> None:
        """Compare memories with the fresh rows, and begin another period."""
        period = self._period
        n_compared = len(period.features)
        fresh = self._relevances_in(period.fresh, np.arange(n_compared), RESPONSE)
        if n_compared and fresh is not None:
            of_period = (period.before, fresh[0], self._n_best, period.n_rows)
            self._sums = self._sums.reviewed(*of_period)
        self._period = self._next_period()

    def _next_period(self) -> Period:
        period, bank = self._period, self._ladder
        n_reviews = int(self._sums.n_reviews)
        kind = "quantiles" if bank.quantiles else "moments"
        if bank._columns.is_sparse:
            kind = "sparse"
        is_first = n_reviews < DOUBLES_AFTER
        size = panel_size(bank.n_features, period.n_values, kind, is_first=is_first)
        known, before = period.features, self._sums.weights() @ period.before
        others = period.candidates(bank.n_features, size)
        features = next_panel(bank.n_features, size, known, before, others)
        relevances = self._relevances_in(bank, features, RELEVANCE)
        if relevances is None:
            relevances = np.zeros((len(bank.half_lives), len(features)))
        return Period(
            rows_of_period(bank, n_reviews),
            features,
            relevances,
            self._fresh_bank(),
            recent=period.recent,
            turn=period.turn,
        )

    def _relevances_in(
        self, bank: Bank, features: Indices, functions: dict[str, ScoreFunction]
    ) -> Floats | None:
        """(H, m) of some features at all half-lives; None while one has rows of one class only."""
        return relevances(bank, features, self.score_func, self.n_bins, functions)

    # --- reading --------------------------------------------------------------------------------

    @property
    def memory(self) -> Memory:
        """What was learned of how long to remember."""
        bank = self.bank
        unit = {"row": "rows", "batch": "batches"}.get(self.clock, "")
        if self.clock == "time" and bank._fading == "duration":
            unit = "seconds"
        return Memory.of(self._sums, self._n_best, bank.half_lives, self._ticks, unit)

    def snapshot(
        self, n_bins: int = 5, features: slice | None = None, half_life: Any = None
    ) -> Snapshot:
        """Return what is known now, as :meth:`driftsieve.Bank.snapshot` gives it.

        ``half_life`` is one of ``half_lives``, by default the one with the most relevant features.
        """
        bank = self.bank
        return bank.snapshot(n_bins, features, self.half_life if half_life is None else half_life)

    def scores(self, n_bins: int | None = None) -> Floats:
        """Predict the relevance of every feature in the next rows, in the order of the score.

        It is the score per row less its mean under independence, so that it may be negative: nats
        for mutual information, and shares of variance for T and Fisher. For Gini it is the impurity
        that is left. Features that are the same in all rows rank last.
        """
        score, weights = self.score_func, self._sums.weights()
        return predicted(self.bank, score, n_bins or self.n_bins, weights).scores(score)

    @property
    def _ticks(self) -> float:
        """How long there have been rows, in ticks of the clock; for times, no bound is known."""
        return math.inf if self.clock == "time" else float(self._ladder._core.ticks)

    # --- merging and storing --------------------------------------------------------------------

    def merge(self, other: LearnedBank, start: float | None = None) -> LearnedBank:
        """Take in the rows that another one has seen, as :meth:`driftsieve.Bank.merge` does.

        What both have learned is added. The rows since the last review of each teach nothing more.
        """
        if not isinstance(other, LearnedBank):
            raise TypeError(f"other must be a LearnedBank, got {type(other).__name__}.")
        merge(self, other, start)
        return self

    def to_bytes(self) -> bytes:
        """Return the whole state; ``from_bytes`` gives an equal one back."""
        return to_bytes(self)

    @classmethod
    def from_bytes(cls, data: bytes | memoryview, *, n_threads: int | None = None) -> LearnedBank:
        """Return what ``to_bytes`` stored; StateError if the bytes are not sound."""
        return from_bytes(cls, data, n_threads)

    def __copy__(self) -> LearnedBank:
        return copy.deepcopy(self)
