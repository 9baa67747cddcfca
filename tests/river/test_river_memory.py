"""The river transformer learns how long to remember, from all features together."""

import copy

import numpy as np
import pandas as pd
import pytest

from driftsieve.river import FeatureScreener

NAMES = [f"x{j}" for j in range(6)]


def stream(n=4000):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 6))
    relevant = np.where(np.arange(n) < n // 2, X[:, 1], X[:, 2])
    return X, relevant + 0.5 * rng.normal(size=n) > 0


def test_it_learns_by_default_and_follows_a_leap():
    X, y = stream()
    screener = FeatureScreener(k=1)
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        screener.learn_one(dict(zip(NAMES, row, strict=True)), label)
    assert screener.selected == ["x2"]
    assert screener.memory.n_reviews > 4
    assert screener.memory.half_life < 4000


def test_frames_rows_and_copies_give_the_same_memory():
    X, y = stream(3000)
    one, many = FeatureScreener(), FeatureScreener()
    for i, (row, label) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        one.learn_one(dict(zip(NAMES, row, strict=True)), label)
        if i == 1234:
            assert one.scores  # reading changes nothing
            one = copy.deepcopy(one)
    for start in range(0, 3000, 700):
        rows = slice(start, start + 700)
        many.learn_many(pd.DataFrame(X[rows], columns=NAMES), y[rows].tolist())
    assert one.scores == many.scores
    assert one.memory == many.memory


def test_late_features_share_the_memory():
    X, y = stream()
    screener = FeatureScreener(k=1)
    for i, (row, label) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        late = {"late": float(label)} if i >= 1000 else {}
        screener.learn_one(dict(zip(NAMES, row, strict=True)) | late, label)
    assert screener.selected == ["late"]
    dense, sparse = screener._bank._banks
    assert dense.memory.weights == sparse.memory.weights


def test_times_need_half_lives_to_choose_from():
    with pytest.raises(ValueError, match="half-lives to choose from"):
        FeatureScreener(clock="time")
    screener = FeatureScreener(clock="time", half_life=["1h", "1d", None])
    screener.learn_one({"a": 1.0}, 0, time=0.0)
    assert screener.memory.half_lives[:2] == (3600.0, 86400.0)


def test_a_fixed_half_life_has_no_memory_to_show():
    for parameters in ({"half_life": None}, {"half_life": 100}, {"decay": 0.99}):
        with pytest.raises(AttributeError, match="memory is available only"):
            FeatureScreener(**parameters).memory  # noqa: B018
