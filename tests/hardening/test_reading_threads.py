"""Several threads that read one screener: the first computes, the others wait for it."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from refusals import switching_often
from scipy import sparse

from driftsieve import FeatureScreener

RNG = np.random.default_rng(3)
X = RNG.normal(size=(1000, 200)) * (RNG.random((1000, 200)) < 0.5)
Y = RNG.integers(0, 2, 1000)
THREADS = 6


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("score", ["t", "mutual_info"])
def test_threads_that_transform_with_a_loaded_screener_all_get_the_same(score, form):
    stored = FeatureScreener(score, k=5).fit(form(X), Y)
    expected, data = stored.get_support(), stored.to_bytes()
    rows = form(X[:10])
    with switching_often(), ThreadPoolExecutor(THREADS) as pool:
        for _ in range(25):
            screener, barrier = FeatureScreener.from_bytes(data), threading.Barrier(THREADS)

            def read(kind, screener=screener, barrier=barrier):
                barrier.wait()
                if kind % 3 == 0:
                    return screener.get_support()
                if kind % 3 == 1:
                    return screener.transform(rows).shape == (10, 5) and screener.get_support()
                return screener.ranking_ <= 5

            for found in pool.map(read, range(THREADS)):
                np.testing.assert_array_equal(found, expected)
