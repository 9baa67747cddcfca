"""T and Fisher: scores from the moments of the classes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftsieve.scores.blocks import (
    can_be_tested,
    class_sizes,
    has_two_rows,
    observed_share,
    per_feature,
    ratio,
    unfaded,
)
from driftsieve.snapshot import Floats, Snapshot

_EPS = float(np.finfo(np.float64).eps)
_LARGE = 1e150


class Group(NamedTuple):
    """Moments of some rows, (p,) each."""

    weight: Floats
    n_eff: Floats
    mean: Floats
    var: Floats


def class_groups(snap: Snapshot) -> list[Group]:
    """Return the moments of each class."""
    assert snap.mean is not None
    assert snap.var is not None
    weight = unfaded(snap.weight, snap)
    # A mean that overflowed carries no information: the variance overflowed long before.
    mean = snap.mean if snap.centred_mean is None else snap.centred_mean
    known = np.isfinite(mean) & ~np.isnan(snap.var)
    mean = np.where((weight > 0) & known, mean, 0.0)
    var = np.where(weight > 0, np.where(known, snap.var, np.inf), 0.0)
    largest = np.abs(mean).max(axis=0, initial=0.0)
    if (largest > _LARGE).any():  # scores do not depend on the unit; squares must not overflow
        power = np.where(largest > _LARGE, np.frexp(largest)[1], 0)
        mean, var = np.ldexp(mean, -power), np.ldexp(var, -2 * power)
    groups = zip(weight, class_sizes(snap), mean, var, strict=True)
    return [Group(*group) for group in groups]


def _join(a: Group, b: Group) -> Group:
    """Return the moments of the rows of both groups.

    All terms are positive, so nothing cancels.
    """
    weight = a.weight + b.weight
    share_a, share_b = ratio(a.weight, weight), ratio(b.weight, weight)
    gap = b.mean - a.mean
    return Group(
        weight,
        1 / (ratio(share_a**2, a.n_eff) + ratio(share_b**2, b.n_eff)),
        a.mean + share_b * gap,
        share_a * a.var + share_b * b.var + share_a * share_b * gap**2,
    )


def one_against_rest(snap: Snapshot) -> Iterator[tuple[Group, Group]]:
    """Yield each class and the join of all others; two classes give a single pair."""
    groups = class_groups(snap)
    if len(groups) == 2:
        yield groups[0], groups[1]
        return
    before = list(accumulate(groups, _join))
    after = list(accumulate(reversed(groups), _join))[::-1]
    for c, group in enumerate(groups):
        if c == 0:
            yield group, after[1]
        elif c == len(groups) - 1:
            yield group, before[-2]
        else:
            yield group, _join(before[c - 1], after[c + 1])


def _agree(low: Floats, high: Floats, var: Floats) -> NDArray[np.bool_]:
    """Return whether the means from low to high agree up to rounding."""
    largest = np.maximum(np.abs(low), np.abs(high))
    same: NDArray[np.bool_] = high - low <= 4 * _EPS * largest + 64 * _EPS * np.sqrt(var)
    return same


def gap(a: Group, b: Group) -> Floats:
    """Return |mean_a - mean_b|, 0 where they agree up to rounding or where a group is empty."""
    low, high = np.minimum(a.mean, b.mean), np.maximum(a.mean, b.mean)
    no_gap = _agree(low, high, np.maximum(a.var, b.var)) | (a.weight == 0) | (b.weight == 0)
    return np.where(no_gap, 0.0, high - low)


def can_compare(a: Group, b: Group) -> NDArray[np.bool_]:
    """Return whether both groups have at least two effective rows."""
    return has_two_rows(a.weight, a.n_eff) & has_two_rows(b.weight, b.n_eff)


@per_feature("moments")
def t(snap: Snapshot) -> Floats:
    """Compute |mean_1 - mean_2| / sqrt(var_1 / N_1 + var_2 / N_2).

    With more than two classes, it is the largest T of one class against the rest. Equal means give
    0. Different means of two constant classes give +inf. Fewer than two effective rows on either
    side give 0.

    Parameters
    ----------
    snap : Snapshot or Bank
        A snapshot with moments, or a bank.

    Returns
    -------
    ndarray of shape (n_features,)
        At least 0; larger is better. It grows with the weight of the rows.

    Raises
    ------
    ValueError
        If there are no moments, or rows of fewer than two classes.

    See Also
    --------
    t_pvalues : p-values of this score.
    fisher : A score of all classes at once.

    Examples
    --------
    >>> import driftsieve as ds
    >>> X = [[0.0, 1.0], [0.2, 0.0], [0.8, 1.0], [1.0, 0.0]]
    >>> ds.scores.t(ds.offline.snapshot(X, ["ham", "ham", "spam", "spam"]))
    array([8., 0.])
    """
    best = np.zeros(snap.n_features)
    for a, b in one_against_rest(snap):
        spread = np.sqrt(ratio(a.var, a.weight) + ratio(b.var, b.weight))
        score = np.where(can_compare(a, b), ratio(gap(a, b), spread), 0.0)
        np.maximum(best, score, out=best)
    return np.where(can_be_tested(snap), best, 0.0)


@per_feature("moments")
def fisher(snap: Snapshot) -> Floats:
    """Compute the Fisher score, sum_c N_c (mean_c - mean)**2 / sum_c N_c var_c.

    Equal means give 0. Different means of constant classes give +inf. Fewer than two effective rows
    in each of two classes give 0. Where values are missing, the score of the observed rows is
    multiplied by their share of the total weight.

    Parameters
    ----------
    snap : Snapshot or Bank
        A snapshot with moments, or a bank.

    Returns
    -------
    ndarray of shape (n_features,)
        At least 0; larger is better.

    Raises
    ------
    ValueError
        If there are no moments, or rows of fewer than two classes.

    See Also
    --------
    fisher_pvalues : p-values of this score.
    t : The largest difference of one class from the rest.

    Examples
    --------
    >>> import driftsieve as ds
    >>> X = [[0.0, 1.0], [0.2, 0.0], [0.8, 1.0], [1.0, 0.0]]
    >>> ds.scores.fisher(ds.offline.snapshot(X, ["ham", "ham", "spam", "spam"]))
    array([16.,  0.])
    """
    return np.where(can_be_tested(snap), observed_share(snap) * spread_ratio(snap), 0.0)


def spread_ratio(snap: Snapshot) -> Floats:
    """Return the Fisher score of the rows in which each feature was observed."""
    groups = class_groups(snap)
    total = reduce(_join, groups)
    shares = [ratio(g.weight, total.weight) for g in groups]
    within = sum(share * g.var for share, g in zip(shares, groups, strict=True))
    spread = np.sqrt(within)
    low = reduce(np.minimum, (np.where(g.weight > 0, g.mean, np.inf) for g in groups))
    high = reduce(np.maximum, (np.where(g.weight > 0, g.mean, -np.inf) for g in groups))
    same = _agree(low, high, reduce(np.maximum, (g.var for g in groups)))
    score = np.zeros(snap.n_features)
    for share, group in zip(shares, groups, strict=True):
        offset = np.where(same | (share == 0), 0.0, group.mean - total.mean)
        # Divide before squaring: the square alone overflows sooner.
        score += share * ratio(offset, spread) ** 2
    return score


# doctest does not find decorated functions by itself.
__test__ = {"fisher": fisher, "t": t}
