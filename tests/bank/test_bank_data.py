"""The bank on real data sets: the same scores and ranking as offline, dense and sparse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import datasets
import driftsieve as ds

EPSILON = 1e-4  # no class of these sets has more than 1 / EPSILON distinct values
OFFLINE_COLUMNS = 1500  # columns of wide data sets that are compared with offline, which is slow


def _columns(X: Any) -> np.ndarray:
    """All columns, or the fullest ones and a random sample of the others."""
    p = X.shape[1]
    if p <= OFFLINE_COLUMNS:
        return np.arange(p)
    fullest = np.argsort(-(X != 0).sum(axis=0), kind="stable")[: OFFLINE_COLUMNS // 3]
    sample = np.random.default_rng(0).choice(p, OFFLINE_COLUMNS, replace=False)
    return np.union1d(fullest, sample)


@pytest.mark.parametrize(
    ("name", "as_input"),
    [
        ("madelon", np.asarray),
        ("madelon", sparse.csr_array),
        ("url_dense", np.asarray),
        ("url_dense", sparse.csr_array),
        ("dexter", sparse.csr_array),
        ("dexter", sparse.csr_array.toarray),
        ("dorothea", sparse.csr_array),
        ("spam", sparse.csr_array),
    ],
)
def test_scores_and_ranking_equal_offline(data_dir: Path, name: str, as_input: Any) -> None:
    X, y = getattr(datasets, name)(data_dir)
    snapshot = ds.Bank(EPSILON).update(as_input(X), y).snapshot()
    assert snapshot.n_features == X.shape[1]
    assert_array_equal(snapshot.rank_error, 0.0)
    columns = _columns(X)
    reference = ds.offline.snapshot(X[:, columns], y)
    for score in ds.scores.SCORES.values():
        found = score.function(snapshot)[columns]
        expected = score.function(reference)
        assert_allclose(found, expected, rtol=1e-9, atol=0)
        assert_array_equal(
            ds.scores.rank(found, score.larger_is_better),
            ds.scores.rank(expected, score.larger_is_better),
        )
