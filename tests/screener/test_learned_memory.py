"""FeatureScreener(half_life="auto"): reading, storing, merging and changed parameters."""

import numpy as np
import pytest
from sklearn.base import clone

from driftsieve import FeatureScreener
from driftsieve.scores import SCORES, mutual_info


def stream(n=3000, p=12):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    relevant = np.where(np.arange(n) < n // 2, X[:, 1], X[:, 2])
    return X, relevant + 0.5 * rng.normal(size=n) > 0


@pytest.mark.parametrize("score", SCORES)
def test_the_feature_that_matters_now_is_selected(score):
    screener = FeatureScreener(score, k=1, half_life="auto").fit(*stream())
    assert screener.get_support(indices=True).tolist() == [2]
    assert screener.ranking_[2] == 1
    assert (screener.pvalues_ is None) == (score == "gini")
    assert str(screener.memory_).startswith("Memory: about ")


def test_pvalues_are_those_of_one_half_life():
    X, y = stream()
    learned = FeatureScreener("t", k=1, half_life="auto").fit(X, y)
    alone = FeatureScreener("t", k=1, half_life=learned.memory_.half_life).fit(X, y)
    np.testing.assert_allclose(learned.pvalues_, alone.pvalues_, rtol=1e-9)


def test_bytes_and_clones_keep_the_parameter():
    X, y = stream()
    screener = FeatureScreener(half_life="auto", k=2).fit(X[:1700], y[:1700])
    again = FeatureScreener.from_bytes(screener.to_bytes())
    assert again.half_life == clone(screener).half_life == "auto"
    for each in (screener, again):
        each.partial_fit(X[1700:], y[1700:])
    np.testing.assert_array_equal(screener.scores_, again.scores_)
    assert screener.to_bytes() == again.to_bytes()


def test_a_list_has_the_half_lives_to_choose_from():
    screener = FeatureScreener(half_life=[300, None], k=1).fit(*stream())
    assert screener.memory_.half_lives == (300.0, np.inf)
    assert FeatureScreener.from_bytes(screener.to_bytes()).memory_ == screener.memory_


def test_merge_requires_the_same_learning_settings():
    X, y = stream()
    first, second = (FeatureScreener(half_life="auto", k=1) for _ in range(2))
    first.fit(X[:1500], y[:1500])
    second.fit(X[1500:], y[1500:])
    assert first.merge(second, start=1500).get_support(indices=True).tolist() == [2]
    with pytest.raises(ValueError, match="half_life"):
        first.merge(FeatureScreener(half_life=100).fit(X, y), start=3000)


def test_only_some_parameters_can_change_while_learning():
    X, y = stream()
    screener = FeatureScreener(half_life="auto", k=1).fit(X, y)
    screener.set_params(k=3, n_bins=3).partial_fit(X, y)
    assert screener.get_support().sum() == 3
    with pytest.raises(ValueError, match="with which this screener has learned"):
        screener.set_params(score_func="chi2").scores_  # noqa: B018
    screener.set_params(score_func="mutual_info", half_life=None)
    with pytest.raises(ValueError, match="half_life must be 'auto'"):
        screener.partial_fit(X, y)


def test_memory_is_there_only_where_it_is_learned():
    assert not hasattr(FeatureScreener().fit(*stream()), "memory_")
    with pytest.raises(ValueError, match="must not both be given"):
        FeatureScreener(half_life="auto", decay=0.9).fit(*stream())


def test_scores_before_the_first_row_are_an_error_about_classes():
    screener = FeatureScreener("t", k=1, half_life="auto", clock="time")
    screener.partial_fit(np.zeros((0, 2)), [], time=[])
    with pytest.raises(ValueError, match="at least 2 classes with positive weight, got no class"):
        _ = screener.scores_


def test_max_bytes_bounds_all_that_is_learned():
    """Includes the fresh rows. For a function they are in a bank, which does not fit here."""
    X, y = stream(2900, 40)
    free, most, most_of_ladder = FeatureScreener(mutual_info, half_life="auto"), 0, 0
    for i in range(0, 2900, 100):
        free.partial_fit(X[i : i + 100], y[i : i + 100])
        most_of_ladder = max(most_of_ladder, free.bank_.bank.nbytes)
        most = max(most, free.bank_.nbytes)
    limit = 1.1 * most_of_ladder
    assert most > limit
    bounded = FeatureScreener(mutual_info, half_life="auto", max_bytes=limit)
    for i in range(0, 2900, 100):
        bounded.partial_fit(X[i : i + 100], y[i : i + 100])
        assert bounded.bank_.nbytes <= limit
    assert bounded.memory_.n_reviews > 0
    assert bounded.n_features_in_ == 40
