"""Scores, rules and what they keep."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse
from screener_rows import EXACT
from sklearn.feature_selection import SelectFdr, SelectKBest, f_classif

import driftsieve as ds
from driftsieve import FeatureScreener, select
from driftsieve.scores import SCORES
from driftsieve.screener import reading


@pytest.mark.parametrize("score", SCORES)
def test_scores_are_those_of_the_definition(rows, score):
    X, y = rows
    screener = FeatureScreener(score, k=2, **EXACT).fit(X, y)
    expected = ds.offline.scores(X, y, score)
    np.testing.assert_allclose(screener.scores_, expected, rtol=1e-9)
    assert list(np.argsort(screener.ranking_)[:2]) == [1, 4]
    assert list(screener.get_support(indices=True)) == [1, 4]
    assert list(screener.classes_) == ["ham", "spam"]


def test_fisher_selects_as_scikit_learn_does(rows):
    X, y = rows
    screener = FeatureScreener("fisher", k=3).fit(X, y)
    peer = SelectKBest(f_classif, k=3).fit(X, y)
    np.testing.assert_allclose(screener.pvalues_, peer.pvalues_, rtol=1e-9)
    np.testing.assert_array_equal(screener.transform(X), peer.transform(X))
    kept = FeatureScreener("fisher", rule="fdr", k=0.1).fit(X, y).get_support()
    np.testing.assert_array_equal(kept, SelectFdr(f_classif, alpha=0.1).fit(X, y).get_support())


@pytest.mark.parametrize(
    ("rule", "k", "kept"),
    [
        ("k_best", 2, [1, 4]),
        ("k_best", 0, []),
        ("percentile", 34, [1, 4]),
        ("threshold", 0.0, [0, 1, 2, 3, 4, 5]),
        ("threshold", np.inf, []),
        ("fpr", 1e-6, [1, 4]),
        ("fdr", 1e-6, [1, 4]),
        ("fwe", 1e-6, [1, 4]),
    ],
)
def test_rules(rows, rule, k, kept):
    screener = FeatureScreener("fisher", rule=rule, k=k).fit(*rows)
    assert list(screener.get_support(indices=True)) == kept


@pytest.mark.parametrize("half_life", [None, 500])
def test_false_discoveries_on_noise_are_as_few_as_promised(half_life):
    rng = np.random.default_rng(11)
    families, each, rate = 400, 25, 0.05
    X = rng.normal(size=(3000, families * each)).astype(np.float32)
    y = rng.integers(2, size=len(X))
    # On pure noise any discovery is false: the rate is the share of families that have one.
    limit = rate + 3 * np.sqrt(rate * (1 - rate) / families)
    for scores in (("t", "fisher"), ("mutual_info", "chi2")):
        screener = FeatureScreener(scores[0], half_life=half_life).fit(X, y)
        for score in scores:
            pvalues = screener.set_params(score=score).pvalues_.reshape(families, each)
            found = np.mean([select.fdr(p, rate).any() for p in pvalues])
            assert found <= limit, score


def test_k_beyond_the_features_warns_and_keeps_all(rows):
    X, y = rows
    screener = FeatureScreener(k=7).fit(X, y)
    with pytest.warns(UserWarning, match="k=7 is greater than n_features=6") as caught:
        assert screener.get_support().all()
    assert caught[0].filename == __file__
    np.testing.assert_array_equal(screener.transform(X), X)  # said once, until the next update


def test_nothing_is_scored_until_it_is_read(rows, monkeypatch):
    X, y = rows
    scored = []

    class Spy(ds.Bank):
        def freeze(self, *args, **kwargs):
            scored.append(self.n_rows)
            return super().freeze(*args, **kwargs)

    monkeypatch.setattr(reading, "Bank", Spy)
    screener = (
        FeatureScreener(k=2).partial_fit(X[:300], y[:300]).partial_fit(X[300:400], y[300:400])
    )
    assert scored == []
    screener.transform(X)
    screener.get_support()
    first = screener.scores_, screener.ranking_
    screener.set_params(k=3).transform(X)
    assert scored == [400]
    screener.partial_fit(X[400:], y[400:])
    assert scored == [400]
    assert not np.array_equal(first[0], screener.scores_)
    assert scored == [400, 600]
    with pytest.raises(ValueError, match="read-only"):
        screener.scores_[0] = 0


def test_many_features_are_frozen_block_by_block(rows, monkeypatch):
    screener = FeatureScreener(k=2).fit(*rows)
    whole = screener.scores_
    screener = FeatureScreener(k=2).fit(*rows)
    monkeypatch.setattr(reading, "_BLOCK_CELLS", 25)  # two features of 5 bins and 2 classes
    np.testing.assert_array_equal(screener.scores_, whole)


def test_the_call_score_judges_the_selection_on_other_rows(rows):
    X, y = rows
    screener = FeatureScreener("gini", k=2, half_life=50).fit(X[:300], y[:300])
    expected = -ds.offline.scores(X[300:], y[300:], "gini")[screener.get_support()].mean()
    assert screener.score(X[300:], y[300:]) == pytest.approx(expected)
    assert screener.score == "gini"
    assert pickle.loads(pickle.dumps(screener.score)) == "gini"
    assert FeatureScreener(score=None).score is None


@pytest.mark.parametrize("width", [3, 9])
def test_the_call_score_takes_the_columns_that_transform_takes(rows, width):
    X, y = rows
    screener = FeatureScreener("t", k=2, new_features="grow").fit(sparse.csr_array(X), y)
    wide = np.hstack([X[::-1], X])[:, :width]
    known = np.zeros_like(X)
    known[:, : min(6, width)] = wide[:, :6]
    expected = screener.score(sparse.csr_array(known), y)
    assert screener.score(sparse.csr_array(wide), y) == expected
    assert expected == pytest.approx(
        ds.offline.scores(known, y, "t")[screener.get_support()].mean()
    )


def test_there_is_no_score_of_nothing(rows):
    screener = FeatureScreener("t", rule="threshold", k=1000).fit(*rows)
    with pytest.raises(ValueError, match=r"No feature is selected \(rule='threshold', k=1000"):
        screener.score(*rows)
    X, y = rows
    with pytest.raises(ValueError, match="X has 5 features, but FeatureScreener is expecting 6"):
        screener.score(X[:, :5], y)
