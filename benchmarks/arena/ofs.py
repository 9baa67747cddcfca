"""OFS: online gradient descent on the hinge loss; the k largest weights are selected.

`truncate=True` is Algorithm 2 of Wang, Zhao, Hoi and Jin, Online Feature Selection and Its
Applications, IEEE Transactions on Knowledge and Data Engineering 26, 2014. `truncate=False` is not
in the paper: it does what the implementation in the package float (haugjo/float) does. For
comparison only.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

STEP = 0.2
PENALTY = 0.01


class Ofs:
    """The algorithm for rows of which all features can be read ("full input").

    ``truncate=True``: weights shrink with every row, and all but the k largest are set to 0 after
    each step. ``truncate=False`` does neither: k weights are chosen when they are read.
    """

    def __init__(self, n_features: int, k: int, truncate: bool = False) -> None:
        self.k, self.truncate = k, truncate
        self.w = np.zeros(n_features)

    def learn(self, X: Any, y: NDArray[np.int64]) -> None:
        """Learn rows of comparable features, dense or CSR, with labels 0 and 1."""
        for i, sign in enumerate(2.0 * y - 1.0):
            columns, values = _row(X, i)
            margin = sign * (self.w[columns] @ values)
            if self.truncate:
                self.w *= 1.0 - PENALTY * STEP
            if margin <= 1.0:
                self.w[columns] += STEP * sign * values
                self._project()

    def _project(self) -> None:
        """Shrink the weights into a ball of radius 1 / sqrt(penalty), and keep k of them."""
        if norm := np.linalg.norm(self.w):
            self.w *= min(1.0, PENALTY**-0.5 / norm)
        n_dropped = len(self.w) - self.k
        if self.truncate and n_dropped > 0:
            self.w[np.argpartition(np.abs(self.w), n_dropped)[:n_dropped]] = 0.0

    def chosen(self) -> NDArray[np.intp]:
        return np.argsort(-np.abs(self.w), kind="stable")[: self.k]


def _row(X: Any, i: int) -> tuple[Any, NDArray[np.float64]]:
    if not sparse.issparse(X):
        return slice(None), X[i]
    part = slice(X.indptr[i], X.indptr[i + 1])
    return X.indices[part], X.data[part]
