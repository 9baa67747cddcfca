"""Dictionaries are scored, ranked and selected by the definitions, and as river expects."""

from __future__ import annotations

import copy
import pickle
import random
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from river import checks, compose, linear_model, stream

from driftsieve import offline
from driftsieve.river import FeatureScreener
from driftsieve.scores import SCORES
from river_rows import learned, rows_of, states

GRID = [
    *(FeatureScreener(score, k=2) for score in SCORES),
    FeatureScreener(),
    FeatureScreener(absent="missing", k=2),
    FeatureScreener("fisher", k=3, half_life=20, missing="ignore", absent="missing"),
    FeatureScreener("t", fdr=0.5, decay=0.99),
    FeatureScreener(percentile=30, n_bins=2, epsilon=0.1, every=5),
    FeatureScreener("gini", k=2, n_threads=1, max_features=50, on_limit="ignore_new"),
    FeatureScreener("chi2", k=2, half_life=20, clock="batch"),
]


@pytest.mark.parametrize(
    ("screener", "check"),
    [
        pytest.param(screener, check, id=f"{i}-{check.__name__}")
        for i, screener in enumerate(GRID)
        for check in checks.yield_checks(screener)
        if check.__name__ not in screener._unit_test_skips()
    ],
)
def test_passes_the_checks_of_river(screener, check):
    random.seed(3)  # some checks shuffle
    check(screener.clone())


def test_only_the_batch_clock_skips_a_check():
    assert [bool(screener._unit_test_skips()) for screener in GRID] == [False] * 11 + [True]


@pytest.mark.parametrize("absent", ["zero", "missing"])
@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("half_life", [None, 50])
def test_scores_are_those_of_the_definition(absent, score, half_life):
    rows, labels = rows_of()
    screener = learned(
        rows, labels, score_func=score, absent=absent, half_life=half_life, epsilon=0.001
    )
    keys = list(screener.scores)
    assert set(keys) == {"a", "b", 7, "late", "rare"}
    empty = 0.0 if absent == "zero" else np.nan
    X = np.array([[x.get(key, empty) for key in keys] for x in rows])
    weight = offline.clock_weights(len(rows), half_life=half_life)
    snap = offline.snapshot(X, labels, sample_weight=weight, missing="ignore")
    expected = SCORES[score].function(snap)
    np.testing.assert_allclose(list(screener.scores.values()), expected, rtol=1e-9)
    assert screener.selected[0] == "late"
    assert set(screener.selected) == set(keys)
    assert screener.ranking["late"] == 1
    if score == "gini":
        assert screener.pvalues is None
    else:
        assert screener.pvalues["late"] < 1e-6 < screener.pvalues[7]


def test_batch_clock_ticks_once_a_call():
    rows, labels = rows_of(60)
    X = pd.DataFrame({"n": [x[7] for x in rows], "a": [x["a"] for x in rows]})
    screener = FeatureScreener("t", half_life=1, clock="batch")
    screener.learn_many(X[:50], labels[:50])
    screener.learn_many(X[50:], labels[50:])
    weight = np.r_[np.full(50, 0.5), np.ones(10)]
    expected = offline.scores(X[["a", "n"]], labels, "t", sample_weight=weight)
    assert list(screener.scores) == ["a", "n"]
    np.testing.assert_allclose(list(screener.scores.values()), expected, rtol=1e-9)
    for x, y in zip(rows, labels, strict=True):
        screener.learn_one(x, y)
    screener._bank.flush()
    assert screener._bank._banks[0].now == 61


def test_weights_and_times_count_as_offline():
    rows, labels = rows_of(80)
    rng = np.random.default_rng(2)
    w, t = rng.uniform(size=80), rng.permutation(80).astype(float)
    screener = FeatureScreener("fisher", half_life=9, clock="time")
    for x, y, wi, ti in zip(rows, labels, w, t, strict=True):
        screener.learn_one(x, y, w=wi, time=ti)
    X = np.array([[x["a"], x[7]] for x in rows])
    weight = w * offline.clock_weights(t, clock="time", half_life=9)
    expected = offline.scores(X, labels, "fisher", sample_weight=weight)
    assert [screener.scores[key] for key in ("a", 7)] == pytest.approx(expected.tolist(), rel=1e-9)
    many = FeatureScreener("fisher", half_life=9, clock="time")
    many.learn_many(pd.DataFrame({"a": X[:, 0], "n": X[:, 1]}), pd.Series(labels), w=w, time=t)
    assert many.scores["a"] == pytest.approx(screener.scores["a"], rel=1e-12)


@pytest.mark.parametrize("score", ["t", "chi2"])
def test_rows_before_a_late_key_can_have_later_times(score):
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, 200)
    X = rng.normal(size=(200, 2)) + [[1.0, 0.5]] * y[:, None]
    X[0, 1] = np.nan  # the key is late
    t = np.arange(200.0)
    t[0] = 500.0
    screener = FeatureScreener(score, half_life=100, clock="time", absent="missing")
    for (a, b), label, time in zip(X.tolist(), y.tolist(), t, strict=True):
        screener.learn_one({"a": a} if np.isnan(b) else {"a": a, "b": b}, label, time=time)
    weight = offline.clock_weights(t, clock="time", half_life=100)
    expected = offline.scores(X, y, score_func=score, sample_weight=weight, missing="ignore")
    assert list(screener.scores.values()) == pytest.approx(expected, rel=1e-9)


def test_rows_that_wait_and_rows_that_were_read_share_their_room():
    rows = [{f"k{j}": float(i * j % 13) for j in range(200)} for i in range(1000)]
    screener = learned(rows[:500], [0, 1] * 250)
    assert len(screener.scores) == 200
    for x in rows[500:]:
        screener.learn_one(x, 1)
    assert 1000 * 200 * 8 < screener._bank.nbytes < 1.2 * 1000 * 200 * 8


