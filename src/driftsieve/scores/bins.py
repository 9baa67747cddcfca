"""Mutual information, chi-square and Gini: scores from the K x C table of bin weights."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from driftsieve.scores.blocks import per_feature, ratio, unfaded
from driftsieve.snapshot import Floats, Snapshot


def table(snap: Snapshot) -> Floats:
    """(K, C, p), contiguous: sums over bins and classes then run along the features."""
    assert snap.bin_weights is not None
    return unfaded(np.ascontiguousarray(snap.bin_weights.transpose(1, 2, 0)), snap)


class Dependence(NamedTuple):
    """How far a table is from independence: share = bin_share * (1 + excess)."""

    share: Floats  # (K, C, p) of the bin in the class
    gap: Floats  # (K, C, p) less the share of the bin in all, which may be far above it
    excess: Floats  # (K, C, p), at least -1, 0 in empty bins
    bin_share: Floats  # (K, p)
    class_share: Floats  # (C, p)
    total: Floats  # (p,) weight in the table


def dependence(weights: Floats) -> Dependence:
    """Of the class in the bin, from their (K, C, p) weights, which are overwritten."""
    bins, classes = weights.sum(axis=1), weights.sum(axis=0)
    total = bins.sum(axis=0)
    bin_share = bins / _divisor(total)
    # Quotients of whole numbers round alike, so an independent table of counts gives exactly 0.
    share = np.divide(weights, _divisor(classes), out=weights)
    gap = share - bin_share[:, None]
    return Dependence(
        share=share,
        gap=gap,
        excess=gap / _divisor(bin_share)[:, None],
        bin_share=bin_share,
        class_share=classes / _divisor(total),
        total=total,
    )


def _divisor(weight: Floats) -> Floats:
    """Where there is no weight, 0 is divided, and stays 0."""
    return np.where(weight > 0, weight, 1.0)


def information(d: Dependence) -> Floats:
    """Mutual information, in nats."""
    # log(1 + excess), without the infinity of empty cells, for 0 times that must be 0
    logs = np.maximum(d.excess, -1 + 2.0**-53)
    np.log1p(logs, out=logs)
    # Taking off the gaps, which sum to 0, makes every term >= 0: nothing cancels, and small values
    # keep their digits.
    terms = np.multiply(d.share, logs, out=logs)
    terms -= d.gap
    return np.asarray((d.class_share * terms.sum(axis=0)).sum(axis=0)).clip(min=0.0)


def inertia(d: Dependence) -> Floats:
    """Chi-square of shares: that of a table is its weight times this."""
    return np.asarray((d.class_share * (d.gap * d.excess).sum(axis=0)).sum(axis=0))


def freedom(d: Dependence) -> Floats:
    """(non-empty bins - 1) * (classes - 1)."""
    n_bins, n_classes = (d.bin_share > 0).sum(axis=0), (d.class_share > 0).sum(axis=0)
    return np.where(d.total > 0, (n_bins - 1.0) * (n_classes - 1.0), 0.0)


@per_feature("quantiles")
def mutual_info(snap: Snapshot) -> Floats:
    """Mutual information of quantile bin and class, in nats; at least 0."""
    return information(dependence(table(snap)))


@per_feature("quantiles")
def chi2(snap: Snapshot) -> Floats:
    """Pearson's chi-square of the table of bin weights; at least 0."""
    d = dependence(table(snap))
    return d.total * inertia(d)


@per_feature("quantiles")
def gini_index(snap: Snapshot) -> Floats:
    """Smallest weighted Gini impurity over a split at one of the K - 1 edges and no split.
    Lower is better.
    """
    # Exact, and products of weights then stay within the range of double.
    unit = np.ldexp(1.0, -np.frexp(snap.W)[1])
    weights = table(snap) * unit
    left = weights.cumsum(axis=0)
    right = weights[::-1].cumsum(axis=0)[::-1]
    impurity = _impurity(left[-1])
    if len(weights) > 1:
        split = _impurity(left[:-1]) + _impurity(right[1:])
        impurity = np.minimum(impurity, split.min(axis=0))
    total = left[-1].sum(axis=0)
    two_classes = (left[-1] > 0).sum(axis=0) > 1
    prior = _impurity(snap.class_weight[:, None] * unit) / (snap.W * unit)
    return np.where(two_classes, ratio(impurity, total), prior)


def _impurity(weights: Floats) -> Floats:
    """Weight times Gini impurity, (..., C, p) -> (..., p): W (1 - sum share**2), written as
    2 sum_{i<j} N_i N_j / W so that nearly pure sides keep their digits.
    """
    running = weights.cumsum(axis=-2)
    pairs = (running[..., :-1, :] * weights[..., 1:, :]).sum(axis=-2)
    return 2 * ratio(pairs, running[..., -1, :])
