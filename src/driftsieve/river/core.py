"""FeatureScreener: the river transformer."""

from __future__ import annotations

import copy
from collections.abc import Hashable
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from river import base

from driftsieve._core import pick
from driftsieve._rows.frames import as_frame
from driftsieve._state.limits import MAX_CLASSES, MAX_FEATURES, Limits, OnLimit
from driftsieve._state.settings import AUTO, HalfLives, is_auto
from driftsieve.bank import ClockName
from driftsieve.batch import Missing
from driftsieve.memory import Memory
from driftsieve.memory.reading import learns
from driftsieve.river.dict_bank import DictBank
from driftsieve.river.known import as_labels
from driftsieve.scores import ScoreFunction, rank, score_of
from driftsieve.screener.checks import check_bins
from driftsieve.screener.reading import first_features, n_compared, warn_unscored
from driftsieve.selection.rules import RULES, choice_of, selected


class FeatureScreener(base.SupervisedTransformer, base.MiniBatchSupervisedTransformer):
    """Select the features that separate the classes now, from rows that are dictionaries.

    Features may appear and disappear, and labels may be any hashable object. ``learn_many`` gives
    the same bits as ``learn_one`` for each row. With ``clock="batch"``, each call of either is a
    tick, also one without rows or whose rows are all ignored.

    Scores are computed on demand. ``transform_one`` and ``transform_many`` renew the selection when
    the number of rows has doubled since the last time, or grown by ``every``. ``scores``,
    ``pvalues``, ``ranking`` and ``selected`` are always current.

    Before the first row all features pass. While rows of fewer than two classes have weight, there
    are no scores: ``k`` then selects the first k features in the order of their appearance,
    ``percentile`` that percentage of them, and the other rules all of them. There is one warning if
    that lasts for ``every`` rows.

    Parameters
    ----------
    score_func
        ``"t"``, ``"fisher"``, ``"mutual_info"``, ``"chi2"``, ``"gini"``, or a function of a
        ``Snapshot``.
    k, percentile, threshold, fpr, fdr, fwe
        The rule of selection, at most one of them: see :class:`driftsieve.FeatureScreener`. None
        means ``k=10``.
    n_bins
        Number of quantile bins for mutual information, chi-square and Gini.
    epsilon
        Largest rank error, as a share of the weight.
    decay
        What the weight of a row is multiplied by per tick; 1 means no fading.
    half_life
        ``"auto"``: learned from the data, see :attr:`memory`; a list: half-lives to choose from;
        None: no fading. Otherwise the age at which a weight has halved, in ticks. With
        ``clock="time"`` also a duration such as ``"12h"`` or a timedelta, which is required if
        times are datetimes.
    clock
        ``"row"``, ``"batch"`` or ``"time"``: what age is counted in.
    missing
        ``"error"``: NaN, None or the NA of pandas is an error; ``"ignore"``: the row does not count
        for that feature.
    absent
        Value of a feature in a row without its key. ``"zero"``: 0; ``"missing"``: a missing value.
    every
        Largest age of the selection of ``transform_one``, in rows.
    n_threads
        Number of threads; all cores by default, and with -1.
    max_features, max_classes, max_bytes, on_limit
        As in :class:`driftsieve.Bank`. With ``on_limit="ignore_new"``, new keys and rows of new
        labels beyond the limits are left out and counted in ``ignored``.

    See Also
    --------
    driftsieve.FeatureScreener : The same for scikit-learn.

    Examples
    --------
    >>> from river import datasets, evaluate, linear_model, metrics, preprocessing
    >>> from driftsieve.river import FeatureScreener
    >>> screener = FeatureScreener("fisher", k=4, half_life=500)
    >>> model = preprocessing.StandardScaler() | screener | linear_model.LogisticRegression()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 88.72%
    >>> screener.selected[:2]
    ['empty_server_form_handler', 'popup_window']
    """

    # Nearly the parameters of driftsieve.FeatureScreener. They are written out in both classes,
    # because river and scikit-learn read the names and the defaults from the signature.
    def __init__(
        self,
        score_func: str | ScoreFunction = "mutual_info",
        *,
        k: int | None = None,
        percentile: float | None = None,
        threshold: float | None = None,
        fpr: float | None = None,
        fdr: float | None = None,
        fwe: float | None = None,
        n_bins: int = 5,
        epsilon: float = 0.01,
        decay: float | None = None,
        half_life: HalfLives | None = AUTO,
        clock: ClockName = "row",
        missing: Missing = "error",
        absent: Literal["zero", "missing"] = "zero",
        every: int = 1024,
        n_threads: int | None = None,
        max_features: int = MAX_FEATURES,
        max_classes: int = MAX_CLASSES,
        max_bytes: float | None = None,
        on_limit: OnLimit = "error",
    ) -> None:
        self.k = k
        self.percentile = percentile
        self.threshold = threshold
        self.fpr = fpr
        self.fdr = fdr
        self.fwe = fwe
        self._score = score_of(score_func)
        self._choice = choice_of(self, self._score)
        check_bins(n_bins)
        if every < 1:
            raise ValueError(f"every must be at least 1, got {every!r}.")
        self.score_func = score_func
        self.n_bins = n_bins
        self.epsilon = epsilon
        self.decay = decay
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
        if decay is not None and is_auto(half_life):
            half_life = None  # decay overrides the default
        learning = None
        if learns(half_life):
            if is_auto(half_life) and clock == "time":
                raise ValueError(
                    'half_life must be given with clock="time", got "auto". Pass a list of '
                    'half-lives to choose from, such as ["1h", "1d", "7d", None], or None.'
                )
            learning = {
                "score_func": score_func,
                "n_bins": n_bins,
                "k": n_compared(self._choice),
            }
        self._bank = DictBank(
            learning=learning,
            absent=absent,
            missing=missing,
            clock=clock,
            limits=Limits(max_features, max_classes, max_bytes, on_limit),
            epsilon=epsilon,
            **({} if learning else self._score.keeps),
            decay=decay,
            half_life=half_life,
            n_threads=n_threads,
        )
        self._chosen: set[Hashable] | None = None
        self._picked: tuple[Hashable, ...] = ()  # the same in the order of the features
        self._due = 1  # number of rows at which the selection is renewed
        self._knows_one_class = False  # the selection is then also renewed with the second class
        self._has_warned = False

    def learn_one(
        self, x: dict[Hashable, Any], y: Hashable, w: float = 1.0, time: Any = None
    ) -> None:
        """Learn from a row.

        Parameters
        ----------
        x : dict
            Feature values by key.
        y : hashable
            Class label.
        w : float
            Weight of the row.
        time : float or datetime, optional
            Time of the row, with ``clock="time"``.

        See Also
        --------
        learn_many : Learn from the rows of a data frame.

        Examples
        --------
        >>> screener = FeatureScreener(k=1)
        >>> screener.learn_one({"size": 1.0}, "ham")
        >>> screener.learn_one({"size": 2.0, "links": 5}, "spam")
        >>> screener.ranking
        {'size': 1, 'links': 2}
        """
        self._bank.update_one(x, y, w, time)

    def learn_many(
        self, X: Any, y: Any, w: ArrayLike | None = None, time: ArrayLike | None = None
    ) -> None:
        """Learn from the rows of a data frame. NaN is a missing value, not an absent key.

        Parameters
        ----------
        X : data frame
            Rows.
        y : sequence
            Class labels.
        w : array-like of shape (n_rows,), optional
            Weights of the rows.
        time : array-like of shape (n_rows,), optional
            Times of the rows, with ``clock="time"``.

        See Also
        --------
        learn_one : Learn from a single row.

        Examples
        --------
        >>> import pandas as pd
        >>> screener = FeatureScreener(k=1)
        >>> X = pd.DataFrame({"size": [1.0, 1.1, 1.9, 2.0], "links": [0, 1, 1, 0]})
        >>> screener.learn_many(X, ["ham", "ham", "spam", "spam"])
        >>> screener.selected
        ['size']
        """
        self._bank.update_many(X, as_labels(y), w, time)

    def transform_one(self, x: dict[Hashable, Any]) -> dict[Hashable, Any]:
        """Return the selected features of a row.

        Parameters
        ----------
        x : dict
            Feature values by key.

        Returns
        -------
        dict
            The selected keys and their values.

        See Also
        --------
        transform_many : The same for a data frame.

        Examples
        --------
        >>> screener = FeatureScreener(k=1)
        >>> for size, links in ((1.0, 0), (1.1, 1), (1.9, 1), (2.0, 0)):
        ...     screener.learn_one({"size": size, "links": links}, size > 1.5)
        >>> screener.transform_one({"size": 1.2, "links": 3})
        {'size': 1.2}
        """
        if self._bank.n_rows >= self._due or self._knows_one_class:
            self._renew_if_due()
        if self._chosen is None:
            return dict(x)
        if len(self._chosen) < len(x):
            return pick(x, self._picked)
        return {key: value for key, value in x.items() if key in self._chosen}

    def transform_many(self, X: Any) -> Any:
        """Return the selected columns of a data frame.

        Parameters
        ----------
        X : data frame
            Rows.

        Returns
        -------
        data frame
            Of the same library.

        See Also
        --------
        transform_one : The same for a single row.

        Examples
        --------
        >>> import pandas as pd
        >>> screener = FeatureScreener(k=1)
        >>> X = pd.DataFrame({"size": [1.0, 1.1, 1.9, 2.0], "links": [0, 1, 1, 0]})
        >>> screener.learn_many(X, ["ham", "ham", "spam", "spam"])
        >>> list(screener.transform_many(X).columns)
        ['size']
        """
        self._renew_if_due()
        frame, chosen = as_frame(X), self._chosen
        kept = [key for key in frame.columns if chosen is None or key in chosen]
        if frame.implementation.is_pandas_like():
            return X[kept]  # narwhals requires string names, and drops the rows without columns
        return frame.select(kept).to_native()

    @property
    def ignored(self) -> dict[str, int]:
        """Counts of rows of new labels and values of new keys that were left out."""
        return dict(self._bank.ignored)

    @property
    def scores(self) -> dict[Hashable, float]:
        """Score of each feature seen so far."""
        return dict(zip(self._bank.keys, self._scores().tolist(), strict=True))

    @property
    def pvalues(self) -> dict[Hashable, float] | None:
        """P-values of the scores; None for Gini."""
        if self._score.pvalues is None:
            return None
        return dict(zip(self._bank.keys, self._pvalues().tolist(), strict=True))

    @property
    def memory(self) -> Memory:
        """How long the screener remembers, learned with ``half_life="auto"`` or a list."""
        found = self._bank.memory
        if found is None:
            raise AttributeError(
                'memory is available only with half_life="auto" or a list of half-lives.'
            )
        return found

    @property
    def ranking(self) -> dict[Hashable, int]:
        """Rank of each feature, 1 for the best."""
        ranks = rank(self._scores(), self._score.larger_is_better)
        return dict(zip(self._bank.keys, ranks.tolist(), strict=True))

    @property
    def selected(self) -> list[Hashable]:
        """Features that the rule selects now, the best first."""
        ranks = self.ranking
        return sorted(self._select(), key=ranks.__getitem__)

    def _scores(self) -> Any:
        worst = 0.0 if self._score.larger_is_better else 1.0
        return self._bank.read_scores(self.score_func, self.n_bins, worst)

    def _pvalues(self) -> Any:
        function = self._score.pvalues
        assert function is not None  # checked by choice_of
        return self._bank.read(function, self.n_bins, 1.0)

    def _select(self) -> tuple[Hashable, ...]:
        if not self._bank.can_score():
            keys = self._bank.keys
            n_kept = first_features(self._choice, len(keys))
            if self._bank.n_rows >= self.every and not self._has_warned:
                self._has_warned = True
                warn_unscored(self._choice, n_kept, stacklevel=4)
            return tuple(keys[:n_kept])
        by_scores = RULES[self._choice.rule].uses == "scores"
        scores, pvalues = (self._scores(), None) if by_scores else (None, self._pvalues())
        kept = selected(self._choice, self._score, scores, pvalues)
        keys = self._bank.keys
        return tuple(keys[j] for j in np.flatnonzero(kept))

    def _renew_if_due(self) -> None:
        second_came = self._knows_one_class and len(self._bank.labels) > 1
        if second_came or self._bank.n_rows >= self._due:
            self._renew()

    def _renew(self) -> None:
        n_rows = self._bank.n_rows
        self._picked = self._select()
        self._chosen = set(self._picked)
        self._due = n_rows + min(n_rows, self.every)
        self._knows_one_class = len(self._bank.labels) < 2

    def __copy__(self) -> Self:
        return copy.deepcopy(self)  # two screeners do not share a bank

    def _unit_test_skips(self) -> set[str]:
        # A batch of many rows is one tick of this clock. The docs of river allow such differences.
        return {"check_learn_many_matches_learn_one"} if self.clock == "batch" else set()

    @property
    def _raw_memory_usage(self) -> int:
        # river cannot measure the compiled state
        return int(super()._raw_memory_usage) + self._bank.nbytes
