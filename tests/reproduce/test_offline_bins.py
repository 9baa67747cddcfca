"""The fast offline quantile is the one that `offline` defines."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from driftsieve import offline
from driftsieve.reproduce.offline_bins import offline_bins


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(5, 60),
    n_bins=st.integers(2, 7),
    n_classes=st.integers(2, 4),
    as_sparse=st.booleans(),
)
def test_bins_equal_those_of_offline(
    seed: int, n: int, n_bins: int, n_classes: int, as_sparse: bool
) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (n, 5)) * rng.integers(0, 2, (n, 5)) + 0.0
    X[:, 0] = rng.standard_normal(n)
    y = rng.integers(0, n_classes, n)
    expected = offline.snapshot(X, y, n_bins).bin_weights
    given = sparse.csr_array(X) if as_sparse else X
    np.testing.assert_array_equal(offline_bins(given, y, n_bins), expected)


@pytest.mark.parametrize("n_bins", [2, 5])
def test_a_column_of_zeros_is_one_bin(n_bins: int) -> None:
    X = sparse.csr_array((4, 2))
    assert offline_bins(X, np.array([0, 1, 0, 1]), n_bins)[:, 0].tolist() == [[2, 2], [2, 2]]
