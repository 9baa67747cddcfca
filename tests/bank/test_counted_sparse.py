"""Sparse features with many values, which are counted into cells."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import driftsieve as ds
from exact_ranks import rank_errors

N, P = 8000, 6


def rows(share: float) -> tuple[sparse.csr_array, np.ndarray]:
    """Values on both sides of 0, and zeros in the other rows."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, N)
    X = rng.normal(size=(N, P)) + 0.3 * y[:, None]
    X[rng.random(X.shape) > share] = 0.0
    return sparse.csr_array(X), y


def test_bins_are_exact_where_the_zeros_cover_all_cuts() -> None:
    X, y = rows(0.15)
    found = ds.Bank(epsilon=0.02).update(X, y).snapshot()
    exact = ds.offline.snapshot(X, y)
    assert_array_equal(found.bin_weights, exact.bin_weights)
    assert_array_equal(found.edges, exact.edges)


@pytest.mark.parametrize("moments", [True, False])
@pytest.mark.parametrize("half_life", [None, 3000.0])
def test_ranks_of_other_features_are_within_the_guarantee(
    moments: bool, half_life: float | None
) -> None:
    X, y = rows(0.6)
    bank = ds.Bank(epsilon=0.02, moments=moments, half_life=half_life).update(X, y)
    weight = np.ones(N)
    if half_life is not None:
        weight = 0.5 ** ((N - 1 - np.arange(N)) / half_life)
    for errors in rank_errors(bank, X.toarray(), y, weight):
        errors.check(0.02)


def test_weights_after_many_values_without_give_the_effective_sizes() -> None:
    X, y = rows(0.3)
    weight = np.ones(N)
    weight[N // 2 :] = np.random.default_rng(1).uniform(0.5, 2.0, N - N // 2)
    bank = ds.Bank(epsilon=0.02).update(X[: N // 2], y[: N // 2])
    bank.update(X[N // 2 :], y[N // 2 :], sample_weight=weight[N // 2 :])
    whole = ds.Bank(epsilon=0.02).update(X, y, sample_weight=weight)
    found, expected = bank.snapshot().design_effect, whole.snapshot().design_effect
    assert found is not None
    assert expected is not None
    assert_allclose(found, expected, rtol=1e-9)


def test_a_merged_bank_and_a_cut_one_keep_the_guarantee() -> None:
    X, y = rows(0.6)
    left = ds.Bank(epsilon=0.02).update(X[:5000], y[:5000])
    left.merge(ds.Bank(epsilon=0.02).update(X[5000:], y[5000:]))
    again = ds.Bank.from_bytes(left.to_bytes())
    for bank in (left, again):
        for errors in rank_errors(bank, X.toarray(), y, np.ones(N)):
            errors.check(0.02)
