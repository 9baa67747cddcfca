"""Features with two values, found from bins and moments."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from driftsieve.snapshot import Floats, Snapshot

_TOLERANCE = 1e-6


def values_of_two(features: NDArray[np.int64], snapshot: Snapshot) -> dict[int, list[float]]:
    """Return the two values of each feature that has no others.

    Of two non-empty bins the first ends at the smaller value. The mean gives the larger one, and
    the variance shows whether these are all values. Without moments, the last edge gives the larger
    one, and values between the two have less weight than a bin would.

    Examples
    --------
    >>> from driftsieve import offline
    >>> snapshot = offline.snapshot([[0.0, 1.0], [2.0, 2.0], [0.0, 3.0], [2.0, 9.0]], [0, 1, 0, 1])
    >>> values_of_two(np.arange(2), snapshot)
    {0: [0.0, 2.0]}
    """
    edges, bins, mean, var = snapshot.edges, snapshot.bin_weights, snapshot.mean, snapshot.var
    if edges is None or bins is None or not len(features):
        return {}
    if mean is None or var is None:
        above = bins[:, -1].sum(axis=1) > 0
        distinct = [np.unique(row) for row in edges]
        return {
            int(f): values.tolist()
            for f, values, more in zip(features, distinct, above, strict=True)
            if len(values) == 2 and not more
        }
    total = bins.sum(axis=2)
    used = total > 0
    first, last = used.argmax(axis=1), used.shape[1] - 1 - used[:, ::-1].argmax(axis=1)
    rows = np.flatnonzero((used.sum(axis=1) == 2) & (first < edges.shape[1]))
    low = edges[rows, first[rows]]
    share = total[rows, last[rows]] / total[rows].sum(axis=1)
    all_mean, all_var = _pooled(snapshot.weight[:, rows], mean[:, rows], var[:, rows])
    with np.errstate(all="ignore"):
        high = low + (all_mean - low) / share
        expected = (high - low) ** 2 * share * (1 - share)
        exact = np.abs(all_var - expected) <= _TOLERANCE * expected
    return {
        int(features[row]): [float(a), float(_rounded(b))]
        for row, a, b, sure in zip(rows, low, high, exact, strict=True)
        if sure and b > a
    }


def _pooled(weight: Floats, mean: Floats, var: Floats) -> tuple[Floats, Floats]:
    """Return mean and variance of all classes together."""
    with np.errstate(all="ignore"):
        share = weight / weight.sum(axis=0)
        pooled = (share * mean).sum(axis=0)
        return pooled, (share * (var + (mean - pooled) ** 2)).sum(axis=0)


def _rounded(value: float) -> float:
    """Return the value without the rounding of the mean: 1 for 1.0000000000000002."""
    return float(f"{value:.9g}")
