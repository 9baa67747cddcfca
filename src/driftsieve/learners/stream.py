"""State of SparseFSA.partial_fit between batches."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from driftsieve._core import FsaLoss, FsaRows
from driftsieve.learners.annealing import CURVATURE, Descent, Loss, largest
from driftsieve.snapshot import Floats


@dataclass(frozen=True, slots=True)
class Past:
    """Sums over the rows of ``fit``, from which a stream takes its first step sizes."""

    sums: Floats  # see `FsaRows.row_sums`
    class_totals: Floats  # sample weight by class
    squares: Floats  # mean of x², by feature
    curvatures: list[float]  # mean curvature of the loss at the model, by problem


@dataclass(frozen=True, slots=True)
class Stream:
    """State of ``partial_fit``; see fsa_stream.hpp."""

    weights: list[Floats]
    """By problem: weights in one column, or two with momentum; curvatures; recencies."""
    class_totals: Floats
    sums: Floats

    @classmethod
    def start(cls, model: Floats, n_classes: int, past: Past | None) -> Stream:
        """Return a stream from a model, (n_problems, n_features + 1), and its `past`."""
        weights = [np.pad(problem[:, None], [(0, 0), (0, 2)]) for problem in model]
        if past is None:
            return cls(weights, np.zeros(n_classes), np.zeros(5))
        unit = _unit(past.sums)
        n_rows, weight, non_zeros, *_ = past.sums
        gain = weight / non_zeros if non_zeros else 1.0
        squares = np.append(past.squares / unit / unit, gain)
        for problem, curvature in zip(weights, past.curvatures, strict=True):
            problem[:-1, 0] *= unit
            problem[:, -2] = n_rows * curvature * squares
            problem[:, -1] = squares > 0
        return cls(weights, past.class_totals, past.sums)

    def model(self, k: int) -> list[Floats]:
        """Return the k largest weights, with 0 for the others, and the intercept, by problem.

        A weight counts half for every half-life since its feature was last not 0, so that features
        that no longer occur are replaced.
        """
        unit = _unit(self.sums)
        models = []
        for problem in self.weights:
            weights, recency = problem[:, 0], problem[:-1, -1]
            keep = largest(np.abs(weights[:-1]) * recency, min(k, len(recency)))
            model = np.zeros_like(weights)
            model[keep] = weights[keep] / unit
            model[-1] = weights[-1]
            models.append(model)
        return models

    def follow(
        self,
        rows: FsaRows,
        targets: list[Floats],
        row_weight: Floats,
        class_totals: Floats,
        descent: Descent,
        half_life: float,
    ) -> Stream:
        """Return the stream after these rows."""
        order = np.flatnonzero(row_weight).astype(np.int64, copy=False)
        weights = [_with_parts(problem, 2 if descent.momentum else 1) for problem in self.weights]
        sums = self.sums
        for problem, target in zip(weights, targets, strict=True):
            sums = self.sums.copy()  # all problems have the same rows, and so the same sums
            rows.follow(
                order,
                target,
                row_weight,
                problem,
                sums,
                loss=FsaLoss[descent.loss],
                rate=descent.learning_rate,
                largest_curvature=CURVATURE[descent.loss],
                shrinkage=descent.shrinkage,
                momentum=descent.momentum,
                half_life=half_life,
                batch_size=descent.batch_size,
            )
        if not all(np.isfinite(array).all() for array in (sums, *weights)):
            raise ValueError("The squares of X must be finite, got an overflow. Scale X down.")
        return Stream(weights, class_totals, sums)


def _unit(sums: Floats) -> float:
    """Return the typical norm of recent rows, by which weights of a stream are multiplied."""
    *_, filled, logs = sums
    return math.exp(0.5 * logs / filled) if filled else 1.0


def _with_parts(problem: Floats, parts: int) -> Floats:
    """Return a copy with so many columns of weights, without velocity if momentum changed."""
    if problem.shape[1] == parts + 2:
        return problem.copy()
    result = np.zeros((len(problem), parts + 2))
    result[:, 0], result[:, -2:] = problem[:, 0], problem[:, -2:]
    return result


def mean_curvature(loss: Loss, margins: Floats, row_weight: Floats) -> float:
    """Return the mean of `curvature` of fsa_stream.hpp."""
    if loss == "logistic":
        by_row = expit(margins) * expit(-margins)
    else:
        by_row = np.where(margins < 1.0, 2.0 / (1.0 + (margins - 1.0) ** 2), 0.0)
    return float(np.average(by_row, weights=row_weight))
