"""Feature Selection with Annealing (Barbu, She, Ding and Gramajo, 2017)."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import log_expit, log_softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state, check_scalar, compute_class_weight
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from driftsieve.batch import Batch
from driftsieve.labels import refuse_masked
from driftsieve.learners.annealing import (
    CURVATURE,
    Descent,
    Loss,
    Schedule,
    anneal,
    largest,
    total,
    view,
)
from driftsieve.snapshot import Floats


@dataclass(slots=True)
class _Stream:
    """What partial_fit carries on: the weights of all features, and what the rows were like."""

    weights: list[Floats]  # by problem, see `Descent.start`
    class_totals: Floats  # sample weight by class
    sums: Floats = field(default_factory=lambda: np.zeros(3))  # see `total`


class SparseFSA(ClassifierMixin, BaseEstimator):
    """A linear classifier with at most k non-zero weights per class, for dense or sparse rows.

    ``fit`` makes `n_epochs` passes of minibatch gradient descent. After pass e it drops all but the
    M_e largest weights in magnitude (see `n_kept`), so that the selection is annealed from all
    features to k while the weights are learnt; a dropped feature costs nothing from then on.

    ``partial_fit`` makes one pass over the rows it is given, in their order. In a stream any
    feature may come to matter, so all go on learning in the background, and the model is made of
    the k largest weights of the moment. It may follow ``fit``.

    More than two classes are learnt one against the rest, each with its own k features. Features
    are not scaled: their magnitudes should be comparable. There is an intercept, which does not
    count. Dense and sparse rows of the same values give the same model, to the bit.

    Parameters
    ----------
    k
        Non-zero weights per class (all features where there are fewer).
    loss
        ``"logistic"``, or ``"lorenz"``: log(1 + (u − 1)²) for margins u < 1, else 0, which forgives
        gross outliers. Lorenz has no probabilities.
    n_epochs, mu
        The annealing schedule N and μ: a larger `mu` drops features sooner.
    learning_rate
        The step in units of 1 / L, where L, from the mean squared norm of the rows on the features
        kept, bounds the curvature of the mean loss. In the second half of ``fit`` it falls to 0.
    shrinkage
        λ of the L2 penalty λ/2·|β|².
    momentum
        In [0, 1): the part of a step that is left to later minibatches.
    batch_size
        Rows per minibatch. By default 32 in ``fit``, which comes back to every row, and 1 in
        ``partial_fit``, which does not.
    class_weight
        As in scikit-learn. ``"balanced"`` gives all classes the same total weight; in
        ``partial_fit`` going by the rows seen so far.
    random_state
        Seed of the order of rows in ``fit``.

    Attributes
    ----------
    coef_ : (1 or n_classes, n_features) array
    intercept_ : (1 or n_classes,) array
    classes_ : (n_classes,) array
    support_ : (n_features,) mask of the features with a weight in any class

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 100))
    >>> model = SparseFSA(k=2, random_state=0).fit(X, X[:, 7] > X[:, 42])
    >>> np.flatnonzero(model.support_)
    array([ 7, 42])
    """

    classes_: NDArray[Any]
    coef_: Any  # dense, or CSR after `sparsify`
    intercept_: Floats
    _stream: _Stream | None

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
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from scratch. Weights count relative to their mean."""
        self._check_params()
        X, y = self._check(X, y, reset=True)
        classes, codes = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                f"The number of classes has to be greater than one; got {len(classes)} class"
            )
        batch = Batch.of(X, codes, sample_weight=sample_weight)
        weight = _row_weight(batch)
        weight *= self._class_factors(classes, np.bincount(codes, weights=weight))[codes]
        if not weight.any():
            raise ValueError("Sample weights must contain at least one non-zero number.")
        weight /= weight.mean()
        schedule = Schedule(self.k, self.n_epochs, self.mu)
        descent = self._descent(batch_size=32)
        rng = check_random_state(self.random_state)
        weights = [
            anneal(batch.X, target, weight, descent, schedule, rng)
            for target in _targets(codes, len(classes))
        ]
        self._stream = None
        self.classes_ = classes
        self._set_model(weights)
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Go on learning. The first call, unless after ``fit``, must name all the classes."""
        self._check_params()
        known = self._classes(classes)
        X, y = self._check(X, y, reset=not hasattr(self, "classes_"))
        if unknown := sorted(set(np.unique(y).tolist()) - set(known.tolist())):
            raise ValueError(
                f"The target label(s) {unknown} in y do not exist in the initial classes {known}"
            )
        codes = np.searchsorted(known, y)
        batch = Batch.of(X, codes, sample_weight=sample_weight)
        descent = self._descent(batch_size=1)
        stream = self._stream_so_far(len(known), descent)
        weight = _row_weight(batch)
        totals = stream.class_totals + np.bincount(codes, weights=weight, minlength=len(known))
        weight *= self._class_factors(known, totals)[codes]
        rows = view(batch.X)
        sums = stream.sums + total(weight, rows.sizes(weight))
        # Nothing can fail from here on.
        order = np.arange(batch.n_rows)
        for weights, target in zip(stream.weights, _targets(codes, len(known)), strict=True):
            descent.epoch(rows, order, target, weight, weights, sums)
        stream.class_totals, stream.sums = totals, sums
        self._stream, self.classes_ = stream, known
        self._set_model([self._top_k(weights[:, 0]) for weights in stream.weights])
        return self

    def decision_function(self, X: Any) -> Floats:
        """The margin of each class, (n, n_classes); of the second class, (n,), if there are two."""
        check_is_fitted(self)
        refuse_masked(X, "X")
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        scores: Floats = safe_sparse_dot(X, self.coef_.T, dense_output=True) + self.intercept_
        return scores.ravel() if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the largest margin."""
        scores = self.decision_function(X)
        best = scores > 0 if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[best.astype(np.intp)]

    def _has_probabilities(self) -> bool:
        if self.loss == "logistic":
            return True
        raise AttributeError(f"probability estimates are not available for loss={self.loss!r}")

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of the classes; of more than two, those of one against the rest, scaled."""
        probabilities: Floats = np.exp(self.predict_log_proba(X))
        return probabilities

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Floats:
        """Logarithms of the probabilities of the classes."""
        scores = self.decision_function(X)
        by_class = np.column_stack([-scores, scores]) if scores.ndim == 1 else scores
        logarithms: Floats = log_softmax(log_expit(by_class), axis=1)
        return logarithms

    @property
    def support_(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return np.asarray((self.coef_ != 0).sum(axis=0)).ravel() > 0

    def sparsify(self) -> Self:
        """Keep `coef_` as a CSR array, which takes memory for k weights per class alone."""
        check_is_fitted(self)
        self.coef_ = sparse.csr_array(self.coef_)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _descent(self, batch_size: int) -> Descent:
        batch_size = batch_size if self.batch_size is None else self.batch_size
        return Descent(self.loss, self.learning_rate, self.shrinkage, self.momentum, batch_size)

    def _stream_so_far(self, n_classes: int, descent: Descent) -> _Stream:
        """The stream we are in; a new one, from the model there is, after ``fit`` or at first."""
        stream: _Stream | None = getattr(self, "_stream", None)
        if stream is None:
            n_problems = 1 if n_classes == 2 else n_classes
            model = np.zeros((n_problems, self.n_features_in_ + 1))
            if hasattr(self, "coef_"):
                model[:, :-1] = self.coef_.toarray() if sparse.issparse(self.coef_) else self.coef_
                model[:, -1] = self.intercept_
            stream = _Stream([descent.start(weights) for weights in model], np.zeros(n_classes))
        elif bool(self.momentum) != (stream.weights[0].shape[1] == 2):  # changed between calls
            stream.weights = [descent.start(weights[:, 0]) for weights in stream.weights]
        return stream

    def _top_k(self, weights: Floats) -> Floats:
        k = min(self.k, len(weights) - 1)
        keep = np.append(largest(np.abs(weights[:-1]), k), -1)
        result = np.zeros_like(weights)
        result[keep] = weights[keep]
        return result

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
            factors = compute_class_weight(self.class_weight, classes=classes, y=classes)
        return factors

    def _classes(self, classes: ArrayLike | None) -> NDArray[Any]:
        known: NDArray[Any] | None = getattr(self, "classes_", None)
        named = None if classes is None else np.unique(classes)
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

    def _check_params(self) -> None:
        if self.loss not in CURVATURE:
            raise ValueError(f"loss must be one of {list(CURVATURE)}, got {self.loss!r}.")
        if self.class_weight not in (None, "balanced") and not isinstance(self.class_weight, dict):
            raise ValueError(
                f"class_weight must be a dict, 'balanced' or None, got {self.class_weight!r}."
            )
        for name in ("k", "n_epochs", "batch_size"):
            if (name, self.batch_size) != ("batch_size", None):
                check_scalar(getattr(self, name), name, Integral, min_val=1)
        for name, bounds in (
            ("mu", {"min_val": 0}),
            ("learning_rate", {"min_val": 0, "include_boundaries": "neither"}),
            ("shrinkage", {"min_val": 0}),
            ("momentum", {"min_val": 0, "max_val": 1, "include_boundaries": "left"}),
        ):
            value = check_scalar(getattr(self, name), name, Real, **bounds)
            if not np.isfinite(value):
                raise ValueError(f"{name} must be finite, got {value}.")


def _targets(codes: NDArray[np.intp], n_classes: int) -> list[Floats]:
    """-1 or 1 by row, for each class against the rest; for the second one if there are two."""
    return [np.where(codes == c, 1.0, -1.0) for c in (range(n_classes) if n_classes > 2 else [1])]


def _row_weight(batch: Batch) -> Floats:
    """A copy, to be changed."""
    given = batch.sample_weight
    return np.ones(batch.n_rows) if given is None else given.copy()
