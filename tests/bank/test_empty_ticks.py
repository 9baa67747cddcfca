"""With ``clock="batch"`` a call without rows is a tick, in all classes that accept rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

import driftsieve as ds
from driftsieve.batch import Batch
from driftsieve.river import FeatureScreener as RiverScreener

RNG = np.random.default_rng(2)
X = RNG.normal(size=(60, 3))
Y = RNG.integers(0, 2, 60)
FRAME = pd.DataFrame(X, columns=list("abc"))
FADING = {"half_life": 1.0, "clock": "batch"}
TAIL = [(slice(0, 20)), (slice(20, 20)), (slice(20, 40)), (slice(20, 20)), (slice(20, 20))]


def expected(score: str) -> np.ndarray:
    """Rows of the first call are four ticks old, those of the third two."""
    weight = np.repeat([2.0**-4, 2.0**-2], 20)
    return ds.offline.scores(X[:40], Y[:40], score, sample_weight=weight)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, lambda X: pd.DataFrame(X)])
def test_an_empty_batch_is_a_tick_of_a_bank(form):
    one, other = ds.Bank(**FADING), ds.Bank(**FADING)
    for rows in TAIL:
        one.update(form(X[rows]), Y[rows])
        other.update(Batch.of(form(X[rows]), Y[rows]))
    for bank in (one, other):
        assert bank.now == 4
        assert_allclose(ds.scores.t(bank.snapshot()), expected("t"))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, lambda X: pd.DataFrame(X)])
def test_an_empty_batch_is_a_tick_of_a_screener(form):
    one, other = (ds.FeatureScreener("t", k=1, **FADING) for _ in range(2))
    for rows in TAIL:
        one.partial_fit(form(X[rows]), Y[rows], classes=[0, 1])
        other.partial_fit(Batch.of(form(X[rows]), Y[rows]))
    for screener in (one, other):
        assert_allclose(screener.scores_, expected("t"))
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        one.fit(form(X[:0]), Y[:0])


@pytest.mark.parametrize("absent", ["zero", "missing"])
def test_an_empty_frame_is_a_tick_of_a_river_screener(absent):
    screener = RiverScreener("t", k=1, absent=absent, **FADING)
    for rows in TAIL:
        screener.learn_many(FRAME[rows], pd.Series(Y[rows]))
    assert_allclose(list(screener.scores.values()), expected("t"))


@pytest.mark.parametrize("absent", ["zero", "missing"])
def test_river_rows_that_are_left_out(absent):
    limits = {"max_classes": 2, "on_limit": "ignore_new"}
    screener = RiverScreener("t", k=1, absent=absent, **limits, **FADING)
    bank = ds.Bank(**limits, **FADING)
    for rows, labels in [
        (slice(0, 20), Y[:20]),
        (slice(20, 40), Y[20:40]),
        (slice(40, 60), [2] * 20),
    ]:
        screener.learn_many(FRAME[rows], pd.Series(labels))
        bank.update(FRAME[rows], labels)
    screener.learn_one(dict(zip("abc", X[0], strict=True)), 3)
    bank.update(FRAME[:1], [3])
    assert screener.ignored["rows"] == bank.ignored["rows"] == 21
    assert_allclose(list(screener.scores.values()), ds.scores.t(bank.snapshot()))


@pytest.mark.parametrize("absent", ["zero", "missing"])
@pytest.mark.parametrize("clock", ["row", "batch"])
def test_river_before_the_first_row(absent, clock):
    screener = RiverScreener("t", k=1, absent=absent, half_life=1.0, clock=clock)
    screener.learn_many(FRAME[:0], pd.Series(Y[:0]))
    assert screener.scores == {}
    screener.learn_many(FRAME, pd.Series(Y))
    screener.learn_one({"a": 1.0, "late": 2.0}, 0)
    assert list(screener.scores) == ["a", "b", "c", "late"]


def test_merging_a_bank_without_rows_moves_the_clock():
    bank = ds.Bank(**FADING).update(X[:20], Y[:20])
    idle = ds.Bank(**FADING).update(X[:0], [])
    bank.merge(idle, start=bank.now + 1)
    assert bank.now == 1
    assert_allclose(bank.snapshot().class_weight.sum(), 10.0)
