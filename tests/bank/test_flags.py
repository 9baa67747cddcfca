"""Sparse features with one value other than 0 are read by a faster path, with the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

import driftsieve as ds

SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "no moments": {"moments": False},
    "no quantiles": {"quantiles": False},
    "missing": {"missing": "ignore"},
    "missing, no moments": {"missing": "ignore", "moments": False},
    "fading": {"half_life": 5.0},
    "fading through epochs": {"half_life": 0.01},
}


@pytest.mark.parametrize("n_classes", [1, 2, 5])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("settings", SETTINGS)
def test_flags_are_read_as_any_feature_is(settings: str, weighted: bool, n_classes: int) -> None:
    rng = np.random.default_rng(n_classes)
    n, p = 80, 120
    y = rng.integers(0, n_classes, n)
    values = np.where(rng.random(p) < 0.3, 1.0, rng.normal(size=p))
    density = rng.choice([0.0, 0.02, 0.3, 1.0], (n_classes, p))  # 1: never 0 in a class
    X = np.where(rng.random((n, p)) < density[y], values, 0.0)
    weight = rng.exponential(size=n) * rng.integers(0, 2, n) if weighted else np.ones(n)
    t = np.sort(rng.random(n)) * 20

    def filled(X: np.ndarray, y: np.ndarray, w: np.ndarray, t: np.ndarray) -> ds.Bank:
        bank = ds.Bank(clock="time", n_threads=1, **SETTINGS[settings])
        return bank.update(sparse.csr_array(X), y, w, time=t)

    flags = filled(X, y, weight, t)
    # A row that weighs nothing shows another value, so that these are flags no longer.
    other = np.where((X != 0).any(axis=0), 2 * values + 3, 0.0)
    others = filled(
        np.vstack([X, other]), np.append(y, y[0]), np.append(weight, 0), t[[*range(n), -1]]
    )
    for n_bins in (2, 3, 5, 10):
        ours, theirs = flags.snapshot(n_bins), others.snapshot(n_bins)
        for name in ("weight", "mean", "centred_mean", "var", "bin_weights", "edges", "rank_error"):
            found, expected = getattr(ours, name), getattr(theirs, name)
            assert (found is None) == (expected is None)
            if found is not None:
                assert_array_equal(found, expected, err_msg=name)
