"""Missing values are no evidence: rankings and laws with missing values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import driftsieve as ds
from driftsieve import FeatureScreener, offline
from driftsieve import river as ds_river
from driftsieve.scores import SCORES, rank


@pytest.mark.parametrize("name", ["t", "fisher", "mutual_info", "chi2", "gini"])
def test_feature_that_is_missing_for_long_does_not_rank_first(name):
    rng = np.random.default_rng(0)
    n, half_life = 20_000, 100
    y = rng.integers(0, 2, n)
    X = rng.standard_normal((n, 3))
    X[:, 0] += 2 * y
    X[:, 1] += 0.7 * y
    X[n // 2 :, 0] = np.nan
    screener = FeatureScreener(name, k=1, half_life=half_life, missing="ignore").fit(X, y)
    assert list(screener.get_support(indices=True)) == [1]


@pytest.mark.parametrize("name", ["fisher", "mutual_info", "gini"])
def test_river_selects_a_key_that_is_still_there(name):
    rng = np.random.default_rng(1)
    screener = ds_river.FeatureScreener(name, k=1, half_life=20, absent="missing")
    for i in range(1200):
        y = int(rng.integers(0, 2))
        row = {"now": rng.normal() + 1.5 * y, "noise": rng.normal()}
        if i < 600:
            row["died"] = rng.normal() + 4.0 * y
        screener.learn_one(row, y)
    assert screener.transform_one({"now": 1.0, "noise": 0.0}) == {"now": 1.0}


@pytest.mark.parametrize("name", SCORES)
def test_features_known_in_four_rows_do_not_win(name):
    rng = np.random.default_rng(0)
    n, few = 5000, 300
    y = rng.integers(0, 2, n)
    X = np.full((n, few + 1), np.nan)
    X[:, -1] = rng.standard_normal(n) + 0.5 * y
    for j in range(few):
        rows = np.concatenate(
            [rng.choice(np.flatnonzero(y == c), 2, replace=False) for c in (0, 1)]
        )
        X[rows, j] = rng.standard_normal(4)
    bank = ds.Bank(missing="ignore").update(X, y)
    score = SCORES[name]
    ranks = rank(score.function(bank.snapshot()), score.larger_is_better)
    # T and Fisher of four rows have no bound: a few of 300 may be large, with large p-values
    assert ranks[-1] <= {"t": 20, "fisher": 10}.get(name, 1)
    if score.pvalues:
        assert score.pvalues(bank.snapshot()).argmin() == few


@pytest.mark.parametrize("half_life", [None, "auto"])
@pytest.mark.parametrize("name", ["t", "fisher"])
def test_keys_that_river_has_seen_once_or_once_in_each_class_are_not_selected(name, half_life):
    rng = np.random.default_rng(2)
    screener = ds_river.FeatureScreener(name, k=2, absent="missing", half_life=half_life)
    for i in range(300):
        y = i % 2
        row = {"good": rng.normal() + y, "fair": rng.normal() + y / 2}
        screener.learn_one({**row, f"once {i}": 1.0, f"twice {i // 2}": float(y)}, y)
    row = {"good": 1, "fair": 1, "once 3": 1, "twice 3": 1}
    assert set(screener.transform_one(row)) == {"good", "fair"}


def test_a_constant_column_gains_nothing_from_being_missing_in_one_class():
    rng = np.random.default_rng(3)
    n = 4000
    y = rng.integers(0, 2, n)
    X = np.column_stack([np.ones(n), rng.standard_normal(n) + y])
    X[(y == 0) & (rng.random(n) < 0.95), 0] = np.nan
    snap = ds.Bank(missing="ignore").update(X, y).snapshot()
    prior = 1 - ((np.bincount(y) / n) ** 2).sum()
    gini = ds.scores.gini(snap)
    assert gini[0] == pytest.approx(prior, rel=1e-12)
    assert gini[1] < gini[0]


@pytest.mark.parametrize("name", SCORES)
def test_feature_without_observed_rows_scores_0(name):
    rng = np.random.default_rng(4)
    X, y = rng.standard_normal((200, 2)), rng.integers(0, 3, 200)
    X[:, 0] = np.nan
    score = SCORES[name]
    snap = ds.Bank(missing="ignore", half_life=50).update(X, y).snapshot()
    shares = snap.class_weight / snap.W
    assert score.function(snap)[0] == pytest.approx(1 - (shares**2).sum() if name == "gini" else 0)
    if score.pvalues:
        assert score.pvalues(snap)[0] == 1


@given(st.integers(0, 2**32), st.sampled_from([0.25, 3.0, 1e6]), st.sampled_from([None, 40.0]))
def test_scaling_all_weights_changes_no_ranking(seed, scale, half_life):
    rng = np.random.default_rng(seed)
    X, y, weight = rng.standard_normal((120, 6)), rng.integers(0, 3, 120), rng.random(120)
    X[rng.random(X.shape) < [0.0, 0.2, 0.5, 0.9, 0.0, 0.4]] = np.nan
    for score in SCORES.values():
        ranks = [
            rank(score.function(bank.snapshot()), score.larger_is_better).tolist()
            for bank in (
                ds.Bank(missing="ignore", half_life=half_life).update(X, y, weight * unit)
                for unit in (1.0, scale)
            )
        ]
        assert ranks[0] == ranks[1]


@pytest.mark.parametrize("name", ["fisher", "mutual_info", "gini"])
def test_values_missing_at_random_lower_a_score_in_proportion(name):
    rng = np.random.default_rng(5)
    n = 40_000
    y = rng.integers(0, 2, n)
    whole = rng.standard_normal(n) + y
    shares = np.array([1.0, 0.5, 0.1])
    X = np.where(rng.random((n, 3)) < shares, whole[:, None], np.nan)
    score = SCORES[name].function(ds.Bank(missing="ignore").update(X, y).snapshot())
    gain = 0.5 - score if name == "gini" else score
    np.testing.assert_allclose(gain / gain[0], shares, rtol=0.1)


@given(st.integers(0, 2**32), st.sampled_from([None, 30.0]), st.booleans())
def test_bank_and_offline_have_the_same_pvalues_where_values_are_missing(seed, half_life, weighted):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 150))
    X, y = rng.standard_normal((n, 5)).round(1), rng.integers(0, 3, n)
    X[rng.random(X.shape) < [0.0, 0.3, 0.7, 0.95, 0.0]] = np.nan
    X[: n // 2, 4] = np.nan
    weight = rng.random(n) if weighted else np.ones(n)
    fading = 1.0 if half_life is None else offline.clock_weights(n, half_life=half_life)
    bank = ds.Bank(missing="ignore", half_life=half_life).update(X, y, weight)
    want = offline.snapshot(X, y, sample_weight=weight * fading, missing="ignore")
    for score in SCORES.values():
        for function in filter(None, (score.function, score.pvalues)):
            np.testing.assert_allclose(
                function(bank.snapshot()), function(want), rtol=1e-6, atol=1e-9
            )
