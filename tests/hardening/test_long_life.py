"""Clocks far from 0, long gaps, slow fading, and a short version of the soak."""

import math

import numpy as np
import pytest
from soak import soak

import driftsieve as ds
from driftsieve.scores import SCORES

RNG = np.random.default_rng(5)
N = 600
Y = np.arange(N) % 3
X = RNG.normal(size=(N, 2)) + Y[:, None] * [1.0, 0.0]


def assert_offline(bank, X, y, weight):
    truth, snap = ds.offline.snapshot(X, y, sample_weight=weight), bank.snapshot()
    for name, score in SCORES.items():
        ours = score.function(snap)
        assert np.isfinite(ours).all()
        np.testing.assert_allclose(ours, score.function(truth), rtol=1e-9, err_msg=name)


@pytest.mark.parametrize("origin", [0.0, 1.7e9, 2.0**53 - N, -(2.0**53)])
def test_ticks_near_2_to_the_53_are_exact(origin):
    t = origin + np.arange(N)
    bank = ds.Bank(1e-3, half_life=50, clock="time").update(X, Y, time=t)
    assert bank.now == t[-1]
    assert_offline(bank, X, Y, np.exp2((t - t[-1]) / 50))


def test_ticks_near_two_to_the_53():
    late = ds.Bank(1e-3, half_life=50).update(X, Y)
    bank = ds.Bank(1e-3, half_life=50).update(X[:3], Y[:3]).merge(late, start=2.0**53 - 2 * N)
    bank.update(X, Y)
    assert bank.now == 2.0**53 - 1
    weight = np.exp2(-np.arange(2 * N)[::-1] / 50)
    assert_offline(bank, np.vstack([X, X]), np.concatenate([Y, Y]), weight)
    assert bank.n_rows == 2 * N + 3


@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)])
def test_timestamps_far_apart_in_any_order(order):
    t = np.concatenate([np.linspace(-1e15, -9e14, N - 100), 1e15 + np.arange(100)])
    bank = ds.Bank(1e-3, half_life=30, clock="time").update(X[order], Y[order], time=t[order])
    assert bank.n_rows == N
    assert_offline(bank, X[-100:], Y[-100:], np.exp2((t[-100:] - t[-1]) / 30))


@pytest.mark.parametrize("gap", [300, 1000, 10_000])
def test_a_gap_of_a_thousand_half_lives(gap):
    """Old rows weigh nothing any more, but they are counted, and new ones count in full."""
    t = np.arange(N, dtype=float)
    bank = (
        ds.Bank(1e-3, half_life=10, clock="time")
        .update(X, Y, time=t)
        .update(X, Y, time=t + 10 * gap)
    )
    assert bank.n_rows == 2 * N
    assert_offline(bank, X, Y, np.exp2((t - t[-1]) / 10))


def test_a_class_that_faded_away_is_left_with_no_weight():
    bank = ds.Bank(half_life=1, clock="time").update(X, Y, time=np.zeros(N))
    two = Y < 2
    bank.update(X[two], Y[two], time=np.full(two.sum(), 5000.0))
    snap = bank.snapshot()
    assert snap.class_weight.tolist() == [200.0, 200.0, 0.0]
    for score in SCORES.values():
        assert np.isfinite(score.function(snap)).all()


@pytest.mark.parametrize("silent", [400, 540, 600, 690])
def test_long_absent_class_keeps_its_weight_and_has_no_effective_rows(silent):
    bank = ds.Bank(half_life=1, clock="time").update(X, Y, time=np.zeros(N))
    two = Y < 2
    bank.update(X[two], Y[two], time=np.full(two.sum(), float(silent)))
    snap = bank.snapshot()
    np.testing.assert_allclose(snap.class_weight, [200.0, 200.0, 200 * 2.0**-silent], rtol=1e-12)
    expected = 200.0 if silent < 530 else 0.0
    assert snap.class_n_eff[2] == pytest.approx(expected, rel=1e-9)
    for score in SCORES.values():
        assert np.isfinite(score.function(snap)).all()
        assert score.pvalues is None or np.isfinite(score.pvalues(snap)).all()


@pytest.mark.parametrize("read_at", [0.0, 63.99, 64.0, 255.99])  # landmarks are 256 apart
def test_weight_underflows_between_704_and_960_half_lives(read_at):
    def weight(age):
        bank = ds.Bank(half_life=1.0, clock="time").update([[1.0]], [0], time=[read_at])
        return bank.update([[2.0]], [1], time=[read_at + age]).snapshot().class_weight[0]

    assert weight(704.0) == pytest.approx(2.0**-704, rel=1e-9)
    assert weight(960.0) == 0.0
    first, last = {63.99: (704.0, 704.02), 64.0: (959.99, 960.0)}.get(read_at, (704.0, 960.0))
    assert weight(first) > 0.0
    assert weight(last) == 0.0


def test_system_clock_that_jumps_back_has_no_effect():
    t = np.arange(N, dtype=float)
    t[200:400] -= 1e6  # the clock of the machine was set back, and then right
    bank = ds.Bank(1e-3, half_life=50, clock="time").update(X, Y, time=t)
    assert bank.now == N - 1
    assert_offline(bank, X, Y, np.exp2((t - (N - 1)) / 50))


def test_the_slowest_fading_is_exact():
    decay = 1 - 1e-12
    bank = ds.Bank(1e-3, decay=decay).update(X, Y)
    assert bank.decay == pytest.approx(decay, abs=1e-16)
    assert_offline(bank, X, Y, decay ** np.arange(N)[::-1])


def test_clock_out_of_range_is_refused():
    bank = ds.Bank(half_life=1e-3, clock="time").update(X, Y, time=np.zeros(N))
    before = bank.to_bytes()
    with pytest.raises(ValueError, match="Use a longer half-life"):
        bank.update(X, Y, time=np.full(N, 1e300))
    assert bank.to_bytes() == before


def test_scores_after_a_long_faded_stream_equal_offline_scores():
    result = soak(400_000, half_life=2000, chunk=10_000, stay=1)
    assert result.rows == 400_000
    assert result.compared > 40
    assert result.gone < 1e-6
    assert result.moments < 1e-9
    assert result.exact < 1e-9
    assert result.rank_error <= 1.0
    all_columns_seen, late = result.nbytes[200_000], result.nbytes[400_000]
    assert late < 2 * all_columns_seen
    assert math.isfinite(result.sketched)
