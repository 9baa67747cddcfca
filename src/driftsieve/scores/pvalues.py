"""p-values of the scores; Gini has none."""

from __future__ import annotations

import numpy as np
from scipy.special import chdtrc, fdtrc, stdtr

from driftsieve.scores.bins import Dependence, dependence, freedom, inertia, information, table
from driftsieve.scores.blocks import n_eff, per_feature, ratio, unfaded
from driftsieve.scores.moments import fisher_score, gap, one_against_rest
from driftsieve.snapshot import Floats, Snapshot

_ROUNDING = 1e-9  # of effective rows


@per_feature("moments")
def t_pvalues(snap: Snapshot) -> Floats:
    """Two-sided p-value of Welch's t-test, with effective class sizes n_c.

    T divides the population variance by N_c; Welch's statistic divides the unbiased variance
    var * n / (n - 1) by n, that is var / (n - 1), and has the Welch-Satterthwaite degrees of
    freedom. With unit weights this equals `scipy.stats.ttest_ind(equal_var=False)`. Several
    classes: the smallest p of one class against the rest, times the number of classes
    (Bonferroni). A class of at most one effective row cannot be tested: p = 1.
    """
    best = np.ones(snap.n_features)
    for a, b in one_against_rest(snap):
        free_a, free_b = a.n_eff - 1, b.n_eff - 1
        error_a, error_b = ratio(a.var, free_a), ratio(b.var, free_b)
        t = ratio(gap(a, b), np.sqrt(error_a + error_b))
        share = ratio(error_a, error_a + error_b)
        freedom = 1 / (share**2 / free_a + (1 - share) ** 2 / free_b)
        p = np.where(np.isinf(t), 0.0, 2 * stdtr(freedom, -t))
        testable = (free_a > _ROUNDING) & (free_b > _ROUNDING) & (t > 0)
        np.minimum(best, np.where(testable, p, 1.0), out=best)
    n_classes = (unfaded(snap.weight, snap) > 0).sum(axis=0)
    return np.minimum(1.0, best * np.where(n_classes > 2, n_classes, 1))


@per_feature("moments")
def fisher_pvalues(snap: Snapshot) -> Floats:
    """p-value of the F-test, F = Fisher * (n - C) / (C - 1): `sklearn.feature_selection.f_classif`
    with unit weights. n <= C effective rows: p = 1.
    """
    n_classes = (unfaded(snap.weight, snap) > 0).sum(axis=0)
    free = n_eff(snap) - n_classes
    score = fisher_score(snap)
    p = fdtrc(n_classes - 1, free, score * free / (n_classes - 1))
    p = np.where(np.isinf(score), 0.0, p)
    return np.where((n_classes > 1) & (free > _ROUNDING), p, 1.0)


@per_feature("quantiles")
def mutual_info_pvalues(snap: Snapshot) -> Floats:
    """p-value of the G-test: 2 * n * MI as chi-square with (non-empty bins - 1)(C - 1) degrees
    of freedom. No degree of freedom: p = 1. Values are joined without a look at classes, so
    the test stays what it is where summaries are pruned.
    """
    d = dependence(table(snap))
    return _chi2_tail(2 * n_eff(snap) * information(d), d)


@per_feature("quantiles")
def chi2_pvalues(snap: Snapshot) -> Floats:
    """p-value of chi-square rescaled from weight W to n rows, with (non-empty bins - 1)(C - 1)
    degrees of freedom. No degree of freedom: p = 1.
    """
    d = dependence(table(snap))
    return _chi2_tail(n_eff(snap) * inertia(d), d)


def _chi2_tail(statistic: Floats, d: Dependence) -> Floats:
    free = freedom(d)
    return np.where(free > 0, chdtrc(np.maximum(free, 1), statistic), 1.0)
