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


def bend(loss: str, u: float) -> float:
    """The curvature of the loss, or of the parabola that touches it from above (Lorenz)."""
    if loss == "logistic":
        return 1 / (2 + np.exp(u) + np.exp(-u))
    return 2 / (1 + (u - 1) ** 2) if u < 1 else 0.0


class StreamReference:
    """Newton steps with a diagonal curvature: all rows so far are kept, and faded by their age."""

    def __init__(self, model: SparseFSA, p: int) -> None:
        self.model = model
        self.b = np.zeros(p + 1)  # of rows divided by their typical norm; the last is the intercept
        self.v = np.zeros(p + 1)
        self.rows: list[Any] = []  # x, weight
        self.ages = np.zeros(0)  # of the rows; those of a minibatch have the same
        self.bends: list[Any] = []  # what each row added to the curvatures

    def run(self, X: Any, t: Any, s: Any, batch_size: int) -> None:
        n, n_batches = len(X), -(-len(X) // batch_size)
        for i in range(n_batches):
            part = slice(i * n // n_batches, (i + 1) * n // n_batches)
            self.step(X[part], t[part], s[part])

    def step(self, X: Any, t: Any, s: Any) -> None:
        model, n = self.model, len(X)
        self.rows += zip(X, s, strict=True)
        self.ages = np.r_[self.ages + n, np.zeros(n)]
        fade = np.exp2(-self.ages / (model.half_life or np.inf))
        x, weight = (np.array(column) for column in zip(*self.rows, strict=True))
        norms = (x**2).sum(axis=1)
        filled = norms > 0
        self.unit = np.exp(np.average(np.log(norms[filled]), weights=(fade * weight)[filled]) / 2)
        gain = (fade * weight).sum() / (fade * weight @ np.count_nonzero(x, axis=1))
        s = s / np.average(weight, weights=fade)
        Z = np.column_stack([X / self.unit, np.full(n, np.sqrt(gain))])
        largest = {"logistic": 0.25, "lorenz": 2.0}[model.loss]
        norms = (Z[:, :-1] ** 2).sum(axis=1)
        size = gain + max(1, np.average(np.minimum(norms, 100), weights=s))
        total = s.sum()
        least = max(n, total) * largest * size
        s = s / np.maximum(1, norms / 100)
        # The intercept moves like the weight of a feature of value sqrt(gain).
        ones = np.column_stack([Z[:, :-1], np.ones(n)])
        u = t * (ones @ self.b)
        self.bends += list((s * [bend(model.loss, margin) for margin in u])[:, None] * Z**2)
        curvature = least + fade @ np.array(self.bends)
        pull = s * t * [slope(model.loss, margin) for margin in u]
        step = model.learning_rate * (Z.T @ pull) / curvature
        step[-1] *= np.sqrt(gain)
        shrink = total * model.learning_rate / curvature[-1] * model.shrinkage / self.unit**2
        r, m = np.r_[np.full(len(self.b) - 1, 1 / (1 + shrink)), 1], model.momentum
        self.v = r * (m * self.v - (1 - m) * step)
        self.b = r * self.b + self.v

    def arrived(self) -> tuple[Any, float]:
        m = self.model.momentum
        b = self.b + self.v * m / (1 - m)
        return b[:-1] / self.unit, b[-1]

    def keep(self, coef: Any, k: int) -> Any:
        """A weight counts half for every half-life since its feature was last not 0."""
        present = np.array([x for x, _ in self.rows]) != 0
        absent = np.where(present, self.ages[:, None], np.inf).min(axis=0)
        rank = np.abs(coef) * np.exp2(-absent / (self.model.half_life or np.inf))
        return np.where(rank >= np.sort(rank)[-k], coef, 0)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize(("half_life", "batch_size"), [(20, None), (0.05, None), (None, 7)])
def test_partial_fit_is_newton_with_forgetting(
    loss: Any, momentum: float, half_life: Any, batch_size: Any
) -> None:
    X, y, _ = linear(n=90, p=30)
    X[5] = 0
    X[[40, 70]] *= [[1000], [0.001]]
    s = np.random.default_rng(1).uniform(0.5, 2, size=90)
    model = SparseFSA(
        5, loss=loss, momentum=momentum, shrinkage=0.01, half_life=half_life, batch_size=batch_size
    )
    plain, t = StreamReference(model, 30), np.where(y == 1, 1.0, -1.0)
    for part in (slice(0, 21), slice(21, 90)):
        model.partial_fit(sparse.csr_array(X[part]), y[part], [0, 1], sample_weight=s[part])
        plain.run(X[part], t[part], s[part], batch_size or 1)
    coef, intercept = plain.arrived()
    np.testing.assert_allclose(model.coef_[0], plain.keep(coef, 5), rtol=0, atol=1e-10)
    np.testing.assert_allclose(model.intercept_[0], intercept, rtol=0, atol=1e-10)
