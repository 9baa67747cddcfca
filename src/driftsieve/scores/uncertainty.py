"""What the bins of a pruned summary leave open, and the table within it that says least."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftsieve.scores.blocks import ratio
from driftsieve.snapshot import Floats

_SWEEPS = 200
_OVER = 1.7  # over-relaxation: a step goes that much of the way
_NEAR = 1e-7  # of a class: steps below it no longer show in a statistic


def nearest_to_independence(table: Floats, hidden: Floats) -> Floats:
    """The table of least mutual information of all that may be the true one.

    ``table`` is (K, C, p); at edge k the cumulative weight of class c is at least what the table
    has up to it and at most ``hidden``, (K - 1, C, p), more. Bins that may be empty for all that is
    known are joined with their neighbours first, which makes no statistic larger; what is returned
    has as many empty bins at its end.

    Plot the cumulative share F_c of a class against that of all, S. Mutual information is the sum
    over classes and bins of dS * phi(dF_c / dS) with phi convex, so for given S it is least on the
    string pulled taut between the bounds at the edges: a point of it lies on the straight line
    between its neighbours, or at the bound it is kept by. Given the F_c, the best S is their mean.
    Moving the points there in turn leads to the minimum, for the problem is convex in all of them
    together. Chi-square has another phi and the same string; its best S differs, but by so little
    that where dependence is in doubt it does not matter (a test holds it to 5 %).
    """
    low, high, share = _bounds(table, hidden)
    path = np.empty((len(table) + 1, *share.shape))
    path[0], path[1:-1], path[-1] = 0.0, (low + high) / 2, 1.0
    pooled = (share * path).sum(axis=1)
    for _ in range(_SWEEPS):
        moved = 0.0
        for k in range(1, len(table)):
            part = ratio(pooled[k] - pooled[k - 1], pooled[k + 1] - pooled[k - 1])
            before, here, after = path[k - 1 : k + 2] - pooled[k - 1 : k + 2, None]
            point = path[k] + _OVER * (before + part * (after - before) - here)
            point = point.clip(low[k - 1], high[k - 1]).clip(path[k - 1], path[k + 1])
            moved = max(moved, float(np.abs(point - path[k]).max(initial=0.0)))
            path[k] = point
            pooled[k] = (share * point).sum(axis=0)
        if moved < _NEAR:
            break
    return np.asarray(np.diff(path, axis=0) * table.sum(axis=0))


class _Bounds(NamedTuple):
    low: Floats  # (K - 1, C, p) least share of the class below each edge
    high: Floats  # and the largest
    share: Floats  # (C, p) of the class in all


def _bounds(table: Floats, hidden: Floats) -> _Bounds:
    """Those at the edges of bins that are surely there, then as many at the end as are left."""
    size = table.sum(axis=0)
    low = ratio(table.cumsum(axis=0)[:-1], size)
    high = np.minimum(low + ratio(hidden, size), 1.0)
    # What lies below an edge lies below the next one too.
    high = np.minimum.accumulate(high[::-1], axis=0)[::-1]
    kept = _kept_edges(table.sum(axis=1), hidden.sum(axis=1))
    order = np.argsort(~kept, axis=0, kind="stable")[:, None]
    left_out = np.sort(~kept, axis=0)[:, None]
    low, high = (
        np.where(left_out, 1.0, np.take_along_axis(bound, order, axis=0)) for bound in (low, high)
    )
    return _Bounds(low, high, ratio(size, size.sum(axis=0)))


def _kept_edges(bins: Floats, hidden: Floats) -> NDArray[np.bool_]:
    """(K - 1, p): bins grow from left to right until they hold more than is open at their ends."""
    kept = np.zeros(hidden.shape, dtype=np.bool_)
    last = np.full(hidden.shape[1], -1)  # edge that was kept
    weight, open_at_last = np.zeros(hidden.shape[1]), np.zeros(hidden.shape[1])
    for k, open_here in enumerate(hidden):
        weight = weight + bins[k]
        kept[k] = weight > open_at_last + open_here
        last = np.where(kept[k], k, last)
        weight = np.where(kept[k], 0.0, weight)
        open_at_last = np.where(kept[k], open_here, open_at_last)
    too_small = np.flatnonzero((weight + bins[-1] <= open_at_last) & (last >= 0))
    kept[last[too_small], too_small] = False
    return kept
