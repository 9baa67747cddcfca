"""Sums over reviews, which fade and can be merged."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Self

import numpy as np

from driftsieve.snapshot import Floats

HALF_LIVES = np.array([5.0, 40.0])
"""Half-lives of a review in reviews: the quick sums follow leaps, the slow ones have less noise."""
ROWS = 1600.0
"""Longer periods count as several reviews of so many rows each."""
RIDGE = 0.003
FREE_RIDGE = 0.1  # of weights of either sign: it pulls them towards the non-negative ones
N_UNPROVEN = 8
"""Reviews before weights of either sign may be used: what one or two of them captured is chance."""
PRIOR_SPREAD = 3.0  # prior standard deviation of the weights around equal ones
N_CANDIDATES = 2 * len(HALF_LIVES)


@dataclass(frozen=True)
class Sums:
    """Least squares of the fresh relevance on the relevances at each of H half-lives.

    Both are centred over the features, so that a common offset does not count. The sums fade at
    several rates R at the same time.
    """

    products: Floats
    """(R, H, H) A, products of the relevances at two half-lives."""
    answers: Floats
    """(R, H) b, products with the fresh relevance."""
    fresh_squares: Floats
    """(R,) sum of the squared fresh relevances."""
    n_features: Floats
    """(R,) number of features in the sums above."""
    fading: Floats
    """(R,) number of reviews in the sums, faded like them."""
    captured: Floats
    """(H + 2 R,) fresh relevance of the k best features, less that of k random ones.

    By each half-life and by each of ``candidates``, faded at the quickest rate."""
    n_reviews: Floats
    """() number of reviews so far."""

    @classmethod
    def empty(cls, n_rungs: int) -> Self:
        """Return sums without any review."""
        n_rates = len(HALF_LIVES)
        products, answers = np.zeros((n_rates, n_rungs, n_rungs)), np.zeros((n_rates, n_rungs))
        each, captured = np.zeros(n_rates), np.zeros(n_rungs + N_CANDIDATES)
        return cls(products, answers, each, each, each, captured, np.zeros(()))

    def reviewed(self, before: Floats, fresh: Floats, k: int, n_rows: int = 0) -> Self:
        """Return the sums after a review: (H, m) relevances before, (m,) of the fresh rows."""
        known = before - before.mean(axis=1, keepdims=True)
        answer = fresh - fresh.mean()
        ranked = np.vstack([before, self.candidates @ before])
        best = np.argsort(-ranked, axis=1, kind="stable")[:, :k]
        factor = 2 ** -(max(1.0, n_rows / ROWS) / HALF_LIVES)
        new = (known @ known.T, known @ answer, answer @ answer, len(fresh), 1.0)
        faded = ((factor * array.T).T for array in self._of_rates)
        products, answers, squares, n_features, fading = map(np.add, faded, new)
        captured = factor[0] * self.captured + answer[best].sum(axis=1)
        n_reviews = np.asarray(self.n_reviews + 1)
        return type(self)(products, answers, squares, n_features, fading, captured, n_reviews)

    @cached_property
    def nbytes(self) -> int:
        """Size in memory, in bytes."""
        return sum(getattr(self, field.name).nbytes for field in fields(self))

    def plus(self, other: Sums) -> Self:
        """Return the sums with the reviews of another bank."""
        names = [field.name for field in fields(self)]
        return type(self)(*(getattr(self, name) + getattr(other, name) for name in names))

    def weights(self) -> Floats:
        """Return (H,) weights of the half-lives in the prediction of the fresh relevance.

        They are the candidate that has captured the most.
        """
        return np.asarray(self.candidates[self.best])

    @property
    def best(self) -> int:
        """Index of the candidate that has captured the most, of those that may be used."""
        step = 2 if self.n_reviews < N_UNPROVEN else 1
        return step * int(np.argmax(self.captured[-N_CANDIDATES::step]))

    @cached_property
    def candidates(self) -> Floats:
        """(2 R, H) for each rate non-negative weights, and weights of either sign.

        Negative weights follow leaps faster, but predict the relevance of rare features badly. All
        are equal weights where no half-life predicts anything.
        """
        return np.concatenate([self._candidates(rate) for rate in range(len(HALF_LIVES))])

    def _candidates(self, rate: int) -> Floats:
        """Return the non-negative weights, and those after a step of free least squares."""
        fit = self._fit(rate)
        if fit is None or not (weights := _non_negative(*fit, RIDGE)).any():
            return np.array([self._equal, self._equal])
        products, answers = fit
        gram, scale = _scaled(products, FREE_RIDGE)
        step = np.linalg.solve(gram, (answers - products @ weights) / scale) / scale
        return np.array([weights, weights + step])

    def shares(self) -> Floats:
        """Return (H,) shares of the half-lives in the non-negative fit; they sum to 1."""
        rate = self.best // 2
        sizes = self.candidates[2 * rate] * _scaled(self.products[rate], 0.0)[1]
        return sizes / sizes.sum() if sizes.any() else self._equal

    @property
    def _of_rates(self) -> tuple[Floats, ...]:
        return self.products, self.answers, self.fresh_squares, self.n_features, self.fading

    @property
    def _equal(self) -> Floats:
        n_rungs = self.answers.shape[1]
        return np.full(n_rungs, 1 / n_rungs)

    def _fit(self, rate: int) -> tuple[Floats, Floats] | None:
        """Return products and answers with the prior; None if there is nothing to learn from.

        If the fresh relevance is mostly noise, as with few features or rows, the prior pulls the
        weights towards equal ones.
        """
        products, answers = self.products[rate], self.answers[rate]
        variance = self._residual_variance(rate)
        if math.isinf(variance):
            return None
        noise = variance / PRIOR_SPREAD**2
        return products + noise * np.eye(len(answers)), answers + noise * self._equal

    def _residual_variance(self, rate: int) -> float:
        """Return the variance of the fresh relevance around its prediction without a prior.

        It is infinite if there is nothing to learn from.
        """
        products, answers, squares, n_features, fading = (array[rate] for array in self._of_rates)
        if not np.diag(products).max() > 0:
            return math.inf
        free = _non_negative(products, answers, RIDGE)
        left = squares - 2 * free @ answers + free @ products @ free
        # the mean of each review and each weight take one number out of the residuals
        n_left = float(n_features - fading) - np.count_nonzero(free)
        return max(float(left) / n_left, 0.0) if n_left > 0 else math.inf

    def noise(self, k: int) -> float:
        """Return the standard error of the mean relevance of k features that is not predicted."""
        if not self.n_reviews:
            return math.inf
        return math.sqrt(k * self._residual_variance(0) / self.fading[0])

    def best_rung(self) -> int:
        """Return the index of the half-life whose best features were the most relevant.

        Before the first review it is the longest.
        """
        captured = self.captured[:-N_CANDIDATES]
        return int(len(captured) - 1 - np.argmax(captured[::-1]))


def _scaled(products: Floats, ridge: float) -> tuple[Floats, Floats]:
    """Return products of columns of unit norm with a ridge, and the norms."""
    scale = np.sqrt(np.diag(products))
    scale = np.where(scale > 0, scale, scale.max() or 1.0)
    return products / np.outer(scale, scale) + ridge * np.eye(len(scale)), scale


def _non_negative(products: Floats, answers: Floats, ridge: float) -> Floats:
    """Return the non-negative weights that fit best, with a ridge for columns of unit norm."""
    from scipy.optimize import nnls  # imported here, because it takes as long as importing numpy

    gram, scale = _scaled(products, ridge)
    root = np.linalg.cholesky(gram)
    return np.asarray(nnls(root.T, np.linalg.solve(root, answers / scale))[0]) / scale
