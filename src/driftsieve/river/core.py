"""FeatureScreener: the river transformer."""

from __future__ import annotations

import copy
from collections.abc import Hashable
from typing import Any, Literal, Self

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import ArrayLike
from river import base

from driftsieve._core import pick
from driftsieve.bank import ClockName
from driftsieve.batch import Missing
from driftsieve.limits import MAX_CLASSES, MAX_FEATURES, Limits, OnLimit
from driftsieve.river.dict_bank import DictBank
from driftsieve.river.frames import as_labels
from driftsieve.scores import SCORES, rank
from driftsieve.screener.checks import check_choices
from driftsieve.screener.reading import selection
from driftsieve.screener.rules import RULES, RuleName, check_bins, check_rule


class FeatureScreener(base.SupervisedTransformer, base.MiniBatchSupervisedTransformer):
    """Keep the features that tell the classes apart now.

    Rows are dictionaries; features may appear and vanish, and labels may be anything hashable.
    ``learn_one`` costs little more than a walk through the row. ``learn_many`` learns the same,
    bit by bit, as ``learn_one`` row by row (with ``clock="batch"``, each call of either is a tick).

    Nothing is scored until somebody asks. ``transform_one`` and ``transform_many`` renew the
    selection where the number of rows has doubled since the last time, or grown by ``every``.
    ``scores``, ``pvalues``, ``ranking`` and ``selected`` are always of now. Before there are rows
    of two classes, all features pass.

    Parameters
    ----------
    score
        ``"t"``, ``"fisher"``, ``"mutual_info"``, ``"chi2"`` or ``"gini"``.
    k
        The parameter of the rule: see :class:`driftsieve.FeatureScreener`.
    rule
        ``"k_best"``, ``"percentile"``, ``"threshold"``, ``"fpr"``, ``"fdr"`` or ``"fwe"``.
    n_bins
        Quantile bins of mutual information, chi-square and Gini.
    epsilon
        Largest rank error, as a share of the weight.
    alpha
        Weight of a row relative to the next one; 1 forgets nothing.
    half_life
        After how much of the clock a row counts half; instead of ``alpha``.
    clock
        ``"sample"``, ``"batch"`` or ``"time"``: what age is counted in.
    missing
        Whether NaN, None or the NA of pandas is an ``"error"``, or ``"ignore"`` that row for that
        feature.
    absent
        ``"zero"``: a row without a key has 0 there; ``"missing"``: it does not count for it.
    every
        The selection that transforms is never older than this many rows.
    n_threads
        Threads that take in blocks of rows and score; all cores by default.
    max_features, max_classes, max_bytes, on_limit
        As in :class:`driftsieve.Bank`; keys and rows of new labels beyond them are left out and
        counted in ``ignored`` with ``on_limit="ignore_new"``.

    Examples
    --------
    >>> from river import datasets, evaluate, linear_model, metrics, preprocessing
    >>> from driftsieve.river import FeatureScreener
    >>> screener = FeatureScreener("fisher", k=4, half_life=500)
    >>> model = preprocessing.StandardScaler() | screener | linear_model.LogisticRegression()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 88.48%
    >>> screener.selected[:2]
    ['empty_server_form_handler', 'popup_window']
    """

    def __init__(
        self,
        score: str = "mutual_info",
        *,
        k: float = 10,
        rule: RuleName = "k_best",
        n_bins: int = 5,
        epsilon: float = 0.01,
        alpha: float = 1.0,
        half_life: float | None = None,
        clock: ClockName = "sample",
        missing: Missing = "error",
        absent: Literal["zero", "missing"] = "zero",
        every: int = 1024,
        n_threads: int | None = None,
        max_features: int = MAX_FEATURES,
        max_classes: int = MAX_CLASSES,
        max_bytes: float | None = None,
        on_limit: OnLimit = "error",
    ) -> None:
        check_choices(score=(score, SCORES), rule=(rule, RULES))
        check_rule(rule, k, score)
        check_bins(n_bins)
        if every < 1:
            raise ValueError(f"every must be at least 1, got {every!r}.")
        self.score = score
        self.k = k
        self.rule = rule
        self.n_bins = n_bins
        self.epsilon = epsilon
        self.alpha = alpha
        self.half_life = half_life
        self.clock = clock
        self.missing = missing
        self.absent = absent
        self.every = every
        self.n_threads = n_threads
        self.max_features = max_features
        self.max_classes = max_classes
        self.max_bytes = max_bytes
        self.on_limit = on_limit
        needs = SCORES[score].needs
        self._bank = DictBank(
            absent=absent,
            missing=missing,
            clock=clock,
            limits=Limits(max_features, max_classes, max_bytes, on_limit),
            epsilon=epsilon,
            moments=needs == "moments",
            quantiles=needs == "quantiles",
            alpha=alpha,
            half_life=half_life,
            n_threads=n_threads,
        )
        self._chosen: set[Hashable] | None = None
        self._picked: tuple[Hashable, ...] = ()  # the same in the order of the features
        self._due = 1  # rows at which the choice is renewed

    def learn_one(self, x: dict[Hashable, Any], y: Hashable, w: float = 1.0, t: Any = None) -> None:
        """Learn from a row, of weight ``w``; ``t`` is its time, with ``clock="time"``:
        a number, or a datetime.
        """
        self._bank.update_one(x, y, w, t)

    def learn_many(
        self, X: Any, y: Any, w: ArrayLike | None = None, t: ArrayLike | None = None
    ) -> None:
        """Learn from the rows of a data frame: NaN is a missing value, not an absent key."""
        self._bank.update_many(X, as_labels(y), w, t)

    def transform_one(self, x: dict[Hashable, Any]) -> dict[Hashable, Any]:
        """The selected features of the row."""
        if self._bank.n_rows >= self._due:
            self._renew()
        if self._chosen is None:
            return dict(x)
        if len(self._chosen) < len(x):
            return pick(x, self._picked)
        return {key: value for key, value in x.items() if key in self._chosen}

    def transform_many(self, X: Any) -> Any:
        """The selected columns of a data frame."""
        if self._bank.n_rows >= self._due:
            self._renew()
        frame, chosen = nw.from_native(X, eager_only=True), self._chosen
        kept = [key for key in frame.columns if chosen is None or key in chosen]
        if frame.implementation.is_pandas_like():
            return X[kept]  # names may be no strings, and no column at all keeps the rows
        return frame.select(kept).to_native()

    @property
    def ignored(self) -> dict[str, int]:
        """What ``on_limit="ignore_new"`` left out: rows of new labels, and values of new keys."""
        return dict(self._bank.ignored)

    @property
    def scores(self) -> dict[Hashable, float]:
        """The score of every feature seen so far."""
        return dict(zip(self._bank.keys, self._scores().tolist(), strict=True))

    @property
    def pvalues(self) -> dict[Hashable, float] | None:
        """The p-values of the scores; None for Gini."""
        if SCORES[self.score].pvalues is None:
            return None
        return dict(zip(self._bank.keys, self._pvalues().tolist(), strict=True))

    @property
    def ranking(self) -> dict[Hashable, int]:
        """The rank of every feature, 1 for the best."""
        ranks = rank(self._scores(), SCORES[self.score].larger_is_better)
        return dict(zip(self._bank.keys, ranks.tolist(), strict=True))

    @property
    def selected(self) -> list[Hashable]:
        """The features that the rule selects now, the best first."""
        ranks = self.ranking
        return sorted(self._select(), key=ranks.__getitem__)

    def _scores(self) -> Any:
        row = SCORES[self.score]
        return self._bank.read(row.function, self.n_bins, 0.0 if row.larger_is_better else 1.0)

    def _pvalues(self) -> Any:
        function = SCORES[self.score].pvalues
        assert function is not None  # by check_rule
        return self._bank.read(function, self.n_bins, 1.0)

    def _select(self) -> tuple[Hashable, ...]:
        by_scores = RULES[self.rule].uses == "scores"
        scores, pvalues = (self._scores(), None) if by_scores else (None, self._pvalues())
        kept = selection(self.rule, self.k, self.score, scores, pvalues)
        keys = self._bank.keys
        return tuple(keys[j] for j in np.flatnonzero(kept))

    def _renew(self) -> None:
        if len(self._bank.labels) < 2:
            return
        self._picked = self._select()
        self._chosen = set(self._picked)
        n_rows = self._bank.n_rows
        self._due = n_rows + min(n_rows, self.every)

    def __copy__(self) -> Self:
        return copy.deepcopy(self)  # two screeners do not share a bank

    def _unit_test_skips(self) -> set[str]:
        # what river's docs provide for: a batch of many rows is one tick of this clock
        return {"check_learn_many_matches_learn_one"} if self.clock == "batch" else set()

    @property
    def _raw_memory_usage(self) -> int:
        # river cannot see into the bank
        return int(super()._raw_memory_usage) + self._bank.nbytes
