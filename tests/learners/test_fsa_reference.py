"""SparseFSA against the plain algorithm."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fsa_rows import LOSSES, linear
from scipy import sparse

from driftsieve.learners import SparseFSA
from driftsieve.learners.annealing import Schedule


def slope(loss: str, u: float) -> float:
    if loss == "logistic":
        return -1 / (1 + np.exp(u))
    return 2 * (u - 1) / (1 + (u - 1) ** 2) if u < 1 else 0.0


class Reference:
    """Heavy-ball momentum and shrinkage on every weight at every minibatch, as in a textbook."""

    def __init__(self, model: SparseFSA, p: int) -> None:
        self.model = model
        self.b = np.zeros(p)
        self.v = np.zeros(p)
        self.b0 = self.v0 = 0.0

    def run(self, X: Any, t: Any, s: Any, order: Any, batch_size: int, cooling: float) -> None:
        model, n = self.model, len(order)
        squares = s @ (X**2).sum(axis=1)
        gain = squares / (s @ np.count_nonzero(X, axis=1))
        curvature = {"logistic": 0.25, "lorenz": 2.0}[model.loss]
        step = cooling * model.learning_rate / curvature / (squares / s.sum() + gain)
        r, m = 1 / (1 + step * model.shrinkage), model.momentum
        n_batches = -(-n // batch_size)
        for i in range(n_batches):
            rows = order[i * n // n_batches : (i + 1) * n // n_batches]
            u = t[rows] * (X[rows] @ self.b + self.b0)
            pull = s[rows] * t[rows] * [slope(model.loss, margin) for margin in u] / len(rows)
            self.v = r * (m * self.v - (1 - m) * step * X[rows].T @ pull)
            self.b = r * self.b + self.v
            self.v0 = m * self.v0 - (1 - m) * step * gain * pull.sum()
            self.b0 += self.v0

    def arrived(self) -> tuple[Any, float]:
        """The weights once all velocity is spent: v + m v + m² v + ... from here on."""
        m = self.model.momentum
        return self.b + self.v * m / (1 - m), self.b0 + self.v0 * m / (1 - m)

    def keep(self, m: int) -> None:
        dropped = np.argsort(-np.abs(self.arrived()[0]), kind="stable")[m:]
        self.b[dropped] = self.v[dropped] = 0


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_fit_is_the_plain_algorithm(loss: Any, momentum: float) -> None:
    X, y, _ = linear(n=90, p=30)
    s = np.random.default_rng(1).uniform(0.5, 2, size=90)
    model = SparseFSA(
        4, loss=loss, n_epochs=12, mu=3, momentum=momentum, shrinkage=0.01, random_state=5
    ).fit(sparse.csr_array(X), y, sample_weight=s)

    plain, rng, t = Reference(model, 30), np.random.RandomState(5), np.where(y == 1, 1.0, -1.0)
    kept = np.arange(30)
    for epoch in range(1, 13):
        order = rng.permutation(90)
        masked = np.zeros_like(X)
        masked[:, kept] = X[:, kept]
        plain.run(masked, t, s / s.mean(), order, batch_size=32, cooling=min(1, (13 - epoch) / 6))
        plain.keep(Schedule(4, 12, mu=3).n_kept(epoch, 30))
        kept = np.flatnonzero(plain.b)
    coef, intercept = plain.arrived()
    np.testing.assert_allclose(model.coef_[0], coef, rtol=0, atol=1e-10)
    np.testing.assert_allclose(model.intercept_[0], intercept, rtol=0, atol=1e-10)
    assert np.count_nonzero(model.coef_) == 4


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_partial_fit_is_the_plain_algorithm(loss: Any, momentum: float) -> None:
    X, y, _ = linear(n=90, p=30)
    model = SparseFSA(5, loss=loss, momentum=momentum, shrinkage=0.01)
    plain, t = Reference(model, 30), np.where(y == 1, 1.0, -1.0)
    for _ in range(2):  # the rows twice, so that the running sizes are those of X
        model.partial_fit(sparse.csr_array(X), y, classes=[0, 1])
        plain.run(X, t, np.ones(90), np.arange(90), batch_size=1, cooling=1)
    coef, intercept = plain.arrived()
    coef[np.argsort(-np.abs(coef))[5:]] = 0
    np.testing.assert_allclose(model.coef_[0], coef, rtol=0, atol=1e-10)
    np.testing.assert_allclose(model.intercept_[0], intercept, rtol=0, atol=1e-10)
