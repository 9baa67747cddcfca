"""BankSelector: what a bank says of its features, and rows with the selected ones only."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from driftsieve import select
from driftsieve.bank import Bank
from driftsieve.batch import Batch, Missing, check_readable
from driftsieve.columns import Columns
from driftsieve.scores import SCORES, ScoreFunction, rank
from driftsieve.screener.checks import check_choices, check_kept
from driftsieve.screener.masking import masked
from driftsieve.screener.reading import read_bank, selection
from driftsieve.screener.rules import RULES, RuleName, check_bins, check_rule
from driftsieve.snapshot import Floats


class BankSelector(SelectorMixin, BaseEstimator):
    """The part of FeatureScreener that reads ``bank_`` and never changes it."""

    score: Any
    k: float
    rule: RuleName
    n_bins: int
    missing: Missing
    new_features: Literal["error", "grow"]
    output: Literal["select", "mask"]
    bank_: Bank
    _declared: NDArray[Any] | None
    _readings: dict[str, tuple[Any, Any]]

    # --- reading --------------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "bank_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing == "ignore"
        return tags

    @property
    def n_features_in_(self) -> int:
        return cast("int", self.bank_.n_features)

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        if self.bank_.feature_names is None:
            raise AttributeError("feature_names_in_")
        return np.array(self.bank_.feature_names, dtype=object)

    @property
    def classes_(self) -> NDArray[Any]:
        check_is_fitted(self)
        return self.bank_.classes if self._declared is None else self._declared

    @property
    def scores_(self) -> Floats:
        check_is_fitted(self)
        self._check_parameters()
        function = SCORES[self.score].function
        scores: Floats = self._read("scores", lambda: self._by_block(function))
        return scores

    @property
    def pvalues_(self) -> Floats | None:
        check_is_fitted(self)
        self._check_parameters()
        function = SCORES[self.score].pvalues
        return None if function is None else self._read("p", lambda: self._by_block(function))

    @property
    def ranking_(self) -> NDArray[np.int64]:
        check_is_fitted(self)
        self._check_parameters()
        larger = SCORES[self.score].larger_is_better
        ranks: NDArray[np.int64] = self._read("ranks", lambda: rank(self.scores_, larger))
        return ranks

    def _get_support_mask(self) -> select.Mask:
        check_is_fitted(self)
        self._check_parameters()
        support: select.Mask = self._read("support", self._support, self.rule, self.k)
        return support.copy()

    def _support(self) -> select.Mask:
        if self.rule == "k_best" and self.k > self.n_features_in_:
            warnings.warn(
                f"k={self.k} is greater than n_features={self.n_features_in_}. "
                "All the features will be returned.",
                stacklevel=5,
            )
        by_scores = RULES[self.rule].uses == "scores"
        scores, pvalues = (self.scores_, None) if by_scores else (None, self.pvalues_)
        return selection(self.rule, self.k, self.score, scores, pvalues)

    def _read(self, name: str, compute: Callable[[], Any], *more: Any) -> Any:
        """What was computed since the last update with the same parameters, or else compute it."""
        key = (self.score, self.n_bins, *more)
        readings = self._readings  # rows that another thread learns meanwhile get new ones
        found = readings.get(name)
        if found is None or found[0] != key:
            value = compute()
            value.flags.writeable = False  # the next reader gets the same array
            readings[name] = found = key, value
        return found[1]

    def _by_block(self, function: ScoreFunction) -> Floats:
        check_kept(self.bank_, self.score)
        return read_bank(self.bank_, function, self.n_bins)

    def _check_parameters(self) -> None:
        check_choices(
            score=(self.score, SCORES),
            rule=(self.rule, RULES),
            new_features=(self.new_features, ("error", "grow")),
            output=(self.output, ("select", "mask")),
        )
        check_bins(self.n_bins)
        check_rule(self.rule, self.k, self.score)

    # --- transforming ---------------------------------------------------------------------------

    def transform(self, X: Any) -> Any:
        """X with the selected columns only, or with zeros in the others (``output="mask"``).

        X may be a ``Batch``, too.
        """
        support = self.get_support()
        if isinstance(X, Batch):
            X = self._with_known_columns(self._rows_of(X))
            return X[:, support] if self.output == "select" else masked(X, support)
        check_readable(X)
        self._check_width(X)
        X = self._with_known_columns(X)
        try:
            if self.output == "select":
                return super().transform(X)
            finite = "allow-nan" if self.missing == "ignore" else True
            X = validate_data(self, X, accept_sparse="csr", ensure_all_finite=finite, reset=False)
        except ValueError as error:
            if not str(error).startswith("Input X contains NaN"):
                raise
            # scikit-learn would recommend its own estimators
            hint = 'Pass missing="ignore" to leave missing values out.'
            raise ValueError(f"Input X contains NaN. {hint}") from None
        return masked(X, support)

    def inverse_transform(self, X: Any) -> Any:
        """X with zeros in the columns that were not selected."""
        check_readable(X)
        if self.output == "select":
            return super().inverse_transform(X)
        check_is_fitted(self)
        return validate_data(self, X, accept_sparse="csr", ensure_all_finite=False, reset=False)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[Any]:
        """Names of the columns that ``transform`` gives."""
        mixin = SelectorMixin if self.output == "select" else OneToOneFeatureMixin
        return cast("NDArray[Any]", mixin.get_feature_names_out(self, input_features))

    # --- columns of later rows ------------------------------------------------------------------

    def _may_grow(self, X: Any) -> bool:
        return self.new_features == "grow" and bool(sparse.issparse(X))

    def _check_columns(self, X: Any) -> None:
        self._check_width(X)
        if not self._may_grow(X):
            validate_data(self, X, skip_check_array=True, reset=False)

    def _check_batch(self, batch: Batch) -> None:
        self._check_width(batch.X)
        self.bank_._columns.check(Columns.of(batch))

    def _check_width(self, X: Any) -> None:
        """ValueError for a matrix that is too wide or too narrow; a frame is for scikit-learn."""
        known, is_sparse = self.n_features_in_, sparse.issparse(X)
        is_matrix = (is_sparse or isinstance(X, np.ndarray)) and X.ndim == 2
        if not is_matrix or X.shape[1] == known or self._may_grow(X):
            return
        hint = ""
        if is_sparse and self.bank_._columns.is_sparse:
            hint = ": with new_features='grow' later sparse rows may have more columns, or fewer"
        elif self.new_features == "grow" and X.shape[1] > known:
            hint = ": new_features='grow' adds columns to sparse rows only, so pass X as a scipy "
            hint += "sparse matrix"
        raise ValueError(
            f"X has {X.shape[1]} features, but {type(self).__name__} is expecting {known} features "
            f"as input{hint}."
        )

    def _rows_of(self, batch: Batch) -> Any:
        self._check_batch(batch)
        return batch.looked_at(self.missing).X

    def _with_known_columns(self, X: Any) -> Any:
        if self._may_grow(X):
            X = X.tocsr(copy=True)
            X.resize(X.shape[0], self.n_features_in_)  # a column never learned is never selected
        return X
