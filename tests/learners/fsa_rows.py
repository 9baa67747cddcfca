"""Helpers of the tests of SparseFSA."""

from __future__ import annotations

from typing import Any

import numpy as np

LOSSES = ("logistic", "lorenz")


def linear(n: int = 600, p: int = 200, k: int = 10, seed: int = 0) -> tuple[Any, Any, Any]:
    """Rows of normal values, half of them 0, classes by k of the features, and which those are."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * (rng.random((n, p)) < 0.5)
    true = np.sort(rng.choice(p, k, replace=False))
    margin = X[:, true] @ rng.choice([-1.0, 1.0], k) + 0.3 * rng.normal(size=n)
    return X, (margin > 0).astype(int), true
