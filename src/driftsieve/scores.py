"""The five screening scores and their p-values: pure functions of a snapshot.

Every function returns one float64 per feature, never NaN. Shared rules:

- A class without weight for a feature does not count there, nor does one that has faded below
  1e-300 of all weight. A feature that counts for fewer than two classes cannot tell them apart: it
  scores 0 (Gini: the impurity of the class weights), p = 1.
- Class means that agree to rounding (4 units in the last place of the mean plus 64 of the standard
  deviation) count as equal: their difference has no correct digit left, and 1e-17 / 0 must not
  become +inf. A constant column scores exactly 0.
- Empty bins and empty cells contribute 0.
- p-values use the effective number of rows n = (sum w)**2 / sum w**2, which is the number of rows
  when all weights are 1. Where values are missing, n shrinks with the weight that counts.
- Values beyond about 1e-150 or 1e+150 have no variance in double precision and no sensible T
  or Fisher score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce, wraps
from itertools import accumulate
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, fdtrc, stdtr, xlog1py

from driftsieve.snapshot import Floats, Snapshot

Needs = Literal["moments", "quantiles"]
ScoreFunction = Callable[[Snapshot], Floats]

_EPS = float(np.finfo(np.float64).eps)
_BLOCK_CELLS = 1 << 18  # 2 MB per temporary: stays in cache, whatever the number of features


def _per_feature(needs: Needs) -> Callable[[ScoreFunction], ScoreFunction]:
    """Check the snapshot once, then run the kernel over blocks of features."""

    def decorate(kernel: ScoreFunction) -> ScoreFunction:
        @wraps(kernel)
        def score(snap: Snapshot) -> Floats:
            missing = snap.mean is None if needs == "moments" else snap.bin_weights is None
            if missing:
                raise ValueError(
                    f"{kernel.__name__} needs {needs}, which this snapshot does not have: "
                    f"build the bank with {needs}=True"
                )
            present = snap.classes[_unfaded(snap.class_weight, snap) > 0].tolist()
            if len(present) < 2:
                found = f"only one class: {present[0]!r}" if len(present) else "no class"
                raise ValueError(
                    "Scoring needs rows of at least 2 classes with positive weight, "
                    f"but the data contains {found}"
                )
            step = max(1, _BLOCK_CELLS // (snap.n_classes * (snap.n_bins or 1)))
            out = np.empty(snap.n_features)
            with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
                for start in range(0, snap.n_features, step):
                    out[start : start + step] = kernel(snap.columns(start, start + step))
            return out

        return score

    return decorate


def _ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Divide; numerator 0 gives 0, otherwise denominator 0 gives +inf."""
    return np.where(numerator == 0, 0.0, np.divide(numerator, denominator))


def _unfaded(weight: Floats, snap: Snapshot) -> Floats:
    """0 in place of weights near the end of the range of double, whose quotients would leave it."""
    return np.where(weight > 1e-300 * max(1.0, snap.W), weight, 0.0)


def _class_sizes(snap: Snapshot) -> Floats:
    """(C, p) effective number of rows of each class that count for each feature."""
    return _unfaded(snap.weight, snap) * _ratio(snap.class_n_eff, snap.class_weight)[:, None]


# --- T and Fisher: from class moments ---------------------------------------------------------


class _Group(NamedTuple):
    """Moments of some rows: (p,) each."""

    weight: Floats
    n_eff: Floats
    mean: Floats
    var: Floats


def _groups(snap: Snapshot) -> list[_Group]:
    assert snap.mean is not None
    assert snap.var is not None
    weight = _unfaded(snap.weight, snap)
    # A mean that has left the range of double tells nothing: the spread has done so long before.
    mean = snap.mean if snap.centred_mean is None else snap.centred_mean
    known = np.isfinite(mean) & ~np.isnan(snap.var)
    mean = np.where((weight > 0) & known, mean, 0.0)
    var = np.where(weight > 0, np.where(known, snap.var, np.inf), 0.0)
    groups = zip(weight, _class_sizes(snap), mean, var, strict=True)
    return [_Group(*group) for group in groups]


def _join(a: _Group, b: _Group) -> _Group:
    """Moments of the rows of both: sums of positive terms only, so nothing cancels."""
    weight = a.weight + b.weight
    share_a, share_b = _ratio(a.weight, weight), _ratio(b.weight, weight)
    gap = b.mean - a.mean
    return _Group(
        weight,
        1 / (_ratio(share_a**2, a.n_eff) + _ratio(share_b**2, b.n_eff)),
        a.mean + share_b * gap,
        share_a * a.var + share_b * b.var + share_a * share_b * gap**2,
    )


