"""Feature Selection with Annealing (Barbu, She, Ding and Gramajo, 2017)."""

from __future__ import annotations

import math
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import log_expit, log_softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from driftsieve._rows.labels import refuse_masked
from driftsieve.batch import Batch
from driftsieve.learners.annealing import (
    Descent,
    Loss,
    Schedule,
    anneal,
    view,
)
from driftsieve.learners.checks import check_params, unique_classes
from driftsieve.learners.stream import Past, Stream, mean_curvature
from driftsieve.snapshot import Floats


class SparseFSA(ClassifierMixin, BaseEstimator):
    """A linear classifier with at most k non-zero weights per class, for dense or sparse rows.

    ``fit`` makes `n_epochs` passes of minibatch gradient descent. After pass e it keeps the M_e
    weights that are largest in magnitude, and drops the others. So the selection is annealed from
    all features to k while the weights are learned. A dropped feature costs nothing afterwards.

    ``partial_fit`` makes one pass over the given rows, in their order. In a stream any feature may
    become relevant, so all features keep learning in the background. The model has the k largest
    weights of the moment; the weights of features that no longer occur count less and less in this
    choice. It makes online Newton steps with a diagonal curvature and exponential decay (recursive
    logistic regression without the products of features): a step is divided by the curvature that
    recent rows gave the feature. Steps of a fixed size would keep the weights in motion and make
    the probabilities too extreme. Rows are divided by the geometric mean of the norms of recent
    rows, which corrects for a change of the scale of all features. The result does not depend on
    how rows are split into batches, except through `batch_size` and `class_weight`. After ``fit``,
    ``partial_fit`` continues from its model, as if those rows had been the stream so far.

    With more than two classes, each is learned against the rest, with its own k features. Features
    are not scaled: their magnitudes should be comparable. There is an intercept, which does not
    count for k. Dense and sparse rows with the same values give bit-identical models.

    Parameters
    ----------
    k : int
        Number of non-zero weights per class (all features if there are fewer).
    loss : {"logistic", "lorenz"}
        Lorenz is log(1 + (u − 1)²) for margins u < 1, else 0, which is robust to gross outliers. It
        has no probabilities.
    n_epochs : int
        Number N of passes of ``fit``.
    mu : float
        Parameter μ of the annealing schedule. A larger value drops features earlier.
    learning_rate : float
        Step in units of 1 / L. L bounds the curvature of the mean loss; it is computed from the
        mean squared norm of the rows on the kept features. In the second half of ``fit`` the step
        falls to 0. In ``partial_fit`` it is the first step, and a factor of the Newton steps.
    shrinkage : float
        λ of the L2 penalty λ/2·|β|². In ``partial_fit`` λ is smaller for features that are often 0,
        about in proportion to how often they are not 0.
    momentum : float
        In [0, 1): the part of a step that is added to the next minibatch.
    batch_size : int, optional
        Rows per minibatch. Default: 32 in ``fit`` and 1 in ``partial_fit``.
    class_weight : dict or "balanced", optional
        Factors of the weights of rows by class, 1 for classes that are not in the dict.
        ``"balanced"`` gives all classes the same total weight. In ``partial_fit`` the totals are
        those of the rows so far, including the batch.
    half_life : float, optional
        Half-life of ``partial_fit`` in rows. After so many more rows, a row counts half in the
        curvature and in the mean norm, and a feature that was 0 since then counts half in the
        choice of k. A longer half-life makes smaller steps: probabilities are better while nothing
        changes, and changes are followed more slowly. None means no decay.
    random_state : int, RandomState instance or None
        Seed of the order of rows in ``fit``.

    Attributes
    ----------
    coef_ : array of shape (1 or n_classes, n_features)
        Weights.
    intercept_ : ndarray of shape (1 or n_classes,)
        Intercepts.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    support_ : ndarray of shape (n_features,) of bool
        True for features with a weight in any class.

    See Also
    --------
    driftsieve.FeatureScreener : Selects features by a score of each feature alone.

    References
    ----------
    Barbu, She, Ding and Gramajo (2017), Feature Selection with Annealing for Computer Vision and
    Big Data Learning.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 100))
    >>> model = SparseFSA(k=2, random_state=0).fit(X, X[:, 7] > X[:, 42])
    >>> np.flatnonzero(model.support_)
    array([ 7, 42])
    """

    classes_: NDArray[Any]
    coef_: Any  # dense, or CSR after `sparsify`
    intercept_: Floats
    _past: Past | None
    _stream: Stream | None

    def __init__(
        self,
        k: int = 10,
        *,
        loss: Loss = "logistic",
        n_epochs: int = 100,
        mu: float = 30.0,
        learning_rate: float = 1.0,
        shrinkage: float = 1e-4,
        momentum: float = 0.0,
        batch_size: int | None = None,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        half_life: float | None = 500.0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.k = k
        self.loss = loss
        self.n_epochs = n_epochs
        self.mu = mu
        self.learning_rate = learning_rate
        self.shrinkage = shrinkage
        self.momentum = momentum
        self.batch_size = batch_size
        self.class_weight = class_weight
        self.half_life = half_life
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit a new model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows.
        y : array-like of shape (n_rows,)
            Class labels.
        sample_weight : array-like of shape (n_rows,), optional
            Weights of the rows. They count relative to their mean.

        Returns
        -------
        SparseFSA
            The fitted estimator.

        Raises
        ------
        ValueError
            If there are fewer than two classes, or if parameters or rows are not valid.

        See Also
        --------
        partial_fit : Learn from a stream.

        Examples
        --------
        >>> X = np.random.default_rng(0).normal(size=(500, 100))
        >>> model = SparseFSA(k=2, random_state=0).fit(X, X[:, 7] > X[:, 42])
        >>> np.flatnonzero(model.support_)
        array([ 7, 42])
        """
        check_params(self)
        X, y = self._check(X, y, reset=True)
        classes, codes = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                f"The number of classes has to be greater than one; got {len(classes)} class"
            )
        batch = Batch.of(X, codes, sample_weight=sample_weight)
        weight = _row_weight(batch)
        totals = np.bincount(codes, weights=weight).astype(np.float64)
        weight *= self._class_factors(classes, totals)[codes]
        if not weight.any():
            raise ValueError("sample_weight must contain at least one non-zero number, got none.")
        mean_weight = float(weight.mean())
        weight /= mean_weight
        schedule = Schedule(self.k, self.n_epochs, self.mu)
        descent = self._descent(batch_size=32)
        rng = check_random_state(self.random_state)
        sizes = view(batch.X).sizes(weight)
        learned = [
            anneal(batch.X, sizes, target, weight, descent, schedule, rng)
            for target in _targets(codes, len(classes))
        ]
        self._past = Past(
            view(batch.X).row_sums(np.flatnonzero(weight), mean_weight * weight, self._fading()),
            totals,
            sizes[:, 0] / batch.n_rows,
            [mean_curvature(self.loss, margins, weight) for _, margins in learned],
        )
        self._stream = None
        self.classes_ = classes
        self._set_model([weights for weights, _ in learned])
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Continue learning with a batch of rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows.
        y : array-like of shape (n_rows,)
            Class labels.
        classes : array-like, optional
            All class labels. Required in the first call, unless after ``fit``.
        sample_weight : array-like of shape (n_rows,), optional
            Weights of the rows. They count relative to the mean of recent rows. A row of weight 0
            has no effect.

        Returns
        -------
        SparseFSA
            The fitted estimator.

        Raises
        ------
        ValueError
            If a label is not one of the classes, or if parameters or rows are not valid.

        See Also
        --------
        fit : Fit a new model.

        Examples
        --------
        >>> X = np.random.default_rng(0).normal(size=(500, 100))
        >>> model = SparseFSA(k=2).partial_fit(X, X[:, 7] > X[:, 42], classes=[False, True])
        >>> np.flatnonzero(model.support_)
        array([ 7, 42])
        """
        check_params(self)
        known = self._classes(classes)
        X, y = self._check(X, y, reset=not hasattr(self, "classes_"))
        if unknown := sorted(set(np.unique(y).tolist()) - set(known.tolist())):
            raise ValueError(
                f"The labels of y must be among the initial classes {known.tolist()}, got "
                f"{unknown}."
            )
        codes = np.searchsorted(known, y)
        batch = Batch.of(X, codes, sample_weight=sample_weight)
        stream = self._stream_so_far(len(known))
        weight = _row_weight(batch)
        totals = stream.class_totals + np.bincount(codes, weights=weight, minlength=len(known))
        weight *= self._class_factors(known, totals)[codes]
        targets = _targets(codes, len(known))
        descent = self._descent(batch_size=1)
        self._stream = stream.follow(
            view(batch.X), targets, weight, totals, descent, self._fading()
        )
        self.classes_ = known
        self._set_model(self._stream.model(self.k))
        return self

    def decision_function(self, X: Any) -> Floats:
        """Compute the margin of each class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_rows, n_classes), or (n_rows,) for two classes
            With two classes, the margin of the second.

        See Also
        --------
        predict : The class with the largest margin.

        Examples
        --------
        >>> X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
        >>> model = SparseFSA(k=1, random_state=0).fit(X, ["ham", "ham", "spam", "spam"])
        >>> model.decision_function(X) > 0
        array([False, False,  True,  True])
        """
        check_is_fitted(self)
        refuse_masked(X, "X")
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        scores: Floats = safe_sparse_dot(X, self.coef_.T, dense_output=True) + self.intercept_
        return scores.ravel() if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class with the largest margin.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_rows,)
            Class labels.

        See Also
        --------
        predict_proba : The probabilities of the classes.

        Examples
        --------
        >>> X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
        >>> model = SparseFSA(k=1, random_state=0).fit(X, ["ham", "ham", "spam", "spam"])
        >>> model.predict([[-3.0], [3.0]]).tolist()
        ['ham', 'spam']
        """
        scores = self.decision_function(X)
        best = scores > 0 if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[best.astype(np.intp)]

    def _has_probabilities(self) -> bool:
        if self.loss == "logistic":
            return True
        raise AttributeError(f"probability estimates are not available for loss={self.loss!r}")

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """Predict the probabilities of the classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            With more than two classes, the probabilities of each against the rest, scaled to a sum
            of 1.

        Raises
        ------
        AttributeError
            With ``loss="lorenz"``.

        See Also
        --------
        predict_log_proba : Their logarithms.

        Examples
        --------
        >>> X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
        >>> model = SparseFSA(k=1, random_state=0).fit(X, ["ham", "ham", "spam", "spam"])
        >>> model.predict_proba([[3.0]]).argmax(axis=1)
        array([1])
        """
        probabilities: Floats = np.exp(self.predict_log_proba(X))
        return probabilities

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Floats:
        """Predict the logarithms of the probabilities of the classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)

        See Also
        --------
        predict_proba : The probabilities.

        Examples
        --------
        >>> X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
        >>> model = SparseFSA(k=1, random_state=0).fit(X, ["ham", "ham", "spam", "spam"])
        >>> np.exp(model.predict_log_proba([[3.0], [-1.0]])).sum(axis=1)
        array([1., 1.])
        """
        scores = self.decision_function(X)
        by_class = np.column_stack([-scores, scores]) if scores.ndim == 1 else scores
        logarithms: Floats = log_softmax(log_expit(by_class), axis=1)
        return logarithms

    @property
    def support_(self) -> NDArray[np.bool_]:
        """Mask of the features with a weight in any class."""
        check_is_fitted(self)
        return np.asarray((self.coef_ != 0).sum(axis=0)).ravel() > 0

    def sparsify(self) -> Self:
        """Convert `coef_` to a CSR array, which stores k weights per class only.

        Returns
        -------
        SparseFSA
            The fitted estimator.

        Examples
        --------
        >>> X = np.random.default_rng(0).normal(size=(500, 100))
        >>> model = SparseFSA(k=2, random_state=0).fit(X, X[:, 7] > X[:, 42])
        >>> model.sparsify().coef_.nnz
        2
        """
        check_is_fitted(self)
        self.coef_ = sparse.csr_array(self.coef_)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _descent(self, batch_size: int) -> Descent:
        if self.batch_size is not None:
            batch_size = min(self.batch_size, 2**62)  # the core counts in int64
        return Descent(self.loss, self.learning_rate, self.shrinkage, self.momentum, batch_size)

    def _fading(self) -> float:
        return math.inf if self.half_life is None else float(self.half_life)

    def _stream_so_far(self, n_classes: int) -> Stream:
        """Return the current stream, or a new one that starts from the current model."""
        stream: Stream | None = getattr(self, "_stream", None)
        if stream is None:
            model = np.zeros((1 if n_classes == 2 else n_classes, self.n_features_in_ + 1))
            if hasattr(self, "coef_"):
                model[:, :-1] = self.coef_.toarray() if sparse.issparse(self.coef_) else self.coef_
                model[:, -1] = self.intercept_
            stream = Stream.start(model, n_classes, getattr(self, "_past", None))
        return stream

    def _set_model(self, weights: list[Floats]) -> None:
        stacked = np.stack(weights)
        self.coef_ = stacked[:, :-1]
        self.intercept_ = stacked[:, -1]

    def _class_factors(self, classes: NDArray[Any], totals: NDArray[Any]) -> Floats:
        factors: Floats
        if self.class_weight == "balanced":
            present = totals > 0
            even = totals.sum() / max(1, np.count_nonzero(present))
            factors = np.divide(even, totals, out=np.zeros_like(totals), where=present)
        else:
            names, given = classes.tolist(), self.class_weight or {}
            if unknown := [c for c in given if c not in names]:
                raise ValueError(
                    f"The keys of class_weight must be among the classes {names}, got {unknown}. "
                    "Remove the others."
                )
            factors = np.array([given.get(c, 1.0) for c in names], dtype=np.float64)
        return factors

    def _classes(self, classes: ArrayLike | None) -> NDArray[Any]:
        known: NDArray[Any] | None = getattr(self, "classes_", None)
        named = None if classes is None else unique_classes(classes)
        if known is None:
            if named is None:
                raise ValueError("classes must be passed on the first call to partial_fit.")
            if len(named) < 2:
                raise ValueError(
                    f"The number of classes has to be greater than one; got {len(named)} class"
                )
            return named
        if named is not None and not np.array_equal(known, named):
            raise ValueError(
                f"`classes={classes!r}` is not the same as on last call to partial_fit, "
                f"was: {known!r}"
            )
        return known

    def _check(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, NDArray[Any]]:
        refuse_masked(X, "X")
        refuse_masked(y, "y")
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], reset=reset
        )
        check_classification_targets(y)
        return X, y


def _targets(codes: NDArray[np.intp], n_classes: int) -> list[Floats]:
    """Return -1 or 1 by row for each class against the rest; with two classes, for the second."""
    return [np.where(codes == c, 1.0, -1.0) for c in (range(n_classes) if n_classes > 2 else [1])]


def _row_weight(batch: Batch) -> Floats:
    """Return a writable copy of the weights."""
    given = batch.sample_weight
    return np.ones(batch.n_rows) if given is None else given.copy()
