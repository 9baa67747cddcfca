"""Relevance: a score per row, less its mean for a feature that is independent of the class.

By chance alone a feature of noise has a positive score, which is larger the fewer rows there
are. Less that mean, scores of few rows and of many can be compared, and the relevance of rows that
no memory has seen is an unbiased measurement: docs/memory.md has the proof.

All functions use the weights of each feature only, never those of the snapshot, so that several
half-lives need one call (`take_stacked`).
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from driftsieve.scores import ScoreFunction
from driftsieve.scores.bins import Dependence, dependence, inertia, information, table
from driftsieve.scores.blocks import (
    can_be_tested,
    effective_rows,
    observed_share,
    per_feature,
    ratio,
)
from driftsieve.scores.moments import can_compare, fisher, gap, one_against_rest
from driftsieve.snapshot import Floats, Snapshot


def _per_row(total: Floats, n: Floats) -> Floats:
    """Return the total divided by n, 0 where there are too few rows."""
    return np.divide(total, n, out=np.zeros(len(n)), where=n > 0)


def _freedom(d: Dependence, n_classes: NDArray[np.int64]) -> Floats:
    n_bins = (d.bin_share > 0).sum(axis=0)
    return np.asarray(np.maximum(n_bins - 1.0, 0.0) * np.maximum(n_classes - 1, 0))


@per_feature("quantiles")
def mutual_info_relevance(snap: Snapshot) -> Floats:
    """Return the mutual information in nats, less df / (2 n)."""
    d, (n, n_classes) = dependence(table(snap)), effective_rows(snap)
    return observed_share(snap) * (information(d) - _per_row(_freedom(d, n_classes) / 2, n))


@per_feature("quantiles")
def chi2_relevance(snap: Snapshot) -> Floats:
    """Return the chi-square of the shares of the table, less df / (n - 1)."""
    d, (n, n_classes) = dependence(table(snap)), effective_rows(snap)
    return observed_share(snap) * (inertia(d) - _per_row(_freedom(d, n_classes), n - 1))


@per_feature("quantiles")
def gini_relevance(snap: Snapshot) -> Floats:
    """Return the decrease of the Gini impurity by the best split, less its mean under independence.

    A single split decreases the impurity G by G / n on average; the best of several by more.
    """
    d, (n, _) = dependence(table(snap)), effective_rows(snap)
    left = (d.share * d.class_share).cumsum(axis=0)[:-1]  # (K - 1, C, p) of all weight
    below = left.sum(axis=1)
    # a split with q below and 1 - q above it: sum_c (left_c - q p_c)**2 / (q (1 - q))
    moved = ((left - below[:, None] * d.class_share) ** 2).sum(axis=1)
    splits = np.where((below > 0) & (below < 1), ratio(moved, below * (1 - below)), 0.0)
    impurity = (d.class_share * (1 - d.class_share)).sum(axis=0)
    n_bins = (d.bin_share > 0).sum(axis=0)
    expected = np.array([_best_split(k, snap.n_classes) for k in range(len(d.bin_share) + 1)])
    chance = _per_row(impurity * expected[n_bins], n - 1)
    return np.asarray(observed_share(snap) * (splits.max(axis=0, initial=0.0) - chance))


@cache
def _best_split(n_bins: int, n_classes: int) -> float:
    """Return the mean of the best of all splits of equal bins, relative to the mean of one of them.

    The rows of a class below each edge are a Brownian bridge at equal steps, here 4,000 of them.
    """
    if n_bins < 2:
        return 0.0
    rng = np.random.default_rng(0)
    n_free = min(max(n_classes - 1, 1), 100)
    walk = rng.standard_normal((4000, n_bins, n_free)).cumsum(axis=1) / n_bins**0.5
    at = np.arange(1, n_bins) / n_bins
    bridge = walk[:, :-1] - at[:, None] * walk[:, -1:]
    sizes = (bridge**2).mean(axis=2) / (at * (1 - at))
    return float(sizes.max(axis=1).mean())


@per_feature("moments")
def t_relevance(snap: Snapshot) -> Floats:
    """Return T as a share of variance, less its mean under independence.

    The share is t**2 / (t**2 + n - 2), and its mean 1 / (n - 1) for two classes. It is at most 1,
    so that a feature that separates the classes does not outweigh all others.
    """
    chance = _largest_square(snap.n_classes)
    best = np.full(snap.n_features, -np.inf)
    for a, b in one_against_rest(snap):
        share = ratio(a.weight, a.weight + b.weight)
        n = ratio(np.ones_like(share), share * (1 - share) * (1 / a.n_eff + 1 / b.n_eff))
        squared = ratio(gap(a, b) ** 2, a.var / a.n_eff + b.var / b.n_eff)
        explained = np.where(np.isinf(squared), 1.0, squared / (squared + np.maximum(n - 2, 1)))
        known = can_compare(a, b) & (squared > 0) & (n > 2)
        less = explained - _per_row(np.full_like(n, chance), n - 1)
        np.maximum(best, np.where(known, less, 0.0 if snap.n_classes == 2 else -np.inf), out=best)
    return np.where(can_be_tested(snap) & np.isfinite(best), observed_share(snap) * best, 0.0)


@cache
def _largest_square(n_classes: int) -> float:
    """Return the mean of the largest t**2 of one class against the rest, of equal classes."""
    if n_classes <= 2:
        return 1.0
    z = np.random.default_rng(0).standard_normal((4000, n_classes))
    z -= z.mean(axis=1, keepdims=True)
    return float((z**2).max(axis=1).mean() / (1 - 1 / n_classes))


@per_feature("moments")
def fisher_relevance(snap: Snapshot) -> Floats:
    """Return Fisher as a share of variance, S / (1 + S), less (C - 1) / (n - 1)."""
    (n, n_classes), share = effective_rows(snap), observed_share(snap)
    score = ratio(_unchecked(fisher)(snap), share)
    explained = np.where(np.isinf(score), 1.0, score / (1 + score))
    chance = _per_row(np.maximum(n_classes - 1.0, 0.0), n - 1)
    return np.where(score > 0, share * (explained - chance), 0.0)


RELEVANCE: dict[str, ScoreFunction] = {
    "t": t_relevance,
    "fisher": fisher_relevance,
    "mutual_info": mutual_info_relevance,
    "chi2": chi2_relevance,
    "gini": gini_relevance,
}
RESPONSE = RELEVANCE | {"t": fisher_relevance, "gini": chi2_relevance}
"""Measured in fresh rows. The largest of several statistics has more noise than their sum."""


def of_stacked(function: ScoreFunction, snap: Snapshot) -> Floats:
    """Apply a relevance function to a few features, without checks and blocks."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        return _unchecked(function)(snap)


def _unchecked(function: ScoreFunction) -> ScoreFunction:
    """Return a function of the scores without checks and blocks."""
    kernel: ScoreFunction = function.__wrapped__  # type: ignore[attr-defined]
    return kernel
