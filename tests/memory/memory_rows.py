"""Streams that drift, for the tests of the learned memory."""

import numpy as np
from scipy import sparse


def leaping(n=6000, p=20, seed=0):
    """Rows in which feature 1 is relevant in the first half and feature 2 in the second."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    relevant = np.where(np.arange(n) < n // 2, X[:, 1], X[:, 2])
    return X, (relevant + 0.7 * rng.normal(size=n) > 0).astype(np.int64)


def words(n=4000, p=100_000, seed=0):
    """Sparse rows of rare words; word 5 is relevant in the first half and word 6 in the second."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    columns = np.minimum(rng.geometric(0.01, size=(n, 20)) + 10, p - 1)
    word = np.where(np.arange(n) < n // 2, 5, 6)
    said = rng.random(n) < np.where(y == 1, 0.6, 0.1)
    rows = np.repeat(np.arange(n), 20)
    data = np.ones(n * 20 + said.sum())
    places = (
        np.concatenate([rows, np.flatnonzero(said)]),
        np.concatenate([columns.ravel(), word[said]]),
    )
    return sparse.csr_array((data, places), shape=(n, p)), y
