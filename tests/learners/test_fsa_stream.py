"""SparseFSA.partial_fit in streams: calibration, changes of scale, weights and batches."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from fsa_rows import LOSSES, linear
from scipy import sparse
from scipy.special import expit
from sklearn.metrics import log_loss

from driftsieve.learners import SparseFSA

Draw = Callable[[int], tuple[Any, Any, Any]]


def logistic(weights: Any, *, density: float = 1.0, seed: int = 0) -> Draw:
    """Rows, their probabilities of class 1, and classes drawn from those."""
    rng = np.random.default_rng(seed)

    def draw(n: int) -> tuple[Any, Any, Any]:
        X = rng.normal(size=(n, len(weights))) * (rng.random((n, len(weights))) < density)
        p = expit(X @ weights)
        return X, p, (rng.random(n) < p).astype(int)

    return draw


def excess(model: SparseFSA, X: Any, p: Any) -> float:
    """The mean log loss beyond that of the true probabilities."""

    def loss(q: Any) -> Any:
        return -np.mean(p * np.log(q) + (1 - p) * np.log1p(-q))

    return float(loss(np.clip(model.predict_proba(X)[:, 1], 1e-15, 1 - 1e-15)) - loss(p))


def stream(model: SparseFSA, X: Any, y: Any, size: int = 100) -> SparseFSA:
    for i in range(0, len(y), size):
        model.partial_fit(X[i : i + size], y[i : i + size], classes=np.unique(y))
    return model


def true_weights(p: int, *first: float) -> Any:
    return np.append(first, np.zeros(p - len(first)))


# Measured over four seeds: 0.0004 to 0.009, half of that with half_life=1000; `fit` has 0 to
# 0.001, steps of a fixed size 0.13 to 0.24.
@pytest.mark.parametrize(
    ("weights", "k", "density", "bound"),
    [
        (true_weights(2, 2, -1), 2, 1.0, 0.005),
        (true_weights(20, 2, -1, 1, 0.5), 20, 1.0, 0.015),
        (true_weights(20, 2, -1, 1, 0.5), 4, 1.0, 0.005),
        (true_weights(200, *[2, -2] * 10), 20, 0.05, 0.01),
    ],
)
def test_probabilities_are_calibrated(weights: Any, k: int, density: float, bound: float) -> None:
    draw = logistic(weights, density=density)
    X, _, y = draw(8000)
    model = stream(SparseFSA(k), sparse.csr_array(X) if density < 1 else X, y)
    X, p, _ = draw(5000)
    assert excess(model, X, p) < bound
    assert 0.85 < model.coef_[0] @ weights / (weights @ weights) < 1.15


def test_probabilities_of_several_classes_are_about_those_of_fit() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12_000, 10))
    scores = X[:, :6] @ rng.normal(size=(6, 4)) + rng.gumbel(size=(12_000, 4))
    y = scores.argmax(axis=1)
    whole = SparseFSA(10, n_epochs=30, random_state=0).fit(X[:8000], y[:8000])
    parts = stream(SparseFSA(10), X[:8000], y[:8000])
    fitted, streamed = (log_loss(y[8000:], m.predict_proba(X[8000:])) for m in (whole, parts))
    assert streamed < fitted + 0.03  # 0.4 with steps of a fixed size


def test_probabilities_with_noisy_labels_are_not_extreme() -> None:
    X, _, y = logistic(true_weights(20, 2, -1))(8000)
    noise = np.random.default_rng(1).random(8000) < 0.4
    y = np.where(noise, 1 - y, y)
    share = stream(SparseFSA(20), X, y).predict_proba(X[-2000:]).max(axis=1)
    assert np.mean(share) < 0.65
    assert share.max() < 0.9


@pytest.mark.parametrize("factor", [0.01, 100])
def test_recovers_when_the_scale_of_the_features_changes(factor: float) -> None:
    draw = logistic(true_weights(20, 6, -4, 3, 2))
    X, _, y = draw(5000)
    model = stream(SparseFSA(20, shrinkage=0), X, y)
    before = model.score(X, y)
    X, p, y = draw(5000)
    stream(model, factor * X, y)
    X, p, y = draw(5000)
    assert model.score(factor * X, y) > before - 0.02
    assert excess(model, factor * X, p) < 0.03


@pytest.mark.parametrize(("half_life", "gap"), [(500, 0.06), (1000, 0.04)])
def test_recovers_from_a_fall_of_the_scale_as_far_as_the_penalty_allows(
    half_life: float, gap: float
) -> None:
    rng = np.random.default_rng(0)
    weights = 3 * rng.normal(size=10)

    def rows(n: int, scale: float) -> tuple[Any, Any]:
        X = scale * rng.normal(size=(n, 20))
        return X, X[:, :10] @ weights > 0

    model = stream(SparseFSA(10, half_life=half_life), *rows(5000, 1))
    stream(model, *rows(10_000, 0.01))
    X, y = rows(2000, 0.01)
    fitted = SparseFSA(10, random_state=0).fit(*rows(5000, 0.01))
    assert model.score(X, y) > fitted.score(X, y) - gap  # 0.3 with steps of the old size


@pytest.mark.parametrize("loss", LOSSES)
def test_scale_of_the_rows_does_not_matter(loss: Any) -> None:
    X, y, _ = linear()
    plain = stream(SparseFSA(10, loss=loss, shrinkage=0), X, y)
    scaled = stream(SparseFSA(10, loss=loss, shrinkage=0), 1024 * X, y)
    np.testing.assert_allclose(scaled.coef_ * 1024, plain.coef_, rtol=1e-9)
    np.testing.assert_allclose(scaled.intercept_, plain.intercept_, rtol=1e-9)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("half_life", [1.5, 1000, None])
def test_split_into_batches_makes_no_difference(momentum: float, half_life: Any) -> None:
    X, y, _ = linear(n=300)
    y = y + (X[:, 0] > 0.5)
    s = np.random.default_rng(0).uniform(0, 2, 300)
    whole, parts = (SparseFSA(200, momentum=momentum, half_life=half_life) for _ in range(2))
    whole.partial_fit(X, y, [0, 1, 2], s)
    for i in np.array_split(np.arange(300), [1, 2, 50, 51, 210]):
        parts.partial_fit(sparse.csr_array(X[i]), y[i], [0, 1, 2], s[i])
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(parts.intercept_, whole.intercept_, rtol=1e-8)


def test_factor_on_all_weights_changes_nothing() -> None:
    X, y, _ = linear()
    s = np.random.default_rng(0).uniform(0.5, 2, size=len(y))
    one, other = SparseFSA(10), SparseFSA(10)
    for i in np.array_split(np.arange(len(y)), 4):
        one.partial_fit(X[i], y[i], [0, 1], s[i])
        other.partial_fit(X[i], y[i], [0, 1], 1e100 * s[i])
    np.testing.assert_allclose(other.coef_, one.coef_, rtol=1e-9)


def test_row_of_weight_0_has_no_effect() -> None:
    X, y, _ = linear()
    half = np.arange(len(y)) % 2 == 1
    weighted = SparseFSA(10).partial_fit(X, y, [0, 1], half)
    without = SparseFSA(10).partial_fit(X[half], y[half], [0, 1])
    np.testing.assert_array_equal(weighted.coef_, without.coef_)
    before = pickle.dumps(weighted.coef_)
    weighted.partial_fit(X, y, sample_weight=np.zeros(len(y)))
    assert pickle.dumps(weighted.coef_) == before


@pytest.mark.parametrize("weight", [1.0, 1e6])
def test_partial_fit_after_fit_keeps_the_accuracy(weight: float) -> None:
    draw = logistic(true_weights(50, 2, -1, 1, 0.5))
    X, _, y = draw(4000)
    model = SparseFSA(50, n_epochs=30, half_life=1000, random_state=0)
    model.fit(X, y, np.full(4000, weight))
    X, p, _ = draw(5000)
    before = excess(model, X, p)
    for _ in range(3):
        rows, _, y = draw(100)
        model.partial_fit(rows, y, sample_weight=np.full(100, weight))
    assert abs(excess(model, X, p) - before) < 0.003  # 0.1 with steps of a fixed size


@pytest.mark.parametrize(("row", "factor"), [(3900, 1e6), (0, 1e6), (0, 1e-6), (1, 1e100)])
def test_one_row_of_another_scale_does_little_harm(row: int, factor: float) -> None:
    draw = logistic(true_weights(20, 2, -1, 1, 0.5))
    X, _, y = draw(4000)
    X[row] *= factor
    model = stream(SparseFSA(20), X, y)
    X, p, _ = draw(5000)
    assert excess(model, X, p) < 0.02


def test_short_half_life_follows_a_drift_sooner() -> None:
    errors = []
    for half_life in (100, None):
        model = SparseFSA(20, half_life=half_life)
        for sign, n in ((1, 5000), (-1, 500)):
            X, p, y = logistic(true_weights(20, 3 * sign))(n)
            model = stream(model, X, y)
        errors.append(float(np.mean(model.predict(X) != (p > 0.5))))
    assert errors[0] < 0.15 < 0.5 < errors[1]


def test_features_that_no_longer_occur_are_replaced() -> None:
    rng = np.random.default_rng(0)
    model = SparseFSA(2)
    for first in (0, 2, 4):
        X = np.zeros((2000, 6))
        X[:, [first, first + 1]] = rng.normal(size=(2000, 2))
        stream(model, sparse.csr_array(X), X[:, first] > X[:, first + 1])
        assert np.flatnonzero(model.support_).tolist() == [first, first + 1]


def test_rare_features_are_kept() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 10))
    X[:, 0] *= 3 * (np.arange(3000) % 50 == 0)
    y = np.where(X[:, 0] != 0, X[:, 0] > 0, X[:, 1] + rng.normal(size=3000) > 0)
    model = stream(SparseFSA(2), X, y)
    assert np.flatnonzero(model.support_).tolist() == [0, 1]


def test_empty_rows_teach_the_intercept_alone() -> None:
    y = np.arange(500) % 4 == 0
    model = stream(SparseFSA(), sparse.csr_array((500, 3)), y)
    assert not model.coef_.any()
    assert model.predict_proba(np.zeros((1, 3)))[0, 1] == pytest.approx(0.25, abs=0.01)
    X, y, _ = linear(p=3, k=1)
    assert stream(model, X, y == 1).score(X, y == 1) > 0.65


@pytest.mark.parametrize("scale", [1e-310, 1e-158, 1e-100, 1e100, 1e150])
def test_extreme_scales_stay_finite(scale: float) -> None:
    X, y, _ = linear()
    for shrinkage in (0, 1e-4):
        model = stream(SparseFSA(10, shrinkage=shrinkage), scale * X, y)
        stream(model, X, y)
        assert np.isfinite(model.coef_).all()
        assert np.isfinite(model.intercept_).all()


def test_one_class_for_long_and_then_another() -> None:
    X, y, _ = linear(n=2000, p=20, k=3)
    model = SparseFSA(3)
    for _ in range(5):
        model.partial_fit(X, np.zeros(2000, int), classes=[0, 1])
    assert model.score(X, np.zeros(2000, int)) == 1
    assert stream(model, X, y).score(X, y) > 0.85


def test_balanced_weights_continue_from_fit() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2000, 3)), np.arange(2000) % 20 == 0
    model = SparseFSA(3, class_weight="balanced", random_state=0).fit(X, y)
    before = model.intercept_.copy()
    model.partial_fit(X[:1], y[:1])  # of the rare class
    assert np.abs(model.intercept_ - before).max() < 0.1


def test_huge_batch_size_is_one_minibatch() -> None:
    X, y, _ = linear()
    models = [SparseFSA(10, batch_size=b, n_epochs=2, random_state=0) for b in (600, 2**70)]
    for method, named in (("fit", {}), ("partial_fit", {"classes": [0, 1]})):
        one, other = (getattr(m, method)(X, y, **named).coef_ for m in models)
        np.testing.assert_array_equal(one, other)