def _one_against_rest(snap: Snapshot) -> Iterator[tuple[_Group, _Group]]:
    """Each class and the join of all others; two classes give a single pair."""
    groups = _groups(snap)
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


def _same(low: Floats, high: Floats, var: Floats) -> NDArray[np.bool_]:
    """Whether the means from low to high agree to rounding."""
    largest = np.maximum(np.abs(low), np.abs(high))
    same: NDArray[np.bool_] = high - low <= 4 * _EPS * largest + 64 * _EPS * np.sqrt(var)
    return same


def _gap(a: _Group, b: _Group) -> Floats:
    """|mean_a - mean_b|, 0 where they agree to rounding or where a group is empty."""
    low, high = np.minimum(a.mean, b.mean), np.maximum(a.mean, b.mean)
    no_gap = _same(low, high, np.maximum(a.var, b.var)) | (a.weight == 0) | (b.weight == 0)
    return np.where(no_gap, 0.0, high - low)


@_per_feature("moments")
def t_score(snap: Snapshot) -> Floats:
    """|mean_1 - mean_2| / sqrt(var_1 / N_1 + var_2 / N_2); several classes: the largest T of one
    class against the rest. Equal means give 0, otherwise two constant classes give +inf.
    """
    best = np.zeros(snap.n_features)
    for a, b in _one_against_rest(snap):
        spread = np.sqrt(_ratio(a.var, a.weight) + _ratio(b.var, b.weight))
        np.maximum(best, _ratio(_gap(a, b), spread), out=best)
    return best


@_per_feature("moments")
def t_pvalues(snap: Snapshot) -> Floats:
    """Two-sided p-value of Welch's t-test, with effective class sizes n_c.

    T divides the population variance by N_c; Welch's statistic divides the unbiased variance
    var * n / (n - 1) by n, that is var / (n - 1), and has the Welch-Satterthwaite degrees of
    freedom. With unit weights this equals `scipy.stats.ttest_ind(equal_var=False)`. Several
    classes: the smallest p of one class against the rest, times the number of classes
    (Bonferroni). A class of at most one effective row cannot be tested: p = 1.
    """
    best = np.ones(snap.n_features)
    for a, b in _one_against_rest(snap):
        free_a, free_b = a.n_eff - 1, b.n_eff - 1
        error_a, error_b = _ratio(a.var, free_a), _ratio(b.var, free_b)
        t = _ratio(_gap(a, b), np.sqrt(error_a + error_b))
        share = _ratio(error_a, error_a + error_b)
        freedom = 1 / (share**2 / free_a + (1 - share) ** 2 / free_b)
        p = np.where(np.isinf(t), 0.0, 2 * stdtr(freedom, -t))
        testable = (free_a > 0) & (free_b > 0) & (t > 0)
        np.minimum(best, np.where(testable, p, 1.0), out=best)
    n_classes = (_unfaded(snap.weight, snap) > 0).sum(axis=0)
    return np.minimum(1.0, best * np.where(n_classes > 2, n_classes, 1))


@_per_feature("moments")
def fisher_score(snap: Snapshot) -> Floats:
    """Between-class over within-class spread, sum N_c (mean_c - mean)**2 / sum N_c var_c.
    Equal means give 0, otherwise constant classes give +inf.
    """
    groups = _groups(snap)
    total = reduce(_join, groups)
    shares = [_ratio(g.weight, total.weight) for g in groups]
    within = sum(share * g.var for share, g in zip(shares, groups, strict=True))
    spread = np.sqrt(within)
    low = reduce(np.minimum, (np.where(g.weight > 0, g.mean, np.inf) for g in groups))
    high = reduce(np.maximum, (np.where(g.weight > 0, g.mean, -np.inf) for g in groups))
    same = _same(low, high, reduce(np.maximum, (g.var for g in groups)))
    score = np.zeros(snap.n_features)
    for share, group in zip(shares, groups, strict=True):
        offset = np.where(same | (share == 0), 0.0, group.mean - total.mean)
        # offset / spread before squaring: the square alone would leave the range of double sooner.
        score += share * _ratio(offset, spread) ** 2
    return score


