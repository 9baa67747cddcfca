"""Rows of full width in which only the selected columns are left."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from driftsieve.selection.functions import Mask


def masked(X: Any, support: Mask) -> Any:
    """Return a copy of an array or CSR matrix with zeros where a column is not in ``support``.

    >>> masked(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([False, True]))
    array([[0., 2.],
           [0., 4.]])
    """
    if not sparse.issparse(X):
        return np.where(support, X, X.dtype.type(0))
    X = X.copy()
    X.data[~support[X.indices]] = 0
    X.eliminate_zeros()
    return X
