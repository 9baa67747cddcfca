"""What is learned from reviews: weights of half-lives, and the single best one."""

from dataclasses import replace

import numpy as np
import pytest

import driftsieve as ds
from driftsieve.memory.sums import N_CANDIDATES, Sums


def review(sums, weights, n_features, rng, noise=0.1, n_reviews=1):
    for _ in range(n_reviews):
        before = rng.normal(size=(len(weights), n_features))
        fresh = np.asarray(weights) @ before + noise * rng.normal(size=n_features)
        sums = sums.reviewed(before, fresh, k=max(1, n_features // 10))
    return sums


def test_weights_are_those_of_the_best_prediction():
    rng = np.random.default_rng(0)
    sums = review(Sums.empty(3), [0.0, 0.7, 0.3], 500, rng, n_reviews=20)
    np.testing.assert_allclose(sums.weights(), [0.0, 0.7, 0.3], atol=0.02)
    assert sums.best_rung() == 1


def test_weights_are_negative_once_that_has_captured_more():
    rng = np.random.default_rng(0)
    first = review(Sums.empty(3), [-1.0, 1.0, 0.2], 500, rng)
    assert first.weights()[0] == 0
    later = review(first, [-1.0, 1.0, 0.2], 500, rng, n_reviews=8)
    np.testing.assert_allclose(later.weights(), [-0.9, 1.0, 0.2], atol=0.05)
    assert later.captured[-1] > later.captured[-2]


def test_shares_are_never_negative():
    rng = np.random.default_rng(0)
    sums = review(Sums.empty(3), [-1.0, 1.0, 0.2], 500, rng, n_reviews=5)
    assert (sums.shares() >= 0).all()
    assert sums.shares()[0] == 0
    assert sums.shares().sum() == pytest.approx(1)


def test_weights_are_equal_where_all_memories_mislead():
    rng = np.random.default_rng(0)
    before = np.tile(rng.normal(size=50), (3, 1))
    sums = Sums.empty(3).reviewed(before, -before[0], k=5)
    assert (sums.shares() == 1 / 3).all()


def test_before_any_review_weights_are_equal_and_the_longest_memory_is_best():
    sums = Sums.empty(4)
    np.testing.assert_array_equal(sums.weights(), np.full(4, 0.25))
    assert sums.best_rung() == 3


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("n_features", [1, 2, 3])
def test_noise_of_few_features_leaves_weights_near_equal_ones(n_features, seed):
    rng = np.random.default_rng(seed)
    sums = Sums.empty(3)
    for _ in range(3):
        before = 1e-3 * rng.normal(size=(3, n_features))
        sums = sums.reviewed(before, rng.normal(size=n_features), k=1)
    np.testing.assert_allclose(sums.weights(), np.full(3, 1 / 3), atol=0.2)


def test_earlier_reviews_fade():
    rng = np.random.default_rng(2)
    sums = review(Sums.empty(2), [1.0, 0.0], 200, rng, n_reviews=10)
    sums = review(sums, [0.0, 1.0], 200, rng, n_reviews=40)
    np.testing.assert_allclose(sums.weights(), [0.0, 1.0], atol=0.03)


def test_sums_of_two_streams_are_added():
    rng = np.random.default_rng(3)
    one, other = (review(Sums.empty(2), [0.5, 0.5], 50, rng) for _ in range(2))
    both = one.plus(other)
    np.testing.assert_array_equal(both.products, one.products + other.products)
    assert both.n_reviews == 2


def test_a_common_offset_of_features_does_not_count():
    rng = np.random.default_rng(4)
    before = rng.normal(size=(2, 300))
    fresh = before[0] + 0.1 * rng.normal(size=300)
    plain = Sums.empty(2).reviewed(before, fresh, k=10)
    shifted = Sums.empty(2).reviewed(before + np.array([[5.0], [-3.0]]), fresh + 11.0, k=10)
    np.testing.assert_allclose(plain.weights(), shifted.weights(), rtol=1e-9)
    np.testing.assert_allclose(plain.captured, shifted.captured, rtol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_noise_has_no_gain_and_a_sudden_change_has(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((12_000, 30))
    noise = ds.FeatureScreener(k=3, half_life="auto").fit(X, rng.integers(0, 2, len(X)))
    assert np.isnan(noise.memory_.gain)
    assert "too little evidence" in str(noise.memory_)
    halves = np.where(np.arange(len(X)) < 6000, X[:, 0] + X[:, 1], X[:, 2] + X[:, 3])
    leaps = ds.FeatureScreener(k=2, half_life="auto").fit(X, halves > 0)
    assert leaps.memory_.gain > 0.1


@pytest.mark.parametrize(("n_rows", "n_features"), [(2000, 6), (2000, 20), (5000, 200)])
def test_one_strong_feature_is_enough_to_know_the_gain(n_rows, n_features):
    X = np.random.default_rng(0).standard_normal((n_rows, n_features))
    screener = ds.FeatureScreener(k=n_features // 4, half_life="auto").fit(X, X[:, 0] > 0)
    assert screener.memory_.gain == pytest.approx(0, abs=0.02)
    assert "hardly drifts" in str(screener.memory_)


def test_half_lives_have_equal_weights_if_none_predicts():
    before = np.array([[1.0, 0.0, 0.0], [0.9, 0.1, 0.0]])
    sums = Sums.empty(2)
    for _ in range(50):
        sums = sums.reviewed(before, np.array([-1.0, 0.5, 0.5]), k=1)
    np.testing.assert_array_equal(sums.weights(), [0.5, 0.5])


def test_weights_are_the_candidate_that_has_captured_the_most():
    sums = review(Sums.empty(3), [0.5, -0.2, 0.3], 100, np.random.default_rng(0), n_reviews=30)
    for i, candidate in enumerate(sums.candidates):
        captured = np.zeros(3 + N_CANDIDATES)
        captured[3 + i] = 1
        np.testing.assert_array_equal(replace(sums, captured=captured).weights(), candidate)
    assert len({tuple(candidate) for candidate in sums.candidates}) == N_CANDIDATES


def test_weights_of_either_sign_are_not_used_in_the_first_reviews():
    few, many = (
        review(Sums.empty(3), [0.5, -0.2, 0.3], 100, np.random.default_rng(0), n_reviews=n)
        for n in (7, 8)
    )
    for sums in (few, many):
        captured = np.zeros(3 + N_CANDIDATES)
        captured[-1], captured[-2] = 2, 1
        best = replace(sums, captured=captured).best
        assert best == (2 if sums is few else 3)


def test_slow_sums_have_less_noise():
    true, rng = np.array([0.0, 0.3, 0.7]), np.random.default_rng(1)
    errors = np.zeros(N_CANDIDATES)
    for _ in range(10):
        sums = review(Sums.empty(3), true, 100, rng, noise=2.0, n_reviews=100)
        errors += ((sums.candidates - true) ** 2).sum(axis=1)
    quick, quick_free, slow, slow_free = errors
    assert slow < quick / 2
    assert slow_free < quick_free / 2


def test_quick_sums_are_used_after_a_leap():
    rng = np.random.default_rng(2)
    sums = review(Sums.empty(2), [1.0, 0.0], 200, rng, n_reviews=60)
    sums = review(sums, [0.0, 1.0], 200, rng, n_reviews=12)
    quick, _, slow, _ = sums.candidates
    assert quick[1] > 4 * quick[0]
    assert slow[1] < slow[0]
    assert sums.weights()[1] > 4 * abs(sums.weights()[0])


def test_long_periods_fade_like_several_short_ones():
    rng = np.random.default_rng(3)
    before, fresh = rng.normal(size=(2, 50)), rng.normal(size=50)
    first = Sums.empty(2).reviewed(before, fresh, k=5)
    long = first.reviewed(before, fresh, k=5, n_rows=3200)
    short = first.reviewed(before, fresh, k=5, n_rows=500)
    np.testing.assert_allclose(long.fading - 1, (short.fading - 1) ** 2)