@_per_feature("moments")
def fisher_pvalues(snap: Snapshot) -> Floats:
    """p-value of the F-test, F = Fisher * (n - C) / (C - 1): `sklearn.feature_selection.f_classif`
    with unit weights. n <= C effective rows: p = 1.
    """
    n_classes = (_unfaded(snap.weight, snap) > 0).sum(axis=0)
    free = _n_eff(snap) - n_classes
    score = fisher_score(snap)
    p = fdtrc(n_classes - 1, free, score * free / (n_classes - 1))
    p = np.where(np.isinf(score), 0.0, p)
    return np.where((n_classes > 1) & (free > 0), p, 1.0)


def _n_eff(snap: Snapshot) -> Floats:
    """(p,) effective number of rows behind each feature."""
    weight = _unfaded(snap.weight, snap)
    shares = _ratio(weight, weight.sum(axis=0))
    per_row = _ratio(shares**2, _class_sizes(snap)).sum(axis=0)
    return np.where(per_row > 0, 1 / per_row, 0.0)


# --- mutual information, chi-square and Gini: from the K x C table of bin weights ---------------


def _table(snap: Snapshot) -> Floats:
    """(K, C, p), contiguous: sums over bins and classes then run along the features."""
    assert snap.bin_weights is not None
    return np.ascontiguousarray(_unfaded(snap.bin_weights, snap).transpose(1, 2, 0))


class _Dependence(NamedTuple):
    """How far a table is from independence: share of a cell = expected * (1 + excess)."""

    expected: Floats  # (K, C, p) share of the bin times share of the class
    excess: Floats  # (K, C, p), at least -1, 0 in empty bins
    deviation: Floats  # (K, C, p) expected * excess, which may be far above the smaller of the two
    total: Floats  # (p,) weight in the table
    freedom: Floats  # (p,) (non-empty bins - 1) * (classes - 1)


def _dependence(snap: Snapshot) -> _Dependence:
    table = _table(snap)
    bins, classes = table.sum(axis=1, keepdims=True), table.sum(axis=0, keepdims=True)
    total = bins.sum(axis=0)
    bin_share, class_share = _ratio(bins, total), _ratio(classes, total)
    # Quotients of whole numbers round alike, so an independent table of counts gives exactly 0.
    gap = _ratio(table, classes) - bin_share
    n_bins, n_classes = (bins > 0).sum(axis=0), (classes > 0).sum(axis=1)
    return _Dependence(
        expected=bin_share * class_share,
        excess=_ratio(gap, bin_share),
        deviation=class_share * gap,
        total=total[0],
        freedom=np.where(total > 0, (n_bins - 1) * (n_classes - 1), 0)[0],
    )


def _information(d: _Dependence) -> Floats:
    # Adding expected - share, which sums to 0, makes every term >= 0: nothing cancels, and small
    # values keep their digits.
    terms = d.expected * (xlog1py(1 + d.excess, d.excess) - d.excess)
    return np.asarray(terms.sum(axis=(0, 1))).clip(min=0.0)


def _inertia(d: _Dependence) -> Floats:
    return np.asarray((d.deviation * d.excess).sum(axis=(0, 1)))


def _chi2_tail(statistic: Floats, d: _Dependence) -> Floats:
    return np.where(d.freedom > 0, chdtrc(np.maximum(d.freedom, 1), statistic), 1.0)


def _resolved(statistic: Floats, snap: Snapshot, d: _Dependence) -> Floats:
    """What of a chi-square statistic cannot come from the rank error of the bins.

    Its root is a norm, sqrt(n * sum over bins of var_c(share of class c in the bin) / bin share).
    The bank sums up each class by itself and is off by at most e = rank_error / W at an edge. So a
    class's share of a bin is off by -e to e (of an outer bin, with its one edge, by a range of e),
    the variance of that over the classes is at most e**2 (e**2 / 4), and the root of the statistic
    is larger than the true one by no more than the norm of these. Without this, the statistic of
    pure noise grows like n * e**2, and with enough rows every feature would be significant.
    """
    assert snap.rank_error is not None
    bin_share = d.expected.sum(axis=1)
    spread = np.ones((len(bin_share), 1))
    spread[[0, -1]] = 0.25
    error = _ratio(snap.rank_error, d.total)
    blur = error * np.sqrt(_n_eff(snap) * _ratio(spread * (bin_share > 0), bin_share).sum(axis=0))
    return np.asarray(np.maximum(np.sqrt(statistic) - blur, 0.0) ** 2)


