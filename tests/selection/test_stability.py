"""The measures of stability against their definitions and their published properties."""

import itertools
import math

import numpy as np
import pytest

from driftsieve.selection.stability import jaccard, nogueira


def by_definition(z):
    """The measure of Nogueira, Sechidis and Brown (2018) on the full M x d matrix."""
    d = z.shape[1]
    variance = z.var(axis=0, ddof=1)
    share = z.sum(axis=1).mean() / d
    return 1 - variance.mean() / (share * (1 - share))


def test_nogueira_equals_its_definition_for_unequal_sizes():
    rng = np.random.default_rng(0)
    z = rng.random((7, 30)) < rng.random(30)
    selections = [np.flatnonzero(row) for row in z]
    assert len({s.size for s in selections}) > 1
    assert nogueira(selections, 30) == pytest.approx(by_definition(z), rel=1e-12)


def test_random_selections_have_zero_stability_in_the_mean():
    # All pairs of 2-subsets of 5 features: the exact expectation, no sampling.
    subsets = list(itertools.combinations(range(5), 2))
    values = [nogueira(pair, 5) for pair in itertools.product(subsets, repeat=2)]
    assert np.mean(values) == pytest.approx(0, abs=1e-12)


def test_equal_sizes_of_two_give_kuncheva():
    # For M = 2 and equal sizes the measure is Kuncheva's index (r d - k^2) / (k (d - k)).
    a, b, d = [0, 1, 2, 3], [2, 3, 4, 5], 12
    assert nogueira([a, b], d) == pytest.approx((2 * d - 16) / (4 * (d - 4)), rel=1e-12)


@pytest.mark.parametrize("selections", [[], [[1, 2]], [[], []], [[0, 1, 2, 3], [0, 1, 2, 3]]])
def test_nogueira_is_nan_where_undefined(selections):
    assert math.isnan(nogueira(selections, 4))


@pytest.mark.parametrize("wrong", [-1, 4])
def test_feature_index_out_of_range_is_an_error(wrong):
    with pytest.raises(ValueError, match=rf"indices from 0 to 3, got {wrong}"):
        nogueira([[0, wrong], [1, 2]], 4)


def test_jaccard_is_the_share_of_common_features():
    assert jaccard([], []) == 1.0
    assert jaccard([1], []) == 0.0
    assert jaccard([1, 2], [2, 1]) == 1.0
    assert jaccard(np.array([1, 2, 3]), np.array([3, 4])) == 0.25
