"""Arrays that do not lie in one piece."""

import numpy as np
import pytest
from scipy import sparse

import driftsieve as ds

RNG = np.random.default_rng(9)
N = 50


@pytest.mark.parametrize("step", [-1, 2, 3])
def test_weights_and_times_of_any_stride(step):
    X, y = RNG.normal(size=(N, 3)), np.arange(N) % 2
    w, t = RNG.random(N * abs(step))[::step], np.arange(N * abs(step), dtype=float)[::step]
    bank = ds.Bank(clock="time", half_life=9).update(X, y, sample_weight=w, time=t)
    again = ds.Bank(clock="time", half_life=9).update(X, y, sample_weight=w.copy(), time=t.copy())
    assert bank.to_bytes() == again.to_bytes()


def test_sparse_matrices_over_strided_arrays():
    data, indices = RNG.random(2 * N)[::2], np.repeat(np.arange(N) % 7, 2)[::2]
    indptr = np.arange(2 * N + 2)[::2] // 2
    X = sparse.csr_array((data, indices, indptr), shape=(N, 7))
    y = np.arange(N) % 2
    assert ds.Bank().update(X, y).to_bytes() == ds.Bank().update(X.copy(), y).to_bytes()
