"""Merging over and over is the same as seeing the rows in one go, however deep the chain."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import driftsieve as ds


@pytest.mark.parametrize("rows", [40, 400])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_a_chain_of_shifted_merges_is_exact(kind, rows):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(8 * rows, 2)), rng.integers(0, 2, 8 * rows)
    parts = [slice(i, i + rows) for i in range(0, 8 * rows, rows)]
    chain = ds.Bank(0.4, half_life=5.0).update(kind(X[parts[-1]]), y[parts[-1]])
    for part in reversed(parts[:-1]):  # each is shifted once for every part before it
        chain = ds.Bank(0.4, half_life=5.0).update(kind(X[part]), y[part]).merge(chain, start=rows)
    whole = ds.Bank(0.4, half_life=5.0).update(kind(X), y).snapshot()
    found = chain.snapshot()
    np.testing.assert_allclose(found.class_weight, whole.class_weight, rtol=1e-12)
    np.testing.assert_allclose(found.mean, whole.mean, rtol=1e-10)
    np.testing.assert_allclose(found.n_eff, whole.n_eff, rtol=1e-12)
    np.testing.assert_allclose(found.bin_weights.sum(axis=1).T, whole.weight, rtol=1e-12)


def test_a_start_beyond_the_last_tick_is_refused_and_changes_nothing():
    bank, other = (ds.Bank(half_life=5.0).update([[1.0], [2.0]], [0, 1]) for _ in range(2))
    before = bank.to_bytes()
    with pytest.raises(ValueError, match="2\\^53"):
        bank.merge(other, start=1e300)
    assert bank.to_bytes() == before


def test_rows_without_weights_may_follow_rows_with_weights():
    rng = np.random.default_rng(0)
    X, y, w = rng.normal(size=(2048, 2)), np.arange(2048) % 2, rng.uniform(0.5, 1.5, 2048)
    bank = ds.Bank().update(X, y, sample_weight=w).update(X, y)
    spelt = ds.Bank().update(X, y, sample_weight=w).update(X, y, sample_weight=np.ones(2048))
    np.testing.assert_array_equal(bank.snapshot().bin_weights, spelt.snapshot().bin_weights)


def test_a_half_life_beyond_all_clocks_is_none():
    X, y = [[1.0], [2.0], [3.0]], [0, 1, 1]
    endless = ds.Bank(half_life=1e307).update(X, y).snapshot()
    np.testing.assert_array_equal(
        endless.class_weight, ds.Bank().update(X, y).snapshot().class_weight
    )


@pytest.mark.parametrize("clock", ["row", "batch"])
def test_a_clock_too_fast_for_its_half_life_is_refused_and_changes_nothing(clock):
    bank = ds.Bank(half_life=1e-20, clock=clock).update([[1.0]], [0])
    before = bank.to_bytes()
    with pytest.raises(ValueError, match="half-lives of 0"):
        bank.update([[1.0], [2.0]], [0, 0])
    assert bank.to_bytes() == before
