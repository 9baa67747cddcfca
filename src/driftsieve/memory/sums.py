"""Sums over reviews, which fade and can be merged."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Self

import numpy as np

from driftsieve.snapshot import Floats

HALF_LIFE, HALF_LIFE_ROWS = 5.0, 8000.0
"""Half-life of a review in reviews, or in rows if that is sooner."""
RIDGE = 0.003
FREE_RIDGE = 0.1  # of weights of either sign: it pulls them towards the non-negative ones
PRIOR_SPREAD = 3.0  # prior standard deviation of the weights around equal ones


@dataclass(frozen=True, slots=True)
class Sums:
    """Least squares of the fresh relevance on the relevances at each of H half-lives.

    Both are centred over the features, so that a common offset does not count.
    """

    products: Floats
    """(H, H) A, products of the relevances at two half-lives."""
    answers: Floats
    """(H,) b, products with the fresh relevance."""
    fresh_squares: Floats
    """() sum of the squared fresh relevances."""
    n_features: Floats
    """() number of features in the sums above."""
    captured: Floats
    """(H + 2,) fresh relevance of the k best features, less that of k random ones.

    By each half-life, by non-negative weights and by free ones."""
    fading: Floats
    """() number of reviews in the sums, faded like them."""
    n_reviews: Floats
    """() number of reviews so far."""

    @classmethod
    def empty(cls, n_rungs: int) -> Self:
        """Return sums without any review."""
        zero = np.zeros(())
        sizes = np.zeros((n_rungs, n_rungs)), np.zeros(n_rungs), zero, zero
        return cls(*sizes, np.zeros(n_rungs + 2), zero, zero)

    def reviewed(self, before: Floats, fresh: Floats, k: int, n_rows: int = 0) -> Self:
        """Return the sums after a review: (H, m) relevances before, (m,) of the fresh rows."""
        known = before - before.mean(axis=1, keepdims=True)
        answer = fresh - fresh.mean()
        ranked = np.vstack([before, np.array(self._candidates()) @ before])
        best = np.argsort(-ranked, axis=1, kind="stable")[:, :k]
        squares = (known @ known.T, known @ answer, answer @ answer)
        new = (*squares, len(fresh), answer[best].sum(axis=1), 1.0)
        faded = self._plus(2 ** -max(1 / HALF_LIFE, n_rows / HALF_LIFE_ROWS), *new, 1.0)
        return replace(faded, n_reviews=self.n_reviews + 1)

    @property
    def nbytes(self) -> int:
        """Size in memory, in bytes."""
        return sum(getattr(self, field.name).nbytes for field in fields(self))

    def plus(self, other: Sums) -> Self:
        """Return the sums with the reviews of another bank."""
        return self._plus(1.0, *(getattr(other, field.name) for field in fields(other)))

    def _plus(self, factor: float, *new: Floats | float) -> Self:
        own = (getattr(self, field.name) for field in fields(self))
        return type(self)(*(np.asarray(a * factor + b) for a, b in zip(own, new, strict=True)))

    def weights(self) -> Floats:
        """Return (H,) weights of the half-lives in the prediction of the fresh relevance.

        They are non-negative, unless free ones have captured more. Negative weights follow leaps
        faster, but predict the relevance of rare features badly.
        """
        captured = self.captured[-2:]
        return self._candidates()[int(captured[1] > captured[0])]

    def _candidates(self) -> tuple[Floats, Floats]:
        """Return non-negative weights, and those after a step of free least squares from them.

        Both are equal weights where no half-life predicts anything.
        """
        fit = self._fit()
        if fit is None or not (weights := _non_negative(*fit, RIDGE)).any():
            return self._equal(), self._equal()
        products, answers = fit
        gram, scale = _scaled(products, FREE_RIDGE)
        step = np.linalg.solve(gram, (answers - products @ weights) / scale) / scale
        return weights, weights + step

    def shares(self) -> Floats:
        """Return (H,) shares of the half-lives in the non-negative fit; they sum to 1."""
        sizes = self._candidates()[0] * _scaled(self.products, 0.0)[1]
        return sizes / sizes.sum() if sizes.any() else self._equal()

    def _equal(self) -> Floats:
        return np.full(len(self.answers), 1 / len(self.answers))

    def _fit(self) -> tuple[Floats, Floats] | None:
        """Return products and answers with the prior; None if there is nothing to learn from.

        If the fresh relevance is mostly noise, as with few features or rows, the prior pulls the
        weights towards equal ones.
        """
        if not self.n_reviews or not np.diag(self.products).max() > 0:
            return None
        free = _non_negative(self.products, self.answers, RIDGE)
        left = self.fresh_squares - 2 * free @ self.answers + free @ self.products @ free
        # the mean of each review and each weight take one number out of the residuals
        n_left = float(self.n_features - self.fading) - np.count_nonzero(free)
        if n_left <= 0:
            return None
        noise = max(float(left) / n_left, 0.0) / PRIOR_SPREAD**2
        return self.products + noise * np.eye(len(free)), self.answers + noise * self._equal()

    def noise(self, k: int) -> float:
        """Return the standard error of the mean relevance of k features of noise."""
        if not self.n_reviews:
            return 0.0
        return float(np.sqrt(k * self.fresh_squares / self.n_features / self.fading))

    def best_rung(self) -> int:
        """Return the index of the half-life whose best features were the most relevant.

        Before the first review it is the longest.
        """
        captured = self.captured[:-2]
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
