"""Scores, rules and the features they select."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from screener_rows import EXACT
from sklearn.feature_selection import SelectFdr, SelectKBest, f_classif

import driftsieve as ds
from driftsieve import FeatureScreener
from driftsieve.scores import SCORES, reader
from driftsieve.selection import functions as select
from driftsieve.selection.rules import RULES


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
    kept = FeatureScreener("fisher", fdr=0.1).fit(X, y).get_support()
    np.testing.assert_array_equal(kept, SelectFdr(f_classif, alpha=0.1).fit(X, y).get_support())


@pytest.mark.parametrize(
    ("rule", "k", "kept"),
    [
        ("k", 2, [1, 4]),
        ("k", 0, []),
        ("percentile", 34, [1, 4]),
        ("threshold", 0.0, [0, 1, 2, 3, 4, 5]),
        ("threshold", np.inf, []),
        ("fpr", 1e-6, [1, 4]),
        ("fdr", 1e-6, [1, 4]),
        ("fwe", 1e-6, [1, 4]),
    ],
)
def test_each_rule_selects_its_features(rows, rule, k, kept):
    screener = FeatureScreener("fisher", **{rule: k}).fit(*rows)
    assert list(screener.get_support(indices=True)) == kept


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_is_a_parameter_of_its_own(rows, rule):
    value = {"k": 3, "percentile": 34, "threshold": 0.02}.get(rule, 0.04)
    screener = FeatureScreener("fisher", **{rule: value}).fit(*rows)
    given = {name: screener.get_params()[name] for name in RULES}
    assert given == {**dict.fromkeys(RULES), rule: value}
    uses = screener.scores_ if RULES[rule].uses == "scores" else screener.pvalues_
    kept = screener.get_support()
    np.testing.assert_array_equal(kept, RULES[rule].function(uses, value))
    assert 0 < kept.sum() < 6
    again = FeatureScreener.from_bytes(screener.to_bytes())
    assert {name: again.get_params()[name] for name in RULES} == given
    np.testing.assert_array_equal(again.get_support(), kept)


@pytest.mark.parametrize(("one", "other"), [*itertools.combinations(RULES, 2)])
def test_two_rules_at_once_are_an_error(rows, one, other):
    message = (
        "^At most one of k, percentile, threshold, fpr, fdr, fwe must be given, "
        rf"got {one}=1, {other}=0\.$"
    )
    for learn in (
        FeatureScreener("t", **{one: 1, other: 0}).fit,
        FeatureScreener("t", **{other: 0, one: 1}).partial_fit,
    ):
        with pytest.raises(ValueError, match=message):
            learn(*rows)
    screener = FeatureScreener("t", **{one: 1}).fit(*rows).set_params(**{other: 0})
    for use in (screener.get_support, lambda: screener.transform(rows[0]), screener.to_bytes):
        with pytest.raises(ValueError, match=message):
            use()
    assert screener.set_params(**{one: None}).get_support().shape == (6,)


def test_default_rule_is_k_10(rows):
    X, y = rows
    wide = np.hstack([X, np.random.default_rng(3).normal(size=(600, 20))])
    screener = FeatureScreener("t").fit(wide, y)
    assert all(screener.get_params()[name] is None for name in RULES)
    kept = screener.get_support()
    assert kept.sum() == 10
    np.testing.assert_array_equal(kept, screener.ranking_ <= 10)
    np.testing.assert_array_equal(kept, FeatureScreener("t", k=10).fit(wide, y).get_support())
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # k=10 by default, but only six features
        assert FeatureScreener("t").fit(X, y).get_support().all()
    with pytest.warns(UserWarning, match="k=10 is greater than n_features=6"):
        assert FeatureScreener("t", k=10).fit(X, y).get_support().all()


def test_screener_has_no_score_method():
    assert not hasattr(FeatureScreener(), "score")


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
            pvalues = screener.set_params(score_func=score).pvalues_.reshape(families, each)
            found = np.mean([select.fdr(p, rate).any() for p in pvalues])
            assert found <= limit, score


def test_k_beyond_the_features_warns_and_keeps_all(rows):
    X, y = rows
    screener = FeatureScreener(k=7).fit(X, y)
    with pytest.warns(UserWarning, match="k=7 is greater than n_features=6") as caught:
        assert screener.get_support().all()
    assert caught[0].filename == __file__
    np.testing.assert_array_equal(screener.transform(X), X)  # reported once, until the next update


def test_nothing_is_scored_until_it_is_read(rows, monkeypatch):
    X, y = rows
    scored = []

    class Spy(ds.Bank):
        def _taken(self, take, n_bins, features, rungs):
            if features != slice(0):  # which only reads the classes
                scored.append(self.n_rows)
            return super()._taken(take, n_bins, features, rungs)

    monkeypatch.setattr("driftsieve.screener.reading.Bank", Spy)
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


def test_many_features_are_scored_block_by_block(rows, monkeypatch):
    screener = FeatureScreener(k=2).fit(*rows)
    whole = screener.scores_
    screener = FeatureScreener(k=2).fit(*rows)
    monkeypatch.setattr(reader, "_NUMBERS", 40)  # two features of 5 bins and 2 classes
    np.testing.assert_array_equal(screener.scores_, whole)
