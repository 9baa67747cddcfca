"""FeatureScreener: its parameters, learning and storing; BankSelector reads the bank."""

from __future__ import annotations

import copy
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted, column_or_1d

from driftsieve._state.limits import MAX_CLASSES, MAX_FEATURES, OnLimit
from driftsieve._state.settings import HalfLives
from driftsieve.bank import ClockName
from driftsieve.batch import Batch, Missing
from driftsieve.memory.bank import LearnedBank
from driftsieve.memory.reading import AnyBank
from driftsieve.scores import ScoreFunction
from driftsieve.screener.checks import (
    check_declared,
    check_kept,
    check_mergeable,
    check_unchanged,
    check_width,
    declared_classes,
    is_frame,
    matrix_of,
)
from driftsieve.screener.reading import (
    BANK_PARAMETERS,
    LIMIT_PARAMETERS,
    Readings,
    n_compared,
    new_bank,
)
from driftsieve.screener.selector import BankSelector
from driftsieve.screener.storing import Stored
from driftsieve.selection.rules import choice_of


class FeatureScreener(BankSelector):
    """Select the features that separate the classes now, in one pass over a stream.

    ``fit`` learns from one set of rows, ``partial_fit`` from any number of batches, for example
    those of ``as_batches``. Neither computes scores. The first read of ``scores_``, ``pvalues_``,
    ``ranking_``, ``get_support`` or ``transform`` after an update does, and the result is cached
    until the next update. Several threads may read at the same time.

    ``set_params`` may change ``score_func``, the rule, ``n_bins`` and ``output`` at any time, as
    long as the score needs no other state (T and Fisher need moments, the others quantiles), and
    ``n_threads`` and the limits from the next rows on; the other parameters only before the first
    row.

    While rows of fewer than two classes have weight, as at the beginning of some streams, there are
    no scores: ``scores_``, ``pvalues_`` and ``ranking_`` raise a ValueError. ``transform`` and
    ``get_support`` then go by index, with one warning: ``k`` keeps the first k features,
    ``percentile`` that percentage of them, and the other rules keep all.

    Parameters
    ----------
    score_func : {"t", "fisher", "mutual_info", "chi2", "gini"} or callable
        The score that ranks the features. A function takes a ``Snapshot`` and returns one number
        per feature; larger is better.
    k, percentile, threshold, fpr, fdr, fwe : float, optional
        The selection rule: give one of them, or none for ``k=10``. ``k`` is the number of
        features (all of them, with a warning, if there are fewer), ``percentile`` the percentage of
        features to keep, ``threshold`` the worst score. ``fpr``, ``fdr`` and ``fwe`` are error
        rates such as 0.05 and use p-values, which Gini and functions do not have.
    n_bins : int
        Number of quantile bins for mutual information, chi-square and Gini.
    epsilon, decay, half_life, clock, missing, n_threads
        As in :class:`driftsieve.Bank`.
    max_features, max_classes, max_bytes, on_limit
        As in :class:`driftsieve.Bank`. With ``on_limit="ignore_new"``, new columns are left out
        only of sparse rows with ``new_features="grow"``; other rows with too many columns are an
        error.
    new_features : {"error", "grow"}
        Whether later sparse rows may have more columns, or fewer, than those before.
    output : {"select", "mask"}
        ``transform`` keeps the selected columns only, or all of them with zeros in the others, so
        that an online linear model keeps its weights while the selection changes.

    Attributes
    ----------
    bank_ : Bank
        The state.
    scores_, pvalues_, ranking_ : ndarray of shape (n_features,)
        The score, its p-value (None for Gini) and the rank, 1 for the best, of every feature.
    classes_ : ndarray
        The labels seen so far, or those given to ``partial_fit``, sorted.
    memory_ : Memory
        How long the screener remembers, with ``half_life="auto"`` or a list.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    driftsieve.Bank : The state.
    driftsieve.river.FeatureScreener : The same for river, with rows as dictionaries.
    driftsieve.evaluate.prequential : Evaluates a screener with a learner.

    Examples
    --------
    >>> import numpy as np
    >>> from driftsieve import FeatureScreener
    >>> rng = np.random.default_rng(0)
    >>> screener = FeatureScreener(k=1, half_life=200)
    >>> for informative in (0, 2):  # the stream drifts
    ...     X = rng.normal(size=(1000, 4))
    ...     screener = screener.partial_fit(X, X[:, informative] > 0)
    ...     print(screener.get_support())
    [ True False False False]
    [False False  True False]
    """

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
        half_life: HalfLives | None = None,
        clock: ClockName = "row",
        missing: Missing = "error",
        new_features: Literal["error", "grow"] = "error",
        output: Literal["select", "mask"] = "select",
        n_threads: int | None = None,
        max_features: int = MAX_FEATURES,
        max_classes: int = MAX_CLASSES,
        max_bytes: float | None = None,
        on_limit: OnLimit = "error",
    ) -> None:
        self.score_func = score_func
        self.k = k
        self.percentile = percentile
        self.threshold = threshold
        self.fpr = fpr
        self.fdr = fdr
        self.fwe = fwe
        self.n_bins = n_bins
        self.epsilon = epsilon
        self.decay = decay
        self.half_life = half_life
        self.clock = clock
        self.missing = missing
        self.new_features = new_features
        self.output = output
        self.n_threads = n_threads
        self.max_features = max_features
        self.max_classes = max_classes
        self.max_bytes = max_bytes
        self.on_limit = on_limit

    # --- learning -------------------------------------------------------------------------------

    def fit(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None, time: ArrayLike | None = None
    ) -> Self:
        """Learn from these rows only.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Rows.
        y : array-like of shape (n_rows,)
            Class labels.
        sample_weight : array-like of shape (n_rows,), optional
            Weights of the rows.
        time : array-like of shape (n_rows,), optional
            Times of the rows, with ``clock="time"``.

        Returns
        -------
        FeatureScreener
            The fitted estimator.

        Raises
        ------
        ValueError, TypeError
            For invalid input. The screener is unchanged.

        See Also
        --------
        partial_fit : Learn from more rows.

        Examples
        --------
        >>> from driftsieve import FeatureScreener
        >>> screener = FeatureScreener(k=1).fit([[0.0, 1.0], [1.0, 1.0]], ["ham", "spam"])
        >>> screener.get_support()
        array([ True, False])
        """
        weights = None if sample_weight is None else np.asarray(sample_weight)
        if weights is not None and weights.dtype.kind in "biuf" and not weights.any():
            raise ValueError("Sample weights must contain at least one non-zero number.")
        return self._learn(X, y, sample_weight, time, None, fresh=True, least_rows=1)

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        time: ArrayLike | None = None,
    ) -> Self:
        """Learn from more rows.

        Each call is a tick of ``clock="batch"``, also one without rows.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Batch
            Rows. A ``Batch`` has its own labels, weights and times.
        y : array-like of shape (n_rows,)
            Class labels; not given with a batch.
        classes : array-like, optional
            All labels of the stream. It is not required; if it is given, other labels are an error.
        sample_weight : array-like of shape (n_rows,), optional
            Weights of the rows.
        time : array-like of shape (n_rows,), optional
            Times of the rows, with ``clock="time"``.

        Returns
        -------
        FeatureScreener
            The fitted estimator.

        Raises
        ------
        ValueError, TypeError
            For invalid input. The screener is unchanged.

        See Also
        --------
        fit : Learn from these rows only.
        merge : Add the rows of another screener.

        Examples
        --------
        >>> from driftsieve import FeatureScreener
        >>> screener = FeatureScreener(k=1).partial_fit([[0.0, 1.0], [1.0, 1.0]], ["ham", "spam"])
        >>> screener.partial_fit([[0.2, 1.0]], ["ham"]).bank_.n_rows
        3
        """
        if isinstance(X, Batch):
            if not all(given is None for given in (y, classes, sample_weight, time)):
                raise TypeError(
                    "y, sample_weight and time must not be given with a Batch, which has its own."
                )
            return self._learn_batch(X)
        fresh = not self.__sklearn_is_fitted__()
        declared = None if fresh else self._declared
        if classes is not None:
            given = declared_classes(classes)
            if declared is not None and not np.array_equal(given, declared):
                raise ValueError(
                    f"`classes={classes!r}` is not the same as on last call to partial_fit, "
                    f"was: {declared!r}"
                )
            if not fresh:
                check_declared(self.bank_.classes, given)
            declared = given
        return self._learn(X, y, sample_weight, time, declared, fresh=fresh)

    def _learn(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None,
        time: ArrayLike | None,
        declared: NDArray[Any] | None,
        *,
        fresh: bool,
        least_rows: int = 0,
    ) -> Self:
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, "
                "but the target y is None."
            )
        if np.asarray(y).ndim == 2 and not np.ma.isMaskedArray(y):  # the bank rejects masked labels
            y = column_or_1d(y, warn=True)
        X = matrix_of(X, self, least_rows)
        bank = self._bank_for(X, y, declared, fresh)
        if not fresh:
            self._check_columns(X)
            if bank.feature_names is None and is_frame(X):  # scikit-learn has warned
                X = Batch.of(X, y, missing=self.missing).X
        bank.update(X, y, sample_weight=sample_weight, time=time)
        return self._hold(bank, declared)

    def _learn_batch(self, batch: Batch) -> Self:
        fresh = not self.__sklearn_is_fitted__()
        declared = None if fresh else self._declared
        bank = self._bank_for(batch.X, batch.y, declared, fresh)
        if not fresh:
            self._check_batch(batch)
        return self._hold(bank.update(batch), declared)

    def _bank_for(self, X: Any, y: Any, declared: NDArray[Any] | None, fresh: bool) -> AnyBank:
        """Return the bank for these rows; their columns are checked elsewhere."""
        if declared is not None:
            check_declared(y, declared)
        bank = self._empty_bank() if fresh else self._known_bank()
        if fresh and not self._may_grow(X):
            check_width(X.shape[1], bank)
        return bank

    def _hold(self, bank: AnyBank, declared: NDArray[Any] | None) -> Self:
        # one statement, so that an interrupt cannot separate them
        self.__dict__.update(bank_=bank, _declared=declared, _readings=self._no_readings(bank))
        return self

    def _empty_bank(self) -> AnyBank:
        self._check_parameters()
        parameters = {name: getattr(self, name) for name in BANK_PARAMETERS}
        choice = choice_of(self, self._score)
        return new_bank(self.score_func, choice, self.n_bins, **parameters)

    def _check_bank(self, bank: AnyBank | None) -> None:
        """Raise ValueError if the parameters are not valid, or not those of the bank."""
        fresh = self._empty_bank()
        if bank is not None:
            check_unchanged(bank, fresh)
            check_kept(bank, self.score_func)

    def _known_bank(self) -> AnyBank:
        """Return the bank with rows, after an update of the parameters that may change."""
        self._check_bank(self.bank_)
        self.bank_.set_limits(**{name: getattr(self, name) for name in LIMIT_PARAMETERS})
        self.bank_.n_threads = self.n_threads
        if isinstance(self.bank_, LearnedBank):
            self.bank_.n_bins, self.bank_.k = self.n_bins, n_compared(choice_of(self, self._score))
        # before the update, because an interrupt may come right after it
        self._readings = self._no_readings(self.bank_)
        return self.bank_

    def _no_readings(self, bank: AnyBank) -> Readings:
        """Return empty readings for a changed bank; a new bank may warn again."""
        known = self.__sklearn_is_fitted__() and bank is self.bank_
        return Readings(known and self._readings.has_warned)

    def merge(self, other: FeatureScreener, start: float | None = None) -> Self:
        """Add the rows of another screener with the same settings.

        Parameters
        ----------
        other : FeatureScreener
            The other screener, which is not changed.
        start : float, optional
            As in :meth:`driftsieve.Bank.merge`.

        Returns
        -------
        FeatureScreener
            This screener.

        Raises
        ------
        ValueError
            If the settings or columns of the screeners do not match.

        See Also
        --------
        partial_fit : Learn from more rows.

        Examples
        --------
        >>> from driftsieve import FeatureScreener
        >>> monday = FeatureScreener(k=1).fit([[0.0, 1.0], [1.0, 1.0]], ["ham", "spam"])
        >>> tuesday = FeatureScreener(k=1).fit([[0.1, 1.0], [0.9, 1.0]], ["ham", "spam"])
        >>> monday.merge(tuesday).get_support()
        array([ True, False])
        """
        if not isinstance(other, FeatureScreener):
            raise TypeError(f"other must be a FeatureScreener, got {type(other).__name__}.")
        check_is_fitted(other)
        fitted = self.__sklearn_is_fitted__()
        bank = self._known_bank() if fitted else self._empty_bank()
        ours, theirs = self._declared if fitted else other._declared, other._declared
        both = None if ours is None or theirs is None else np.union1d(ours, theirs)
        check_mergeable(bank, other.bank_)
        merge: Any = bank.merge  # both are of one kind
        return self._hold(merge(other.bank_, start), both)

    # --- storing --------------------------------------------------------------------------------

    def __copy__(self) -> Self:
        return copy.deepcopy(self)  # two screeners do not share a bank

    def to_bytes(self) -> bytes:
        """Serialize parameters and state, without pickle.

        Returns
        -------
        bytes
            In the layout of docs/byte_format.md.

        Raises
        ------
        ValueError
            If parameters were changed to values that do not match the state.

        See Also
        --------
        from_bytes : The inverse.

        Examples
        --------
        >>> from driftsieve import FeatureScreener
        >>> screener = FeatureScreener(k=1).fit([[0.0, 1.0], [1.0, 1.0]], ["ham", "spam"])
        >>> FeatureScreener.from_bytes(screener.to_bytes()).get_support()
        array([ True, False])
        """
        bank, declared = getattr(self, "bank_", None), getattr(self, "_declared", None)
        self._check_bank(bank)
        container = getattr(self, "_sklearn_output_config", {}).get("transform")
        return Stored(self.get_params(), container, declared, bank).to_bytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Restore a screener from the bytes of ``to_bytes``.

        Parameters
        ----------
        data : bytes
            A serialized screener.

        Returns
        -------
        FeatureScreener

        Raises
        ------
        StateError
            If the bytes are not a valid screener.

        See Also
        --------
        to_bytes : The inverse.

        Examples
        --------
        >>> from driftsieve import FeatureScreener
        >>> data = FeatureScreener(k=1).fit([[0.0, 1.0], [1.0, 1.0]], ["ham", "spam"]).to_bytes()
        >>> FeatureScreener.from_bytes(data).k
        1
        """
        return Stored.from_bytes(data, cls)
