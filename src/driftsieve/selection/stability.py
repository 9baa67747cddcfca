"""Measures of the stability of selections: pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike


def jaccard(a: Iterable[int], b: Iterable[int]) -> float:
    """Compute the size of the intersection of two selections over the size of their union.

    Parameters
    ----------
    a, b : iterable of int
        Indices of selected features.

    Returns
    -------
    float
        Between 0 and 1; 1 if both are empty.

    See Also
    --------
    nogueira : Stability of any number of selections, corrected for chance.

    Examples
    --------
    >>> jaccard([1, 2, 3], [2, 3, 4])
    0.5
    """
    first, second = set(a), set(b)
    union = len(first | second)
    return len(first & second) / union if union else 1.0


def nogueira(selections: Sequence[ArrayLike], n_features: int) -> float:
    """Compute the stability of selections (Nogueira, Sechidis and Brown 2018).

    Parameters
    ----------
    selections : sequence of array-like of int
        The indices of the selected features, for each selection. Repeated indices count once.
    n_features : int
        Number of features to select from.

    Returns
    -------
    float
        1 if all selections are the same; 0 is the mean of random selections of any sizes. NaN where
        the measure is undefined: with fewer than two selections, or if all are empty or all
        complete.

    Raises
    ------
    ValueError
        If an index is out of range.

    See Also
    --------
    jaccard : Overlap of two selections.

    Examples
    --------
    >>> nogueira([[0, 1], [0, 1], [0, 1]], n_features=10)
    1.0
    >>> round(nogueira([[0, 1], [0, 2], [0, 3]], n_features=10), 4)
    0.375
    """
    chosen = [np.unique(np.asarray(s, dtype=np.int64)) for s in selections]
    for s in chosen:
        if s.size and (s[0] < 0 or s[-1] >= n_features):
            found = s[0] if s[0] < 0 else s[-1]
            raise ValueError(
                f"selections must have indices from 0 to {n_features - 1}, got {found}."
            )
    m = len(chosen)
    mean_size = sum(s.size for s in chosen) / m if m else 0.0
    if m < 2 or mean_size in (0, n_features):
        return float("nan")
    frequency = np.unique(np.concatenate(chosen), return_counts=True)[1] / m  # p_f > 0
    # The mean of s_f^2 = M/(M-1) p_f (1 - p_f) over all features, relative to the variance
    # k/d (1 - k/d) of drawing k of d features at random.
    variance = m / (m - 1) * float(np.sum(frequency * (1 - frequency))) / n_features
    share = mean_size / n_features
    return 1 - variance / (share * (1 - share))
