"""Ranks are those of a stable sort, however many features there are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftsieve.scores import rank, ranking

ANY = st.floats() | st.floats(-2, 2, width=16) | st.sampled_from([0.0, -0.0, 5e-324, 1e-310])


def stable_ranks(values, *, larger):
    """Return the ranks of scores of 30 bits by a stable sort."""
    mantissa, exponent = np.frexp(values)
    with np.errstate(over="ignore"):
        rounded = np.ldexp(np.round(mantissa * 2.0**30), exponent - 30)
    ranks = np.empty(len(values), np.int64)
    ranks[np.argsort(-rounded if larger else rounded, kind="stable")] = np.arange(len(values)) + 1
    return ranks


@given(st.lists(ANY, max_size=50), st.booleans())
def test_ranks_are_those_of_a_stable_sort(values, larger):
    values = np.array(values, float)
    np.testing.assert_array_equal(rank(values, larger), stable_ranks(values, larger=larger))


@given(st.lists(ANY, max_size=9), ANY, st.integers(0, 60), st.booleans(), st.randoms())
def test_ranks_where_most_scores_are_equal(others, common, n, larger, random):
    """A score that agrees with them to 30 bits ties with them."""
    values = [*others, np.nextafter(common, 0.0), *[common] * n]
    random.shuffle(values)
    values = np.array(values, float)
    np.testing.assert_array_equal(rank(values, larger), stable_ranks(values, larger=larger))


@pytest.mark.parametrize("larger", [True, False])
def test_ranks_of_many_features(larger, monkeypatch):
    rng = np.random.default_rng(0)
    values = np.where(rng.random(20_000) < 0.5, 0.25, rng.normal(size=20_000)).round(4)
    ranks = rank(values, larger)
    np.testing.assert_array_equal(ranks, stable_ranks(values, larger=larger))
    monkeypatch.setattr(ranking, "_LAST_BITS", 4095)  # fewer than the features
    np.testing.assert_array_equal(rank(values, larger), ranks)


@given(st.lists(ANY, max_size=9), ANY, st.integers(0, 60), st.booleans(), st.randoms())
def test_ranks_of_some_features_and_the_best(others, common, n, larger, random):
    values = [*others, *[common] * n]
    random.shuffle(values)
    values = np.array(values, float)
    ranks, every = ranking.Ranks.of(values, larger), rank(values, larger)
    np.testing.assert_array_equal(ranks.order(), np.argsort(every))
    some = np.array(random.choices(range(len(values)), k=5) if len(values) else [], np.int64)
    np.testing.assert_array_equal(ranks.at(some), every[some])
    for k in range(len(values) + 2):
        np.testing.assert_array_equal(ranks.best(k), np.argsort(every)[:k])
