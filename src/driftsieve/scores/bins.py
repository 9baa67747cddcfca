"""Mutual information, chi-square and Gini: scores from the K x C table of bin weights."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from driftsieve.scores.blocks import observed_share, per_feature, ratio, unfaded
from driftsieve.snapshot import Floats, Snapshot


def table(snap: Snapshot) -> Floats:
    """Return the bin weights as a contiguous (K, C, p) array.

    Sums over bins and classes then run along the features.
    """
    assert snap.bin_weights is not None
    return unfaded(np.ascontiguousarray(snap.bin_weights.transpose(1, 2, 0)), snap)


class Dependence(NamedTuple):
    """Deviation of a table from independence: share = bin_share * (1 + excess)."""

    share: Floats  # (K, C, p) share of the bin in the class
    gap: Floats  # (K, C, p) share minus bin_share
    excess: Floats  # (K, C, p) gap / bin_share, at least -1, 0 in empty bins
    bin_share: Floats  # (K, p) share of the bin in all classes
    class_share: Floats  # (C, p)
    total: Floats  # (p,) weight of the table


def dependence(weights: Floats) -> Dependence:
    """Return the dependence of class and bin from (K, C, p) weights, which are overwritten."""
    bins, classes = weights.sum(axis=1), weights.sum(axis=0)
    total = bins.sum(axis=0)
    bin_share = bins / _divisor(total)
    # Equal quotients of whole numbers are rounded equally: independent counts give exactly 0.
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
    """Return the weight, or 1 where it is 0: numerators are 0 there, and stay 0."""
    return np.where(weight > 0, weight, 1.0)


def information(d: Dependence) -> Floats:
    """Return the mutual information in nats."""
    # log(1 + excess), kept finite in empty cells, where it is multiplied by 0
    logs = np.maximum(d.excess, -1 + 2.0**-53)
    np.log1p(logs, out=logs)
    # The gaps sum to 0. Subtracting them makes every term >= 0, so small values keep their digits.
    terms = np.multiply(d.share, logs, out=logs)
    terms -= d.gap
    return np.asarray((d.class_share * terms.sum(axis=0)).sum(axis=0)).clip(min=0.0)


def inertia(d: Dependence) -> Floats:
    """Return the chi-square statistic of the weights divided by their sum."""
    return np.asarray((d.class_share * (d.gap * d.excess).sum(axis=0)).sum(axis=0))


@per_feature("quantiles")
def mutual_info(snap: Snapshot) -> Floats:
    """Compute the mutual information of quantile bin and class, in nats.

    Where values are missing, the mutual information of the observed rows is multiplied by their
    share of the total weight.

    Parameters
    ----------
    snap : Snapshot or Bank
        A snapshot with quantile bins, or a bank, which is read with 5 bins.

    Returns
    -------
    ndarray of shape (n_features,)
        At least 0; larger is better.

    Raises
    ------
    ValueError
        If there are no quantile bins, or rows of fewer than two classes.

    See Also
    --------
    mutual_info_pvalues : p-values of this score.
    chi2 : Pearson's statistic of the same table.

    Examples
    --------
    >>> import driftsieve as ds
    >>> X = [[0.0, 1.0], [0.1, 0.0], [0.9, 1.0], [1.0, 0.0]]
    >>> snap = ds.offline.snapshot(X, ["ham", "ham", "spam", "spam"], n_bins=2)
    >>> ds.scores.mutual_info(snap)
    array([0.69314718, 0.        ])
    """
    return observed_share(snap) * information(dependence(table(snap)))


@per_feature("quantiles")
def chi2(snap: Snapshot) -> Floats:
    """Compute Pearson's chi-square statistic of the table of bin weights.

    Parameters
    ----------
    snap : Snapshot or Bank
        A snapshot with quantile bins, or a bank, which is read with 5 bins.

    Returns
    -------
    ndarray of shape (n_features,)
        At least 0; larger is better. It grows with the weight of the rows.

    Raises
    ------
    ValueError
        If there are no quantile bins, or rows of fewer than two classes.

    See Also
    --------
    chi2_pvalues : p-values of this score.
    mutual_info : An alternative that does not grow with the weight.

    Examples
    --------
    >>> import driftsieve as ds
    >>> X = [[0.0, 1.0], [0.1, 0.0], [0.9, 1.0], [1.0, 0.0]]
    >>> snap = ds.offline.snapshot(X, ["ham", "ham", "spam", "spam"], n_bins=2)
    >>> ds.scores.chi2(snap)
    array([4., 0.])
    """
    d = dependence(table(snap))
    return d.total * inertia(d)


@per_feature("quantiles")
def gini(snap: Snapshot) -> Floats:
    """Compute the smallest weighted Gini impurity of one split at an edge, or of no split.

    Where values are missing, the decrease of impurity in the observed rows is multiplied by their
    share of the total weight.

    Parameters
    ----------
    snap : Snapshot or Bank
        A snapshot with quantile bins, or a bank, which is read with 5 bins.

    Returns
    -------
    ndarray of shape (n_features,)
        Between 0 and 1; lower is better.

    Raises
    ------
    ValueError
        If there are no quantile bins, or rows of fewer than two classes.

    See Also
    --------
    mutual_info : A score of the whole table instead of the best split.

    Examples
    --------
    >>> import driftsieve as ds
    >>> X = [[0.0, 1.0], [0.1, 0.0], [0.9, 1.0], [1.0, 0.0]]
    >>> snap = ds.offline.snapshot(X, ["ham", "ham", "spam", "spam"], n_bins=2)
    >>> ds.scores.gini(snap)
    array([0. , 0.5])
    """
    # A power of two: scaling is exact, and products of weights stay within the range of double.
    unit = np.ldexp(1.0, -np.frexp(snap.W)[1])
    weights = table(snap) * unit
    left = weights.cumsum(axis=0)
    right = weights[::-1].cumsum(axis=0)[::-1]
    whole = best = _impurity(left[-1])
    if len(weights) > 1:
        split = _impurity(left[:-1]) + _impurity(right[1:])
        best = np.minimum(whole, split.min(axis=0))
    total = left[-1].sum(axis=0)
    prior = _impurity(snap.class_weight[:, None] * unit) / (snap.W * unit)
    share = observed_share(snap)
    return np.where(share == 1, ratio(best, total), prior - share * ratio(whole - best, total))


def _impurity(weights: Floats) -> Floats:
    """Return weight times Gini impurity, (..., C, p) -> (..., p).

    W (1 - sum share**2) is computed as 2 sum_{i<j} N_i N_j / W, which keeps the digits of sides
    that are nearly pure.
    """
    running = weights.cumsum(axis=-2)
    pairs = (running[..., :-1, :] * weights[..., 1:, :]).sum(axis=-2)
    return 2 * ratio(pairs, running[..., -1, :])


# doctest does not find decorated functions by itself.
__test__ = {"chi2": chi2, "gini": gini, "mutual_info": mutual_info}
