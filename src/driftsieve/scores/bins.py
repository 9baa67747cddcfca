"""Mutual information, chi-square and Gini: scores from the K x C table of bin weights."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import xlog1py

from driftsieve.scores.blocks import per_feature, ratio, unfaded
from driftsieve.snapshot import Floats, Snapshot


def table(snap: Snapshot) -> Floats:
    """(K, C, p), contiguous: sums over bins and classes then run along the features."""
    assert snap.bin_weights is not None
    return np.ascontiguousarray(unfaded(snap.bin_weights, snap).transpose(1, 2, 0))


class Dependence(NamedTuple):
    """How far a table is from independence: share of a cell = expected * (1 + excess)."""

    expected: Floats  # (K, C, p) share of the bin times share of the class
    excess: Floats  # (K, C, p), at least -1, 0 in empty bins
    deviation: Floats  # (K, C, p) expected * excess, which may be far above the smaller of the two
    total: Floats  # (p,) weight in the table
    freedom: Floats  # (p,) (non-empty bins - 1) * (classes - 1)


def dependence(weights: Floats) -> Dependence:
    """Of the class in the bin, from their (K, C, p) weights."""
    bins, classes = weights.sum(axis=1, keepdims=True), weights.sum(axis=0, keepdims=True)
    total = bins.sum(axis=0)
    bin_share, class_share = ratio(bins, total), ratio(classes, total)
    # Quotients of whole numbers round alike, so an independent table of counts gives exactly 0.
    gap = ratio(weights, classes) - bin_share
    n_bins, n_classes = (bins > 0).sum(axis=0), (classes > 0).sum(axis=1)
    return Dependence(
        expected=bin_share * class_share,
        excess=ratio(gap, bin_share),
        deviation=class_share * gap,
        total=total[0],
        freedom=np.where(total > 0, (n_bins - 1) * (n_classes - 1), 0)[0],
    )


def information(d: Dependence) -> Floats:
    """Mutual information, in nats."""
    # Adding expected - share, which sums to 0, makes every term >= 0: nothing cancels, and small
    # values keep their digits.
    terms = d.expected * (xlog1py(1 + d.excess, d.excess) - d.excess)
    return np.asarray(terms.sum(axis=(0, 1))).clip(min=0.0)


def inertia(d: Dependence) -> Floats:
    """Chi-square of shares: that of a table is its weight times this."""
    return np.asarray((d.deviation * d.excess).sum(axis=(0, 1)))


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
