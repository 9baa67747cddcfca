"""Selection rules: pure functions from scores or p-values to a boolean mask of features.

On the same input they keep what scikit-learn's SelectKBest, SelectPercentile, SelectFpr, SelectFdr
and SelectFwe keep, except that ties always go to the lower index. +inf is a valid score.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from driftsieve.scores import rank
from driftsieve.snapshot import Floats

Mask = NDArray[np.bool_]


def top_k(scores: Floats, k: int, larger_is_better: bool = True) -> Mask:
    """Select the k best features, or all of them if there are fewer.

    Parameters
    ----------
    scores : ndarray of shape (n_features,)
        One score per feature.
    k : int
        Number of features to select.
    larger_is_better : bool
        Whether larger scores are better.

    Returns
    -------
    ndarray of shape (n_features,) of bool
        True for selected features.

    Raises
    ------
    ValueError
        If k is negative.

    See Also
    --------
    percentile : Selects a share of the features.
    threshold : Selects features by the value of their scores.

    Examples
    --------
    >>> top_k(np.array([3.0, 1.0, 3.0, 2.0]), 1)
    array([ True, False, False, False])
    """
    if k < 0:
        raise ValueError(f"k must be at least 0, got {k}.")
    return rank(scores, larger_is_better) <= k


def percentile(scores: Floats, percent: float, larger_is_better: bool = True) -> Mask:
    """Select the best ``percent`` % of the features.

    These are the features above the (100 - percent)th percentile of the scores. Features that tie
    with it are added, lower indices first, up to ``percent`` % of all.

    Parameters
    ----------
    scores : ndarray of shape (n_features,)
        One score per feature.
    percent : float
        Between 0 and 100.
    larger_is_better : bool
        Whether larger scores are better.

    Returns
    -------
    ndarray of shape (n_features,) of bool
        True for selected features.

    Raises
    ------
    ValueError
        If ``percent`` is not between 0 and 100.

    See Also
    --------
    top_k : Selects a number of features.

    Examples
    --------
    >>> percentile(np.arange(10.0), 20).nonzero()[0]
    array([8, 9])
    """
    if not 0 <= percent <= 100:
        raise ValueError(f"percentile must be between 0 and 100, got {percent}.")
    n = len(scores)
    if percent in (0, 100) or n == 0:
        return np.full(n, percent == 100)
    goodness = scores if larger_is_better else -scores
    ascending = np.sort(goodness)
    position = (n - 1) * ((100 - percent) / 100)
    # The percentile is between these two; interpolation of two infinities would give NaN.
    below, above = ascending[int(np.floor(position))], ascending[int(np.ceil(position))]
    k = int(np.count_nonzero(goodness > below))
    if below == above:
        k = max(k, int(n * percent / 100))
    return top_k(scores, k, larger_is_better)


def threshold(scores: Floats, value: float, larger_is_better: bool = True) -> Mask:
    """Select the features whose score is at least as good as a value.

    Parameters
    ----------
    scores : ndarray of shape (n_features,)
        One score per feature.
    value : float
        The smallest score to select; the largest if smaller scores are better.
    larger_is_better : bool
        Whether larger scores are better.

    Returns
    -------
    ndarray of shape (n_features,) of bool
        True for selected features.

    Raises
    ------
    ValueError
        If ``value`` is NaN.

    See Also
    --------
    top_k : Selects a number of features.

    Examples
    --------
    >>> threshold(np.array([0.1, 0.2, 0.3]), 0.2, larger_is_better=False)
    array([ True,  True, False])
    """
    if np.isnan(value):
        raise ValueError("threshold must be a number, got nan.")
    return scores >= value if larger_is_better else scores <= value


def fpr(pvalues: Floats, alpha: float = 0.05) -> Mask:
    """Select the features with a p-value below alpha, which is their false positive rate.

    Parameters
    ----------
    pvalues : ndarray of shape (n_features,)
        One p-value per feature.
    alpha : float
        Error rate, between 0 and 1.

    Returns
    -------
    ndarray of shape (n_features,) of bool
        True for selected features.

    Raises
    ------
    ValueError
        If alpha is not between 0 and 1.

    See Also
    --------
    fdr : Bounds the share of false positives among the selected features.
    fwe : Bounds the probability of any false positive.

    Examples
    --------
    >>> fpr(np.array([0.01, 0.2]))
    array([ True, False])
    """
    _check_alpha(alpha)
    return pvalues < alpha


def fdr(pvalues: Floats, alpha: float = 0.05) -> Mask:
    """Select features with a false discovery rate of at most alpha (Benjamini and Hochberg).

    Parameters
    ----------
    pvalues : ndarray of shape (n_features,)
        One p-value per feature.
    alpha : float
        Error rate, between 0 and 1.

    Returns
    -------
    ndarray of shape (n_features,) of bool
        True for selected features.

    Raises
    ------
    ValueError
        If alpha is not between 0 and 1.

    See Also
    --------
    fpr : Does not correct for the number of features.
    fwe : Bounds the probability of any false positive.

    Examples
    --------
    >>> fdr(np.array([0.03, 0.01, 0.9, 0.2]), alpha=0.1)
    array([ True,  True, False, False])
    """
    _check_alpha(alpha)
    ascending, n = np.sort(pvalues), len(pvalues)
    kept = ascending[ascending <= alpha / max(1, n) * np.arange(1, n + 1)]
    return pvalues <= kept[-1] if kept.size else np.zeros(n, dtype=np.bool_)


def fwe(pvalues: Floats, alpha: float = 0.05) -> Mask:
    """Select features with a family-wise error rate of at most alpha (Bonferroni).

    The probability of any false positive is at most alpha.

    Parameters
    ----------
    pvalues : ndarray of shape (n_features,)
        One p-value per feature.
    alpha : float
        Error rate, between 0 and 1.

    Returns
    -------
    ndarray of shape (n_features,) of bool
        True for selected features.

    Raises
    ------
    ValueError
        If alpha is not between 0 and 1.

    See Also
    --------
    fdr : Less strict with many features.

    Examples
    --------
    >>> fwe(np.array([0.01, 0.03, 0.9]))
    array([ True, False, False])
    """
    _check_alpha(alpha)
    return pvalues < alpha / max(1, len(pvalues))


def _check_alpha(alpha: float) -> None:
    if not 0 <= alpha <= 1:
        raise ValueError(f"alpha must be between 0 and 1, got {alpha}.")