@_per_feature("quantiles")
def mutual_info(snap: Snapshot) -> Floats:
    """Mutual information of quantile bin and class, in nats; at least 0."""
    return _information(_dependence(snap))


@_per_feature("quantiles")
def mutual_info_pvalues(snap: Snapshot) -> Floats:
    """p-value of the G-test: 2 * n * MI as chi-square with (non-empty bins - 1)(C - 1) degrees
    of freedom. No degree of freedom: p = 1. What rank error may explain does not count: smaller
    dependence needs a bank with a smaller epsilon.
    """
    d = _dependence(snap)
    return _chi2_tail(_resolved(2 * _n_eff(snap) * _information(d), snap, d), d)


@_per_feature("quantiles")
def chi2(snap: Snapshot) -> Floats:
    """Pearson's chi-square of the table of bin weights; at least 0."""
    d = _dependence(snap)
    return d.total * _inertia(d)


@_per_feature("quantiles")
def chi2_pvalues(snap: Snapshot) -> Floats:
    """p-value of chi-square rescaled from weight W to n rows, with (non-empty bins - 1)(C - 1)
    degrees of freedom. No degree of freedom: p = 1. What rank error may explain does not count:
    smaller dependence needs a bank with a smaller epsilon.
    """
    d = _dependence(snap)
    return _chi2_tail(_resolved(_n_eff(snap) * _inertia(d), snap, d), d)


@_per_feature("quantiles")
def gini_index(snap: Snapshot) -> Floats:
    """Smallest weighted Gini impurity over a split at one of the K - 1 edges and no split.
    Lower is better.
    """
    # Exact, and products of weights then stay within the range of double.
    unit = np.ldexp(1.0, -np.frexp(snap.W)[1])
    table = _table(snap) * unit
    left = table.cumsum(axis=0)
    right = table[::-1].cumsum(axis=0)[::-1]
    impurity = _impurity(left[-1])
    if len(table) > 1:
        split = _impurity(left[:-1]) + _impurity(right[1:])
        impurity = np.minimum(impurity, split.min(axis=0))
    total = left[-1].sum(axis=0)
    two_classes = (left[-1] > 0).sum(axis=0) > 1
    prior = _impurity(snap.class_weight[:, None] * unit) / (snap.W * unit)
    return np.where(two_classes, _ratio(impurity, total), prior)


def _impurity(weights: Floats) -> Floats:
    """Weight times Gini impurity, (..., C, p) -> (..., p): W (1 - sum share**2), written as
    2 sum_{i<j} N_i N_j / W so that nearly pure sides keep their digits.
    """
    running = weights.cumsum(axis=-2)
    pairs = (running[..., :-1, :] * weights[..., 1:, :]).sum(axis=-2)
    return 2 * _ratio(pairs, running[..., -1, :])


# --- the table of scores ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Score:
    """One row of SCORES."""

    function: ScoreFunction
    pvalues: ScoreFunction | None
    larger_is_better: bool
    needs: Needs


SCORES: dict[str, Score] = {
    "t": Score(t_score, t_pvalues, True, "moments"),
    "fisher": Score(fisher_score, fisher_pvalues, True, "moments"),
    "mutual_info": Score(mutual_info, mutual_info_pvalues, True, "quantiles"),
    "chi2": Score(chi2, chi2_pvalues, True, "quantiles"),
    "gini": Score(gini_index, None, False, "quantiles"),
}


def rank(scores: Floats, larger_is_better: bool) -> NDArray[np.int64]:
    """Rank of each feature: 1 is best, ties go to the lower index.

    Scores are compared to 30 bits, the relative 1e-9 they are promised to: features that tie by
    definition must not be ordered by rounding.

    >>> rank(np.array([0.5, np.inf, 0.5 + 1e-16, 0.1]), larger_is_better=True)
    array([2, 1, 3, 4])
    """
    mantissa, exponent = np.frexp(scores)
    rounded = np.ldexp(np.round(mantissa * 2.0**30), exponent - 30)
    order = np.argsort(-rounded if larger_is_better else rounded, kind="stable")
    ranks = np.empty(len(scores), dtype=np.int64)
    ranks[order] = np.arange(1, len(scores) + 1)
    return ranks
