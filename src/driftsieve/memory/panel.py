"""The panel: the features that a review compares, if comparing all of them would take too long."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]

AT_FIRST, ALWAYS = 64, 16
"""Smallest numbers of features to compare, in the first reviews and in later ones."""
VALUES_PER_FEATURE = {"quantiles": 3200, "moments": 5000, "sparse": 700}
"""Number of values per compared feature, by what the bank keeps. More features tell more, and take
more time. These are counts, not times: the same rows give the same state."""
KEPT = 0.7
"""Share of the panel that is kept: the features with the largest relevance."""


def panel_size(n_features: int, n_values: int, kind: str, *, is_first: bool = False) -> int:
    """Return the number of features to compare, given the number of values.

    >>> panel_size(6, 6000, "quantiles"), panel_size(1000, 6_400_000, "quantiles")
    (6, 1000)
    """
    at_least = AT_FIRST if is_first else ALWAYS
    return min(n_features, max(at_least, n_values // VALUES_PER_FEATURE[kind]))


def next_panel(
    n_features: int, size: int, known: Indices, relevance: NDArray[np.float64], others: Indices
) -> Indices:
    """Return the features of the next review, ascending: the best known ones, and others.

    ``relevance`` is that of the features ``known``. Others follow in their order, without
    duplicates, up to ``size`` features.
    """
    if size >= n_features:
        return np.arange(n_features)
    best = known[np.argsort(-relevance, kind="stable")[: int(KEPT * size)]]
    fresh = others[~np.isin(others, best)]
    _, first = np.unique(fresh, return_index=True)
    fresh = fresh[np.sort(first)][: size - len(best)]
    return np.sort(np.concatenate([best, fresh]))


def in_turn(n_features: int, start: int, count: int) -> Indices:
    """Return ``count`` features, from a position of a fixed order that separates neighbours.

    >>> in_turn(10, 0, 4), in_turn(10, 8, 4)
    (array([0, 7, 4, 1]), array([6, 3, 0, 7]))
    """
    step = max(1, round(0.618 * n_features))
    while math.gcd(step, n_features) > 1:
        step += 1
    return (start + np.arange(min(count, n_features))) * step % n_features