def test_late_feature_with_classes_in_another_order_is_scored_correctly():
    rng = np.random.default_rng(5)
    rows = [{"a": a, "b": b} for a, b in rng.normal(size=(200, 2)).tolist()]
    labels = [1, 0] * 100
    late = learned([{"a": 0.5}] * 3, [0, 2, 1], score_func="fisher", absent="missing")
    for x, y in zip(rows, labels, strict=True):
        late.learn_one(x, y)
        late._bank.flush()
    alone = learned(rows, labels, score_func="fisher", absent="missing")
    share = 200 / 203  # of the rows, in which b was there
    assert late.scores["b"] == pytest.approx(share * alone.scores["b"], rel=1e-12)


def test_before_the_first_row_all_features_pass_and_before_two_classes_the_first_k():
    screener = FeatureScreener(k=1)
    x = {"a": 1.0, "text": "is fine here"}
    assert screener.transform_one(x) == x
    assert screener.transform_one(x) is not x
    frame = pd.DataFrame({"a": [1.0], "b": [2.0]})
    assert list(screener.transform_many(frame).columns) == ["a", "b"]
    screener.learn_one({"a": 1.0, "b": 2.0}, 0)
    assert screener.transform_one({"b": 2.0, "a": 1.0}) == {"a": 1.0}
    assert list(screener.transform_many(frame).columns) == ["a"]
    assert screener.selected == ["a"]
    screener.learn_one({"a": 1.0, "b": 1.0}, 1)
    assert screener.transform_one({"a": 1.0, "b": 2.0}) == {"b": 2.0}
    assert screener.transform_one({"a": 1.0, "new": 3.0}) == {}
    assert list(screener.transform_many(frame).columns) == ["b"]
    assert FeatureScreener().scores == {}
    assert FeatureScreener().selected == []


@pytest.mark.parametrize(
    ("rule", "k", "kept"),
    [
        ("k", 2, "ab"),
        ("percentile", 75, "abc"),
        ("threshold", 9, "abcd"),
        ("fdr", 0.1, "abcd"),
    ],
)
@pytest.mark.parametrize("absent", ["zero", "missing"])
def test_a_stream_of_one_class_warns_once_after_so_many_rows(rule, k, kept, absent):
    screener = FeatureScreener("t", **{rule: k}, every=20, absent=absent, half_life=None)
    rng = np.random.default_rng(0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for i in range(100):
            assert not caught or i >= 20
            screener.learn_one(dict(zip("abcd", rng.normal(size=4), strict=True)), "ham")
            assert "".join(screener.transform_one(dict.fromkeys("dcba", 1.0))) in (kept, kept[::-1])
    assert len(caught) == 1
    ending = f"have weight. {rule}={k!r} selects the first {len(kept)} features."
    assert str(caught[0].message).endswith(ending)
    for i in range(20):  # the second class counts at once
        x = dict(zip("abcd", rng.normal(size=4), strict=True))
        screener.learn_one({**x, "d": x["d"] + 9 * (i % 2)}, ["ham", "spam"][i % 2])
        screener.transform_one({"a": 1.0})
    assert "d" in screener.selected


def test_the_selection_is_renewed_as_rows_double_and_then_every_so_many():
    rng = np.random.default_rng(5)
    screener = FeatureScreener(k=1, every=64)
    renewed = []
    screener._renew = lambda renew=screener._renew: (renewed.append(screener._bank.n_rows), renew())
    for i in range(300):
        y = i % 2
        x = {"a": rng.normal() + y, "b": rng.normal()}
        screener.learn_one(x, y)
        screener.transform_one(x)
    assert renewed == [1, 2, 4, 8, 16, 32, 64, 128, 192, 256]
    assert screener.transform_one({"a": 1.0, "b": 2.0}) == {"a": 1.0}


def test_in_a_pipeline_of_river():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(600, 20))
    y = X[:, 3] > 0
    model = compose.Pipeline(FeatureScreener("t", k=2), linear_model.LogisticRegression())
    right = 0
    for x, label in stream.iter_array(X, y):
        right += model.predict_one(x) == label
        model.learn_one(x, label)
    assert right > 540
    assert model["FeatureScreener"].selected[0] == 3


def test_a_late_feature_with_one_class_is_the_worst():
    rows = [{"a": float(i)} for i in range(10)] + [{"a": 0.0, "z": 1.0}]
    screener = learned(rows, [0, 1] * 5 + [0], absent="missing", score_func="gini")
    assert screener.selected == ["a", "z"]


def test_copies_continue_with_the_same_results():
    rows, labels = rows_of(300)
    screener = learned(rows[:150], labels[:150], half_life=80)
    twins = [screener, pickle.loads(pickle.dumps(screener))]
    twins += [copy.deepcopy(screener), copy.copy(screener)]
    for twin in twins:
        for x, y in zip(rows[150:], labels[150:], strict=True):
            twin.learn_one(x, y)
    assert all(states(twin) == states(screener) for twin in twins)
    assert screener.clone().scores == {}


def test_river_counts_the_memory_of_the_bank():
    rows = [{f"k{j}": float(i * j % 13) for j in range(200)} for i in range(100)]
    screener = learned(rows, [0, 1] * 50)
    assert screener._raw_memory_usage > screener._bank.nbytes > 100 * 200 * 8


def test_without_river_the_extra_is_named():
    program = "import sys; sys.modules['river'] = None; import driftsieve.river"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert 'driftsieve.river needs river: pip install "driftsieve[river]"' in run.stderr
