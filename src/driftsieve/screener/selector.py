"""BankSelector: scores, ranks and selection from a bank, and rows with the selected columns."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from os import PathLike
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from driftsieve._arguments import check_choice
from driftsieve._frames import Backend, frame_of
from driftsieve._rows.matrix import check_readable
from driftsieve._rows.names import name_of
from driftsieve._state.columns import Columns
from driftsieve.batch import Batch, Missing, validated
from driftsieve.history import ScoreHistory
from driftsieve.memory.bank import LearnedBank
from driftsieve.memory.reading import AnyBank, read_scores
from driftsieve.memory.summary import Memory
from driftsieve.report import of_bank, write
from driftsieve.scores import SCORES, Score, ScoreFunction, rank, score_of
from driftsieve.scores.reader import can_score, read_bank
from driftsieve.screener.checks import check_bins, check_kept
from driftsieve.screener.masking import masked
from driftsieve.screener.reading import (
    Readings,
    first_features,
    warn_unscored,
)
from driftsieve.selection.functions import Mask
from driftsieve.selection.rules import RULES, Choice, choice_of, selected
from driftsieve.snapshot import Floats


class BankSelector(SelectorMixin, BaseEstimator):
    """The part of FeatureScreener that reads ``bank_`` without changing it."""

    score_func: Any
    k: float | None
    n_bins: int
    missing: Missing
    new_features: Literal["error", "grow"]
    output: Literal["select", "mask"]
    bank_: AnyBank
    _declared: NDArray[Any] | None
    _readings: Readings

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
        """Number of features."""
        return cast("int", self.bank_.n_features)

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the features; AttributeError if the rows had no names."""
        if self.bank_.feature_names is None:
            raise AttributeError("feature_names_in_")
        return np.array(self.bank_.feature_names, dtype=object)

    @property
    def classes_(self) -> NDArray[Any]:
        """Labels seen so far, or those given to ``partial_fit``, sorted."""
        check_is_fitted(self)
        return self.bank_.classes if self._declared is None else self._declared

    @property
    def scores_(self) -> Floats:
        """Score of each feature."""
        check_is_fitted(self)
        self._check_parameters()
        scores: Floats = self._read("scores", self._all_scores)
        return scores

    @property
    def pvalues_(self) -> Floats | None:
        """P-value of each feature; None if the score has none."""
        check_is_fitted(self)
        self._check_parameters()
        function = self._score.pvalues
        return None if function is None else self._read("p", lambda: self._by_block(function))

    @property
    def memory_(self) -> Memory:
        """How long the screener remembers, learned with ``half_life="auto"`` or a list."""
        check_is_fitted(self)
        if not isinstance(self.bank_, LearnedBank):
            raise AttributeError(
                'memory_ is available only with half_life="auto" or a list of half-lives.'
            )
        return self.bank_.memory

    @property
    def ranking_(self) -> NDArray[np.int64]:
        """Rank of each feature, 1 for the best."""
        check_is_fitted(self)
        self._check_parameters()
        larger = self._score.larger_is_better
        ranks: NDArray[np.int64] = self._read("ranks", lambda: rank(self.scores_, larger))
        return ranks

    def to_frame(self, backend: Backend = "pandas") -> Any:
        """Return a data frame with one row per feature, the best first.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}
            The library of the data frame.

        Returns
        -------
        DataFrame
            With the columns rank, feature (the index), name, score, pvalue (if the score has
            p-values) and selected.

        See Also
        --------
        report : Writes a report with the ranking, distributions and scores over time.

        Examples
        --------
        >>> from driftsieve import FeatureScreener
        >>> X = [[0, 1], [1, 1], [3, 2], [4, 1]]
        >>> screener = FeatureScreener("fisher", k=1).fit(X, ["a", "a", "b", "b"])
        >>> screener.to_frame()[["rank", "name", "score", "selected"]]
           rank name  score  selected
        0     1   x0    9.0      True
        1     2   x1    0.5     False
        """
        ranks = self.ranking_
        order = np.argsort(ranks)
        names = self.bank_.feature_names
        columns = {
            "rank": ranks[order],
            "feature": order,
            "name": [name_of(f, names) for f in order.tolist()],
            "score": self.scores_[order],
        }
        if (pvalues := self.pvalues_) is not None:
            columns["pvalue"] = pvalues[order]
        columns["selected"] = self.get_support()[order]
        return frame_of(columns, backend, "to_frame")

    def report(
        self,
        path: str | PathLike[str],
        *,
        title: str = "Feature screening",
        history: ScoreHistory | None = None,
    ) -> None:
        """Write a report to a file.

        An HTML report is one page that opens in any browser, without a network.

        Parameters
        ----------
        path : path
            The file to write; ``.html``, ``.json`` or ``.txt``.
        title : str
            Title of the report.
        history : ScoreHistory, optional
            Scores over time, to be shown as well.

        Raises
        ------
        ValueError
            If the path has another suffix, or ``score_func`` is a function.

        See Also
        --------
        to_frame : The ranking as a data frame.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from driftsieve import FeatureScreener
        >>> screener = FeatureScreener(k=1).fit([[0.0, 1.0], [1.0, 1.0]], ["ham", "spam"])
        >>> with TemporaryDirectory() as folder:
        ...     screener.report(Path(folder) / "report.txt", title="Mail")
        ...     print((Path(folder) / "report.txt").read_text().splitlines()[0])
        Mail
        """
        check_is_fitted(self)
        self._check_parameters()
        if not isinstance(self.score_func, str):
            raise ValueError(
                "score_func must be a name for a report, got a function. Set it to one of "
                f"{', '.join(map(repr, SCORES))}."
            )
        check_kept(self.bank_, self.score_func)
        content = of_bank(
            self.bank_,
            history,
            score_func=self.score_func,
            n_bins=self.n_bins,
            k=int(self.get_support().sum()) or None,
            title=title,
            parameters={"half_life": self.bank_.half_life, "clock": self.bank_.clock},
        )
        write(path, content)

    def _get_support_mask(self) -> Mask:
        check_is_fitted(self)
        self._check_parameters()
        choice = choice_of(self, self._score)
        support: Mask = self._read("support", lambda: self._support(choice), choice)
        return support.copy()

    @property
    def _score(self) -> Score:
        return score_of(self.score_func)

    def _support(self, choice: Choice) -> Mask:
        n_features = self.n_features_in_
        if choice.rule == "k" and self.k is not None and choice.value > n_features:
            warnings.warn(
                f"k={choice.value} is greater than n_features={n_features}. "
                "All the features will be returned.",
                stacklevel=6,
            )
        if not can_score(self.bank_):
            n_kept = first_features(choice, n_features)
            if self.bank_.n_rows and not self._readings.has_warned:
                self._readings.has_warned = True
                warn_unscored(choice, n_kept, stacklevel=6)
            return np.arange(n_features) < n_kept
        by_scores = RULES[choice.rule].uses == "scores"
        scores, pvalues = (self.scores_, None) if by_scores else (None, self.pvalues_)
        return selected(choice, self._score, scores, pvalues)

    def _read(self, name: str, compute: Callable[[], Any], *more: Any) -> Any:
        """Return the cached value for these parameters, or compute it."""
        key = (self.score_func, self.n_bins, *more)
        readings = self._readings  # an update by another thread replaces them
        with readings.lock:
            found = readings.get(name)
            if found is None or found[0] != key:
                value = compute()
                value.flags.writeable = False  # the next reader gets the same array
                readings[name] = found = key, value
        return found[1]

    def _all_scores(self) -> Floats:
        check_kept(self.bank_, self.score_func)
        return read_scores(self.bank_, self.score_func, self.n_bins)

    def _by_block(self, function: ScoreFunction) -> Floats:
        check_kept(self.bank_, self.score_func)
        return read_bank(self.bank_, function, self.n_bins)

    def _check_parameters(self) -> None:
        check_choice("new_features", self.new_features, "error", "grow")
        check_choice("output", self.output, "select", "mask")
        check_bins(self.n_bins)
        choice_of(self, self._score)

    # --- transforming ---------------------------------------------------------------------------

    def transform(self, X: Any) -> Any:
        """Keep the selected columns, or set the others to zero (``output="mask"``).

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Batch
            Rows with the columns that were learned.

        Returns
        -------
        array, sparse matrix or data frame
            As scikit-learn's ``set_output`` says.

        See Also
        --------
        inverse_transform : The inverse, with zeros in the columns that were not selected.

        Examples
        --------
        >>> from driftsieve import FeatureScreener
        >>> screener = FeatureScreener(k=1).fit([[0.0, 1.0], [1.0, 1.0]], ["ham", "spam"])
        >>> screener.transform([[0.3, 7.0]])
        array([[0.3]])
        >>> screener.set_params(output="mask").transform([[0.3, 7.0]])
        array([[0.3, 0. ]])
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
        """Add zeros for the columns that were not selected.

        Parameters
        ----------
        X : array-like or sparse matrix
            Output of ``transform``.

        Returns
        -------
        array or sparse matrix of shape (n_rows, n_features_in_)

        See Also
        --------
        transform : The inverse.

        Examples
        --------
        >>> from driftsieve import FeatureScreener
        >>> screener = FeatureScreener(k=1).fit([[0.0, 1.0], [1.0, 1.0]], ["ham", "spam"])
        >>> screener.inverse_transform([[0.3]])
        array([[0.3, 0. ]])
        """
        check_readable(X)
        if self.output == "select":
            return super().inverse_transform(X)
        check_is_fitted(self)
        return validate_data(self, X, accept_sparse="csr", ensure_all_finite=False, reset=False)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[Any]:
        """Return the names of the columns of ``transform``.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the input columns, as in scikit-learn.

        Returns
        -------
        ndarray of str

        See Also
        --------
        transform : Returns these columns.

        Examples
        --------
        >>> from driftsieve import FeatureScreener
        >>> screener = FeatureScreener(k=1).fit([[0.0, 1.0], [1.0, 1.0]], ["ham", "spam"])
        >>> screener.get_feature_names_out()
        array(['x0'], dtype=object)
        """
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
        """Raise ValueError if a matrix has another width; scikit-learn checks data frames."""
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
        return validated(batch, self.missing).X

    def _with_known_columns(self, X: Any) -> Any:
        if self._may_grow(X):
            X = X.tocsr(copy=True)
            X.resize(X.shape[0], self.n_features_in_)  # a column never learned is never selected
        return X
