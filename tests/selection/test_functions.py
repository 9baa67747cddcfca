"""The selection rules, compared with those of scikit-learn."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_selection import SelectFdr, SelectFpr, SelectFwe, SelectKBest, SelectPercentile

from driftsieve.selection import functions as select

# Few values make ties; a permutation makes none.
tied_scores = st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0]), min_size=1, max_size=40).map(np.array)
untied_scores = st.integers(1, 40).flatmap(lambda n: st.permutations(range(n))).map(np.array)
pvalues = st.lists(st.one_of(st.floats(0, 1), st.floats(0, 0.02)), min_size=1, max_size=40).map(
    np.array
)


def sklearn_mask(selector, scores, pvalues=None):
    def given_scores(_X, _y):
        return scores if pvalues is None else (scores, pvalues)

    X = np.zeros((2, len(scores)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # k above the number of features
        return selector.set_params(score_func=given_scores).fit(X, [0, 1]).get_support()


@given(untied_scores, st.integers(0, 45))
def test_top_k_is_select_k_best(scores, k):
    np.testing.assert_array_equal(select.top_k(scores, k), sklearn_mask(SelectKBest(k=k), scores))


@given(tied_scores, st.integers(0, 45), st.booleans())
def test_top_k_gives_ties_to_the_lower_index(scores, k, larger_is_better):
    sign = -1 if larger_is_better else 1
    best = sorted(range(len(scores)), key=lambda j: (sign * scores[j], j))[:k]
    mask = select.top_k(scores, k, larger_is_better)
    assert sorted(best) == list(np.flatnonzero(mask))


@given(st.one_of(tied_scores, untied_scores), st.integers(0, 100))
def test_percentile_is_select_percentile(scores, percent):
    want = sklearn_mask(SelectPercentile(percentile=percent), scores)
    np.testing.assert_array_equal(select.percentile(scores, percent), want)
    np.testing.assert_array_equal(select.percentile(-scores, percent, False), want)


def test_percentile_with_infinite_scores():
    scores = np.array([1.0, np.inf, 0.0, np.inf, np.inf, 2.0])
    assert list(np.flatnonzero(select.percentile(scores, 34))) == [1, 3]
    assert list(np.flatnonzero(select.percentile(scores, 60))) == [1, 3, 4]


@given(pvalues, st.floats(0, 1))
def test_rules_on_pvalues_are_those_of_scikit_learn(p, alpha):
    rules = {select.fpr: SelectFpr, select.fdr: SelectFdr, select.fwe: SelectFwe}
    for rule, selector in rules.items():
        np.testing.assert_array_equal(rule(p, alpha), sklearn_mask(selector(alpha=alpha), -p, p))


def test_threshold_includes_the_value():
    scores = np.array([1.0, np.inf, 2.0])
    assert list(select.threshold(scores, 2.0)) == [False, True, True]
    assert list(select.threshold(scores, 1.0, larger_is_better=False)) == [True, False, False]


@pytest.mark.parametrize("rule", [select.fpr, select.fdr, select.fwe])
def test_no_features_no_selection(rule):
    assert rule(np.empty(0)).shape == (0,)
    assert select.top_k(np.empty(0), 3).shape == (0,)
    assert select.percentile(np.empty(0), 50).shape == (0,)


def test_bad_parameters_are_named():
    one = np.ones(1)
    with pytest.raises(ValueError, match="k must be at least 0, got -1"):
        select.top_k(one, -1)
    with pytest.raises(ValueError, match="between 0 and 100, got 101"):
        select.percentile(one, 101)
    with pytest.raises(ValueError, match="threshold must be a number"):
        select.threshold(one, float("nan"))
    for rule in (select.fpr, select.fdr, select.fwe):
        with pytest.raises(ValueError, match="alpha must be between 0 and 1, got nan"):
            rule(one, float("nan"))
