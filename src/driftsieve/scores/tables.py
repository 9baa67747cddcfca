"""Tests of tables of bins and classes, including those with small expected counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, chdtrc, gammaincc

from driftsieve.scores.bins import Dependence, inertia
from driftsieve.scores.blocks import Evidence, ratio, smallest_pvalue, unfaded
from driftsieve.snapshot import Floats, Snapshot

# Expected rows of a cell from which chi-square holds: with two classes and two bins, with more, and
# for very small p-values with two classes and two bins.
_ENOUGH_OF_FOUR, _ENOUGH, _ENOUGH_FOR_TAILS = 8.0, 1.5, 100.0
_HALF = 0.5 * (1 - 1e-9)  # rounding must not decide whether a share is less than one half
_FAR = 0.01  # p-values below which the tail of a gamma variable may be too light
_TINY = float(np.finfo(np.float64).tiny)


def table_pvalues(d: Dependence, sizes: Floats, rows: Evidence, effect: Floats) -> Floats:
    """Return the p-value of Pearson's test of each table, given the (C, p) class sizes."""
    n_bins = (d.bin_share > 0).sum(axis=0)
    statistic, free = rows.adjusted(rows.n * inertia(d), n_bins - 1.0)
    p = np.where((free > 0) & (rows.n > 0), chdtrc(free, statistic), 1.0)
    p = np.maximum(p, smallest_pvalue(*sizes))
    return np.maximum(p, rare_cell_pvalues(d, sizes, effect))


def rare_cell_pvalues(d: Dependence, sizes: Floats, effect: Floats) -> Floats:
    """Return lower bounds of the p-values of tables with a rare bin; 0 for other tables.

    Where expected counts are small, the bound is a p-value itself: the smallest of one class
    against the rest, times the number of classes. Where only the far tail of chi-square is wrong,
    it is the binomial tail of the rare cell.
    """
    n_bins, n_classes = (d.bin_share > 0).sum(axis=0), (d.class_share > 0).sum(axis=0)
    # Rare by weight or in rows: a few rows of large weight make a bin heavy, but add no evidence.
    in_rows = ratio((d.share * sizes).sum(axis=1), sizes.sum(axis=0))
    share = np.where(d.bin_share > 0, np.minimum(d.bin_share, in_rows), np.inf)
    rarest = share.min(axis=0, initial=np.inf)
    present = d.class_share > 0
    expected = rarest * np.where(present, sizes, np.inf).min(axis=0) / effect
    per_row = ratio(d.class_share, sizes)
    uneven = ratio(per_row.max(axis=0), np.where(present, per_row, np.inf).min(axis=0))
    free = (n_bins - 1) * (n_classes - 1)
    has_rare_bin = (rarest * n_bins < _HALF) & (free > 0)
    enough = np.maximum(_ENOUGH, _ENOUGH_OF_FOUR / np.maximum(free, 1)) * np.maximum(uneven, 1.0)
    is_rare = has_rare_bin & (expected < enough)
    is_skewed = has_rare_bin & (free == 1) & (expected < _ENOUGH_FOR_TAILS) & ~is_rare
    p = np.zeros(len(effect))
    for which, test in ((is_rare, _pearson), (is_skewed, _binomial_tail)):
        if which.any():
            part = Dependence(*(array[..., which] for array in d))
            p[which] = _smallest_of_classes(part, sizes[:, which] / effect[which], test)
    return p


class _Pair(NamedTuple):
    """Bins of one class against the rest, in effective rows."""

    found: Floats  # (K, p) rows of the class
    rows: Floats  # (K, p) rows of both
    share: Floats  # (p,) share of the class in all rows


def _smallest_of_classes(d: Dependence, sizes: Floats, test: Callable[[_Pair], Floats]) -> Floats:
    """Return the smallest p-value of one class against the rest, times the number of classes.

    Each class counts by its own effective sample size: rows with ten times the weight are not ten
    times as many rows.
    """
    best, squared = np.ones(sizes.shape[1]), ratio(d.class_share**2, sizes)
    total, n_classes = squared.sum(axis=0), (d.class_share > 0).sum(axis=0)
    for c, weight in enumerate(d.class_share[:1] if len(d.class_share) == 2 else d.class_share):
        rest = 1 - weight
        n_rest = ratio(rest**2, total - squared[c])
        of_rest = np.maximum(d.bin_share - weight * d.share[:, c], 0.0) / np.where(
            rest > 0, rest, 1
        )
        found = sizes[c] * d.share[:, c]
        p = test(_Pair(found, found + n_rest * of_rest, sizes[c] / (sizes[c] + n_rest)))
        np.minimum(best, np.where((weight > 0) & (rest > 0), p, 1.0), out=best)
    return np.minimum(1.0, best * np.where(n_classes > 2, n_classes, 1))


