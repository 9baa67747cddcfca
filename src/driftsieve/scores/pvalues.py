"""p-values of the scores; Gini has none. docs/statistics.md lists their assumptions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc, stdtr

from driftsieve.scores.bins import dependence, table
from driftsieve.scores.blocks import (
    can_be_tested,
    class_sizes,
    design_effect,
    evidence,
    per_feature,
    ratio,
    smallest_pvalue,
    unfaded,
)
from driftsieve.scores.moments import (
    Group,
    can_compare,
    class_groups,
    gap,
    one_against_rest,
    spread_ratio,
)
from driftsieve.scores.tables import distinct_columns, flag_table, rare_cell_pvalues, table_pvalues
from driftsieve.snapshot import Floats, Snapshot

_ROUNDING = 1e-9  # of effective rows
_SMALL = 40.0  # effective rows of a class in which a few outliers decide the mean
_NEGLIGIBLE = 1.02  # factor of the variance of F that changes no p-value by much
_OUTLIERS = 10.0  # above it, class variances differ more than those of normal values


@per_feature("moments")
def t_pvalues(snap: Snapshot) -> Floats:
    """Compute two-sided p-values of the t-test with effective class sizes.

    The p-value is the larger of two. Welch's test holds where variances differ. The test with
    pooled variance holds where a class is too small to estimate its variance. With unit weights
    they equal `scipy.stats.ttest_ind`. With more than two classes, it is the smallest p-value of
    one class against the rest, times the number of classes (Bonferroni). Features with two values
    that are too rare for a t-test have the p-value of their table of counts, if that is larger.

    Parameters
    ----------
    snap : Snapshot or Bank
        A snapshot with moments, or a bank.

    Returns
    -------
    ndarray of shape (n_features,)
        1 for features without two classes of at least two effective rows.

    See Also
    --------
    t : The score that is tested.

    Examples
    --------
    >>> import driftsieve as ds
    >>> X = [[0.0, 1.0], [0.2, 0.0], [0.8, 1.0], [1.0, 0.0], [0.1, 1.0], [0.9, 1.0]]
    >>> snap = ds.offline.snapshot(X, ["ham", "ham", "spam", "spam", "ham", "spam"])
    >>> ds.scores.t_pvalues(snap)
    array([0.05, 1.  ])
    """
    best = np.ones(snap.n_features)
    effect = design_effect(snap)
    for a, b in one_against_rest(snap):
        distance, n_a, n_b = gap(a, b), a.n_eff / effect, b.n_eff / effect
        p = np.maximum(_welch(distance, a.var, b.var, n_a, n_b), _pooled(distance, a, b, n_a, n_b))
        p = np.maximum(p, smallest_pvalue(n_a, n_b))
        known = can_compare(a, b) & (np.minimum(n_a, n_b) > 0)
        np.minimum(best, np.where(known & (distance > 0), p, 1.0), out=best)
    n_classes = (unfaded(snap.weight, snap) > 0).sum(axis=0)
    p = np.minimum(1.0, best * np.where(n_classes > 2, n_classes, 1))
    flags, of_flags = _flag_pvalues(snap)
    p[flags] = np.maximum(p[flags], of_flags)
    return np.where(can_be_tested(snap), p, 1.0)


def _welch(distance: Floats, var_a: Floats, var_b: Floats, n_a: Floats, n_b: Floats) -> Floats:
    """Return the p-value of Welch's test.

    T divides the population variance by N_c. Welch's statistic divides the unbiased variance
    var * n / (n - 1) by n, that is var / (n - 1).
    """
    free_a, free_b = np.maximum(n_a - 1, _ROUNDING), np.maximum(n_b - 1, _ROUNDING)
    error_a, error_b = var_a / free_a, var_b / free_b
    share = ratio(error_a, error_a + error_b)
    freedom = 1 / (share**2 / free_a + (1 - share) ** 2 / free_b)
    return _two_sided(ratio(distance, np.sqrt(error_a + error_b)), freedom)


def _pooled(distance: Floats, a: Group, b: Group, n_a: Floats, n_b: Floats) -> Floats:
    freedom = np.maximum(n_a + n_b - 2, _ROUNDING)
    variance = (n_a * a.var + n_b * b.var) / freedom
    return _two_sided(ratio(distance, np.sqrt(variance * (1 / n_a + 1 / n_b))), freedom)


def _two_sided(t: Floats, freedom: Floats) -> Floats:
    return np.where(np.isinf(t), 0.0, 2 * stdtr(freedom, -t))


@per_feature("moments")
def fisher_pvalues(snap: Snapshot) -> Floats:
    """Compute p-values of the F-test, F = Fisher * (n* - C) / (C - 1).

    With unit weights it is `sklearn.feature_selection.f_classif`. The F-test does not hold for
    outliers and a small class: the p-value of T is used there if it is larger. Features with two
    values that are too rare for the F-test have the p-value of their table of counts, if that is
    larger.

    Parameters
    ----------
    snap : Snapshot or Bank
        A snapshot with moments, or a bank.

    Returns
    -------
    ndarray of shape (n_features,)
        1 where n* is at most C.

    See Also
    --------
    fisher : The score that is tested.

    Examples
    --------
    >>> import driftsieve as ds
    >>> X = [[0.0, 1.0], [0.2, 0.0], [0.8, 1.0], [1.0, 0.0], [0.1, 1.0], [0.9, 1.0]]
    >>> snap = ds.offline.snapshot(X, ["ham", "ham", "spam", "spam", "ham", "spam"])
    >>> ds.scores.fisher_pvalues(snap)
    array([0.05, 1.  ])
    """
    rows = evidence(snap)
    within = rows.n - rows.n_classes
    score = spread_ratio(snap)
    statistic, between = rows.adjusted(score * within)
    # The error of the variance within classes is also relative to the mean of the statistic.
    beneath = within * (between / (rows.scale * (rows.n_classes - 1))) ** 2
    p = fdtrc(between / _inflation(snap), beneath, statistic / between)
    p = np.maximum(np.where(np.isinf(score), 0.0, p), smallest_pvalue(*class_sizes(snap)))
    flags, of_flags = _flag_pvalues(snap)
    p[flags] = np.maximum(p[flags], of_flags)
    unsafe = np.flatnonzero(_has_outliers_that_decide(snap) & ~flags)
    if len(unsafe):
        p[unsafe] = np.maximum(p[unsafe], t_pvalues(snap.pick(unsafe)))
    return np.where(can_be_tested(snap) & (within > _ROUNDING), p, 1.0)


def _has_outliers_that_decide(snap: Snapshot) -> NDArray[np.bool_]:
    """Return whether outliers could decide the F-test.

    That is so if class variances differ more than those of normal values, for which n_c (var_c /
    var - 1)**2 is 2 on average, and one class is small, has less than half its share of the rows,
    or has rows that weigh more than twice those of another class.
    """
    weight, sizes, uneven = _spread_of_variances(snap)
    n_classes = (sizes > 0).sum(axis=0)
    small = (sizes > 0) & (sizes < np.maximum(_SMALL, sizes.sum(axis=0) / (2 * n_classes)))
    per_row = ratio(weight, sizes)  # a class whose rows weigh more decides the variance within
    heavier = per_row.max(axis=0) > 2 * np.where(sizes > 0, per_row, np.inf).min(axis=0)
    unsafe: NDArray[np.bool_] = (small.any(axis=0) | heavier) & (uneven > _OUTLIERS)
    return unsafe


def _inflation(snap: Snapshot) -> Floats:
    """Return the factor by which outliers increase the variance of F, 1 where there are none.

    It is 1 + k (sum_c 1/n_c - C**2/n) / (2 (C - 1)), with k the excess kurtosis (Box and Andersen
    1955), which the variances of the classes estimate. It is 1 for two classes, whose p-values are
    right without it, and where it would be less than 1.02.
    """
    _, sizes, uneven = _spread_of_variances(snap)
    n_classes = (sizes > 0).sum(axis=0)
    each = ratio(np.ones_like(sizes), np.where(sizes > 0, sizes, np.inf)).sum(axis=0)
    unequal = np.maximum(each - ratio(n_classes**2, sizes.sum(axis=0)), 0.0)
    excess = np.where((uneven > _OUTLIERS) & (n_classes > 2), uneven - 2.0, 0.0)
    factor = 1.0 + unequal * excess / np.maximum(2 * (n_classes - 1), 1)
    return np.where(factor > _NEGLIGIBLE, factor, 1.0)


def _spread_of_variances(snap: Snapshot) -> tuple[Floats, Floats, Floats]:
    """Return weights and sizes, (C, p), and the mean of n_c (var_c / var - 1)**2, (p,)."""
    weight, sizes, _, var = (np.stack(part) for part in zip(*class_groups(snap), strict=True))
    within = ratio((weight * var).sum(axis=0), weight.sum(axis=0))
    n_classes = (sizes > 0).sum(axis=0)
    uneven = ratio((sizes * (ratio(var, within) - 1) ** 2).sum(axis=0), n_classes)
    return weight, sizes, uneven


def _flag_pvalues(snap: Snapshot) -> tuple[NDArray[np.bool_], Floats]:
    """Return which features are flags, and lower bounds of the p-values of rare ones."""
    flags, weights = flag_table(snap)
    sizes, effect = class_sizes(snap)[:, flags], design_effect(snap)[flags]
    # Most rare flags of a wide stream have the table of counts of many others.
    first, place = distinct_columns(np.vstack([*weights, sizes, effect]))
    tables = dependence(weights[..., first])
    return flags, rare_cell_pvalues(tables, sizes[:, first], effect[first])[place]


@per_feature("quantiles")
def chi2_pvalues(snap: Snapshot) -> Floats:
    """Compute p-values of Pearson's test of the table of bins and classes.

    The statistic is rescaled from weight W to n* rows, with (non-empty bins - 1)(C - 1) degrees of
    freedom. Tables with a rare bin whose expected counts are too small are tested class by class,
    if that p-value is larger.

    Parameters
    ----------
    snap : Snapshot or Bank
        A snapshot with quantile bins, or a bank, which is read with 5 bins.

    Returns
    -------
    ndarray of shape (n_features,)
        1 for features without a degree of freedom.

    See Also
    --------
    chi2 : The score that is tested.

    Examples
    --------
    >>> import driftsieve as ds
    >>> X = [[i % 2, i % 3] for i in range(60)]
    >>> snap = ds.offline.snapshot(X, [i % 2 for i in range(60)])
    >>> ds.scores.chi2_pvalues(snap).round(3)
    array([0., 1.])
    """
    return table_pvalues(
        dependence(table(snap)), class_sizes(snap), evidence(snap), design_effect(snap)
    )


@per_feature("quantiles")
def mutual_info_pvalues(snap: Snapshot) -> Floats:
    """Compute p-values of Pearson's test of the same table as `mutual_info`.

    The p-value of the G-test, 2 * n* * MI, is far too small where expected counts are small.

    Parameters
    ----------
    snap : Snapshot or Bank
        A snapshot with quantile bins, or a bank, which is read with 5 bins.

    Returns
    -------
    ndarray of shape (n_features,)
        The same as `chi2_pvalues`.

    See Also
    --------
    mutual_info : The score that is tested.

    Examples
    --------
    >>> import driftsieve as ds
    >>> X = [[i % 2, i % 3] for i in range(60)]
    >>> snap = ds.offline.snapshot(X, [i % 2 for i in range(60)])
    >>> ds.scores.mutual_info_pvalues(snap).round(3)
    array([0., 1.])
    """
    return chi2_pvalues(snap)


# doctest does not find decorated functions by itself.
__test__ = {
    "chi2_pvalues": chi2_pvalues,
    "fisher_pvalues": fisher_pvalues,
    "mutual_info_pvalues": mutual_info_pvalues,
    "t_pvalues": t_pvalues,
}
