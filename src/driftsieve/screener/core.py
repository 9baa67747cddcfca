"""FeatureScreener: its parameters, learning and storing; BankSelector does the reading."""

from __future__ import annotations

import copy
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted, column_or_1d

from driftsieve.bank import Bank, ClockName
from driftsieve.batch import Batch, Missing
from driftsieve.limits import MAX_CLASSES, MAX_FEATURES, OnLimit
from driftsieve.screener.checks import (
    check_declared,
    check_kept,
    check_same_settings,
    check_width,
    declared_classes,
    is_frame,
    matrix_of,
)
from driftsieve.screener.reading import BANK_PARAMETERS, LIMIT_PARAMETERS, new_bank
from driftsieve.screener.rules import RuleName
from driftsieve.screener.score_name import ScoreParameter
from driftsieve.screener.selector import BankSelector
from driftsieve.screener.storing import Stored


class FeatureScreener(BankSelector):
    """Select the features that tell the classes apart now, from a stream seen once.

    ``fit`` learns from one set of rows, ``partial_fit`` from one batch after another without end;
    ``update_batch`` is that for those of ``as_batches``. None of them scores anything: the first
    read of ``scores_``, ``pvalues_``, ``ranking_``, ``get_support`` or ``transform`` after an
    update does, and it is kept until the next update. ``score``, ``rule``, ``k``, ``n_bins`` and
    ``output`` may be changed by ``set_params`` at any time, as long as the score needs no other
    state (T and Fisher need moments, the others quantiles); ``n_threads`` and the limits, too, from
    the next rows on; the other parameters of the bank only before the first row.

    Parameters
    ----------
    score : {"t", "fisher", "mutual_info", "chi2", "gini"}
        What features are ranked by.
    k : float
        The parameter of the rule: how many features for ``"k_best"`` (all of them, with a warning,
        if there are fewer), the percentage for ``"percentile"``, the worst score for
        ``"threshold"``, and the error rate, such as 0.05, for ``"fpr"``, ``"fdr"`` and ``"fwe"``.
    rule : {"k_best", "percentile", "threshold", "fpr", "fdr", "fwe"}
        Which features are kept. The last three use p-values, which Gini has none of.
    n_bins : int
        Quantile bins of mutual information, chi-square and Gini.
    epsilon, alpha, half_life, clock, missing, n_threads
        As in :class:`driftsieve.Bank`.
    max_features, max_classes, max_bytes, on_limit
        As in :class:`driftsieve.Bank`; columns are left out of sparse rows that may grow only, and
        other rows with too many of them are refused.
    new_features : {"error", "grow"}
        Whether later sparse rows may have more columns, or fewer, than those before.
    output : {"select", "mask"}
        ``transform`` keeps the selected columns only, or all of them with zeros in the others, so
        that an online linear model keeps its weights while the selection moves.

    Attributes
    ----------
    bank_ : Bank
        The state.
    scores_, pvalues_, ranking_ : ndarray of shape (n_features,)
        The score, its p-value (None for Gini) and the rank, 1 for the best, of every feature.
    classes_ : ndarray
        The labels seen so far, or those given to ``partial_fit``, sorted.
    n_features_in_, feature_names_in_
        As in scikit-learn.

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

    score = ScoreParameter()

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
        new_features: Literal["error", "grow"] = "error",
        output: Literal["select", "mask"] = "select",
        n_threads: int | None = None,
        max_features: int = MAX_FEATURES,
        max_classes: int = MAX_CLASSES,
        max_bytes: float | None = None,
        on_limit: OnLimit = "error",
    ) -> None:
        self.score = score
        self.k = k
        self.rule = rule
        self.n_bins = n_bins
        self.epsilon = epsilon
        self.alpha = alpha
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

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name."""
        return {**super().get_params(deep), "score": vars(self)["score"]}

    # --- learning -------------------------------------------------------------------------------

    def fit(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None, t: ArrayLike | None = None
    ) -> Self:
        """Forget everything and learn from these rows.

        Bad input raises an error and leaves the screener as it was.
        """
        if sample_weight is not None and not np.any(np.asarray(sample_weight)):
            raise ValueError("Sample weights must contain at least one non-zero number.")
        return self._learn(X, y, sample_weight, t, None, fresh=True)

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        t: ArrayLike | None = None,
    ) -> Self:
        """Learn from these rows too.

        ``classes``, which is not needed, declares all the labels there will be: others are then an
        error. Bad input raises an error and leaves the screener as it was.
        """
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
        return self._learn(X, y, sample_weight, t, declared, fresh=fresh)

    def _learn(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None,
        t: ArrayLike | None,
        declared: NDArray[Any] | None,
        *,
        fresh: bool,
    ) -> Self:
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, "
                "but the target y is None."
            )
        if np.asarray(y).ndim == 2 and not np.ma.isMaskedArray(y):  # the bank refuses that
            y = column_or_1d(y, warn=True)
        X = matrix_of(X, self)
        bank = self._bank_for(X, y, declared, fresh)
        if not fresh:
            self._check_columns(X)
            if bank.feature_names is None and is_frame(X):  # scikit-learn has warned
                X = Batch.of(X, y, missing=self.missing).X
        bank.update(X, y, sample_weight=sample_weight, t=t)
        return self._hold(bank, declared)

    def update_batch(self, batch: Batch) -> Self:
        """Learn from a batch, such as ``as_batches`` gives: its names, weights and times too.

        Bad input raises an error and leaves the screener as it was.
        """
        if not isinstance(batch, Batch):
            raise TypeError(
                f"update_batch takes a Batch, got {type(batch).__name__}: call partial_fit(X, y)."
            )
        fresh = not self.__sklearn_is_fitted__()
        declared = None if fresh else self._declared
        bank = self._bank_for(batch.X, batch.y, declared, fresh)
        if not fresh:
            self._check_batch(batch)
        return self._hold(bank.update_batch(batch), declared)

    def _bank_for(self, X: Any, y: Any, declared: NDArray[Any] | None, fresh: bool) -> Bank:
        """The one that is to take in these rows; their columns are looked at by others."""
        if declared is not None:
            check_declared(y, declared)
        bank = self._empty_bank() if fresh else self._known_bank()
        if fresh and not self._may_grow(X):
            check_width(X.shape[1], bank)
        return bank

    def _hold(self, bank: Bank, declared: NDArray[Any] | None) -> Self:
        # in one statement: no interrupt comes between
        self.__dict__.update(bank_=bank, _declared=declared, _readings={})
        return self

    def _empty_bank(self) -> Bank:
        self._check_parameters()
        return new_bank(self.score, **{name: getattr(self, name) for name in BANK_PARAMETERS})

    def _check_bank(self, bank: Bank | None) -> None:
        """ValueError where the parameters are not sound, or not those of a bank with rows."""
        fresh = self._empty_bank()
        if bank is not None:
            check_same_settings(bank, fresh)
            check_kept(bank, self.score)

    def _known_bank(self) -> Bank:
        """The one with rows, which is to take in more, with what may change in between."""
        self._check_bank(self.bank_)
        self.bank_.set_limits(**{name: getattr(self, name) for name in LIMIT_PARAMETERS})
        self.bank_.n_threads = self.n_threads
        self._readings = {}  # now: an interrupt may come when the rows are in
        return self.bank_

    def merge(self, other: FeatureScreener, start: float | None = None) -> Self:
        """Take in the rows that another screener of the same settings has seen.

        ``other`` is not changed. ``start`` is as in :meth:`driftsieve.Bank.merge`. A screener
        without rows takes over those of the other.
        """
        if not isinstance(other, FeatureScreener):
            raise TypeError(f"merge takes a FeatureScreener, got {type(other).__name__}.")
        check_is_fitted(other)
        fitted = self.__sklearn_is_fitted__()
        bank = self._known_bank() if fitted else self._empty_bank()
        ours, theirs = self._declared if fitted else other._declared, other._declared
        both = None if ours is None or theirs is None else np.union1d(ours, theirs)
        return self._hold(bank.merge(other.bank_, start), both)

    # --- storing --------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if "_readings" in state:
            state["_readings"] = {}
        return state

    def __copy__(self) -> Self:
        return copy.deepcopy(self)  # two screeners do not share a bank

    def to_bytes(self) -> bytes:
        """Parameters and state, without pickle; ``from_bytes`` gives an equal screener back.

        ValueError where parameters were changed to such as do not go with the state.
        """
        bank, declared = getattr(self, "bank_", None), getattr(self, "_declared", None)
        self._check_bank(bank)
        container = getattr(self, "_sklearn_output_config", {}).get("transform")
        return Stored(self.get_params(), container, declared, bank).to_bytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The screener that ``to_bytes`` stored; ValueError if the bytes are not sound."""
        return Stored.from_bytes(data, cls)