def _binomial_tail(pair: _Pair) -> Floats:
    """Return the smallest probability over the bins of as many rows of the class, or as few."""
    found, rows, share = pair
    others = np.maximum(rows - found, 0.0)
    is_more = found > rows * share
    at_least, at_most = np.where(is_more, [found, others], [others, found])
    tail = betainc(np.maximum(at_least, _TINY), at_most + 1, np.where(is_more, share, 1 - share))
    return np.asarray(np.where(rows > 0, tail, 1.0).min(axis=0))


def _pearson(pair: _Pair) -> Floats:
    """Return the p-value of Pearson's test with a correction for continuity.

    The statistic is approximated by a gamma variable with its mean and variance given the margins
    of the table (Dawson 1954). The far tail of that is too light, so the binomial tail is used
    where it is larger.
    """
    found, rows, share = pair
    n = rows.sum(axis=0)
    odds = 1 / share + 1 / (1 - share)
    moved = np.abs(found - rows * share) - 0.5
    moved = np.where(moved > 1e-9, moved, 0.0)  # less is rounding
    statistic = odds * ratio(moved**2, rows).sum(axis=0)
    n_bins = (rows > 0).sum(axis=0)
    mean = n / (n - 1) * (n_bins - 1)
    skew_bins = (ratio(n, np.where(rows > 0, rows, np.inf)).sum(axis=0) - n_bins**2) / (n - 2)
    skew_classes = (odds - 4) / (n - 2)
    variance = (
        2 * n / (n - 3) * ((n_bins - 1) * (n - n_bins) / (n - 1) - skew_bins)
        * ((n - 2) / (n - 1) - skew_classes)
        + n**2 / (n - 1) * skew_bins * skew_classes
    )  # fmt: skip
    variance = np.maximum(variance, 2 * mean)
    p = np.ones(len(n))
    moves = np.flatnonzero((n > 4) & (statistic > 0))
    scale = (mean / variance)[moves]
    p[moves] = gammaincc(mean[moves] * scale, statistic[moves] * scale)
    far = np.flatnonzero(p < _FAR)
    p[far] = np.maximum(p[far], _binomial_tail(_Pair(*(part[..., far] for part in pair))))
    return p


def flag_table(snap: Snapshot) -> tuple[NDArray[np.bool_], Floats]:
    """Return which features have only 0 and one other value, and the weights of both.

    The weights are (2, C, flags). They follow from the moments: the variance of each class of such
    a feature is mean * (value - mean).
    """
    assert snap.mean is not None
    assert snap.var is not None
    weight = unfaded(snap.weight, snap)
    mean = np.where(weight > 0, snap.mean, 0.0)
    square = np.where(weight > 0, snap.var, 0.0) + mean**2
    value = ratio((weight * square).sum(axis=0), (weight * mean).sum(axis=0))
    with np.errstate(invalid="ignore"):
        fits = np.abs(square - mean * value) <= 1e-9 * square
    flags: NDArray[np.bool_] = fits.all(axis=0) & np.isfinite(value) & (value != 0)
    ones = weight[:, flags] * np.clip(mean[:, flags] / value[flags], 0.0, 1.0)
    return flags, np.stack([weight[:, flags] - ones, ones])


def distinct_columns(values: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first of each set of equal columns, and for each column the place of its set.

    >>> first, place = distinct_columns(np.array([[1.0, 0.0, 1.0], [2.0, 2.0, 2.0]]))
    >>> first, place
    (array([1, 0]), array([1, 0, 1]))
    """
    varying = values[(values[:, 1:] != values[:, :1]).any(axis=1)]
    order = np.lexsort(varying) if len(varying) else np.arange(values.shape[1])
    is_new = np.ones(len(order), dtype=bool)
    is_new[1:] = (varying[:, order[1:]] != varying[:, order[:-1]]).any(axis=0)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.cumsum(is_new) - 1
    return order[is_new], place
