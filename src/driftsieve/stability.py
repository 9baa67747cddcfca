"""How much a selection of features stays the same from one time to the next: pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike


def jaccard(a: Iterable[int], b: Iterable[int]) -> float:
    """Size of the intersection over size of the union of two selections; 1 where both are empty.

    >>> jaccard([1, 2, 3], [2, 3, 4])
    0.5
    """
    first, second = set(a), set(b)
    union = len(first | second)
    return len(first & second) / union if union else 1.0


def nogueira(selections: Sequence[ArrayLike], n_features: int) -> float:
    """The stability of M >= 2 selections out of ``n_features`` (Nogueira, Sechidis, Brown 2018).

    1 means that every selection is the same; 0 is what selections drawn at random would give in
    the mean, whatever their sizes. It is nan where the measure is undefined: fewer than two
    selections, or every selection empty or of all features. An index counts once in a selection.

    >>> nogueira([[0, 1], [0, 1], [0, 1]], n_features=10)
    1.0
    >>> round(nogueira([[0, 1], [0, 2], [0, 3]], n_features=10), 4)
    0.375
    """
    chosen = [np.unique(np.asarray(s, dtype=np.int64)) for s in selections]
    for s in chosen:
        if s.size and (s[0] < 0 or s[-1] >= n_features):
            found = s[0] if s[0] < 0 else s[-1]
            raise ValueError(f"a selection holds feature {found}; expected 0 to {n_features - 1}")
    m = len(chosen)
    mean_size = sum(s.size for s in chosen) / m if m else 0.0
    if m < 2 or mean_size in (0, n_features):
        return float("nan")
    frequency = np.unique(np.concatenate(chosen), return_counts=True)[1] / m  # p_f > 0
    # Their measure: s_f^2 = M/(M-1) p_f (1 - p_f), its mean over all features, against the
    # variance k/d (1 - k/d) that drawing k of d features at random would have.
    variance = m / (m - 1) * float(np.sum(frequency * (1 - frequency))) / n_features
    share = mean_size / n_features
    return 1 - variance / (share * (1 - share))
