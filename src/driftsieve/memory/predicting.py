"""The relevance of features at several half-lives, and what it predicts of the next rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from driftsieve.bank import Bank
from driftsieve.memory.panel import Indices
from driftsieve.memory.relevance import RELEVANCE, of_stacked
from driftsieve.scores import ScoreFunction, score_of
from driftsieve.scores.blocks import has_two_classes, is_by_column
from driftsieve.scores.reader import feature_slices, seen_slices, spread
from driftsieve.snapshot import Floats


def relevances(
    bank: Bank,
    features: Indices,
    score_func: str | ScoreFunction,
    n_bins: int,
    functions: dict[str, ScoreFunction],
) -> Floats | None:
    """(H, m) of some features at all half-lives; None while one has rows of one class only.

    ``functions`` are those of named scores. Another function is its own relevance.
    """
    if isinstance(score_func, str):
        together = bank._stacked(features, n_bins)
        if together is None:
            return None
        found = of_stacked(functions[score_func], together)
        return clipped(found).reshape(len(bank.half_lives), len(features))
    snapshots = bank._snapshots_of(features, n_bins)
    if not all(map(has_two_classes, snapshots)):
        return None
    return clipped(np.array([score_func(snapshot) for snapshot in snapshots]))


class Prediction(NamedTuple):
    """The relevance of features in the next rows."""

    relevance: Floats
    """(p,) -inf for a feature that is the same in all rows: less than that of noise."""
    prior: float
    """Gini impurity of the classes."""

    def scores(self, score_func: str | ScoreFunction) -> Floats:
        """Return finite scores in the order of the score: for Gini, lower is better."""
        relevance = self.relevance
        known = np.isfinite(relevance)
        least = relevance[known].min(initial=0.0)
        found = np.where(known, relevance, least)
        return found if score_of(score_func).larger_is_better else self.prior - found


def predicted(
    bank: Bank, score_func: str | ScoreFunction, n_bins: int, weights: Floats
) -> Prediction:
    """Predict the relevance of all features, given the weights of the half-lives.

    A half-life with rows of one class only tells nothing. At the longest one it is an error.
    """
    used = np.union1d(np.flatnonzero(weights), len(weights) - 1)
    function = RELEVANCE[score_func] if isinstance(score_func, str) else score_func
    bins = score_of(score_func).bins(n_bins)
    values, prior = np.empty(bank.n_features), 0.0
    alone = is_by_column(function)
    slices, read = (seen_slices, bank._seen) if alone else (feature_slices, bank._whole)
    for features in slices(bank, bins if alone else n_bins, len(used)):
        seen, snapshots = read(bins, features, used.tolist())
        nothing = np.zeros(snapshots[-1].n_features)
        shorter = [function(s) if has_two_classes(s) else nothing for s in snapshots[:-1]]
        relevance = clipped(np.array([*shorter, function(snapshots[-1])]))
        # not by a product of matrices, whose last bits depend on the number of features
        found = (weights[used, None] * relevance).sum(axis=0)
        found[~relevance.any(axis=0)] = -np.inf
        spread(found, seen, values[features])
        shares = snapshots[-1].class_weight / snapshots[-1].W
        prior = float((shares * (1 - shares)).sum())
    return Prediction(values, prior)


def clipped(values: Floats) -> Floats:
    """Return the values, the largest or smallest finite one in place of an infinite one."""
    if np.isfinite(values).all():
        return values
    known = values[np.isfinite(values)]
    return np.nan_to_num(values, nan=0.0, posinf=known.max(initial=0), neginf=known.min(initial=0))
