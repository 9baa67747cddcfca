"""Batch after batch: fading, clocks, classes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from screener_rows import EXACT

import driftsieve as ds
from driftsieve import FeatureScreener
from driftsieve.screener import reading


@pytest.mark.parametrize("fading", [{}, {"half_life": 40}, {"decay": 0.97}])
def test_batches_give_the_result_of_one_fit(rows, fading):
    X, y = rows
    weight = np.random.default_rng(0).uniform(size=len(y))
    whole = FeatureScreener(k=2, **EXACT, **fading).fit(X, y, sample_weight=weight)
    parts = FeatureScreener(k=2, **EXACT, **fading)
    for part in np.array_split(np.arange(len(y)), 7):
        parts.partial_fit(X[part], y[part], sample_weight=weight[part])
    assert parts.to_bytes() == whole.to_bytes()
    weight = weight * ds.offline.clock_weights(len(y), **fading)
    expected = ds.offline.scores(X, y, sample_weight=weight)
    np.testing.assert_allclose(whole.scores_, expected, rtol=1e-9)


def test_time_clock_accepts_rows_in_any_order(rows):
    X, y = rows
    t = np.arange(len(y), dtype=float)
    late = np.random.default_rng(1).permutation(len(y))
    screener = FeatureScreener("t", k=2, half_life=30, clock="time").fit(
        X[late], y[late], time=t[late]
    )
    weight = ds.offline.clock_weights(t, clock="time", half_life=30)
    expected = ds.offline.scores(X, y, "t", sample_weight=weight)
    np.testing.assert_allclose(screener.scores_, expected, rtol=1e-9)
    with pytest.raises(ValueError, match="time must be given"):
        screener.partial_fit(X, y)
    with pytest.raises(ValueError, match='time must be given with clock="time" only'):
        FeatureScreener().fit(X, y, time=t)


def test_fit_forgets_and_partial_fit_does_not(rows):
    X, y = rows
    screener = FeatureScreener(k=2).fit(X, y)
    once = screener.to_bytes()
    assert screener.fit(X, y).to_bytes() == once
    assert screener.partial_fit(X, y).bank_.n_rows == 1200
    assert screener.fit(X[:, :3], y).n_features_in_ == 3


def test_labels_outside_of_declared_classes_are_an_error(rows):
    X, y = rows
    screener = FeatureScreener(k=2).partial_fit(X, y, classes=["spam", "ham", "new"])
    assert list(screener.classes_) == ["ham", "new", "spam"]
    np.testing.assert_array_equal(screener.scores_, FeatureScreener().fit(X, y).scores_)
    before = screener.to_bytes()
    with pytest.raises(ValueError, match=r"got \['other'\]"):
        screener.partial_fit(X[:1], ["other"])
    with pytest.raises(ValueError, match="is not the same as on last call to partial_fit"):
        screener.partial_fit(X, y, classes=["spam", "ham"])
    with pytest.raises(ValueError, match=r"got \['ham'\]"):
        FeatureScreener().partial_fit(X, y).partial_fit(X, y, classes=["spam"])
    assert screener.to_bytes() == before
    screener = FeatureScreener.from_bytes(before)
    assert list(screener.classes_) == ["ham", "new", "spam"]
    with pytest.raises(ValueError, match=r"got \['other'\]"):
        screener.partial_fit(X[:1], ["other"])


@pytest.mark.parametrize(
    "labels", [[False, True], [3, -7], [1.0, 2.0], ["no", "yes"]], ids=lambda v: type(v[0]).__name__
)
def test_labels_of_any_kind_give_the_same_scores(rows, labels):
    X, y = rows
    given = np.array(labels)[(y == "spam").astype(int)]
    screener = FeatureScreener(k=2).fit(X, given)
    assert set(screener.classes_.tolist()) == set(labels)
    np.testing.assert_allclose(screener.scores_, FeatureScreener().fit(X, y).scores_, rtol=1e-12)


def test_new_classes_may_come_later(rows):
    X, y = rows
    many = np.arange(len(y)) % 3
    screener = FeatureScreener("chi2", **EXACT).partial_fit(X[:100], many[:100] % 2)
    screener.partial_fit(X[100:], many[100:])
    assert list(screener.classes_) == [0, 1, 2]
    expected = ds.offline.scores(X, np.r_[many[:100] % 2, many[100:]], "chi2")
    np.testing.assert_allclose(screener.scores_, expected, rtol=1e-9)


@pytest.mark.parametrize("how", ["partial_fit", "merge"])
def test_an_interrupt_after_an_update_leaves_no_stale_results(rows, how, monkeypatch):
    X, y = rows
    first, second = (sparse.csr_array(X[:300, :4]), y[:300]), (sparse.csr_array(X[300:]), y[300:])

    def new():
        return FeatureScreener("t", k=2, new_features="grow")

    def learn(screener):
        later = (new().fit(*second),) if how == "merge" else second
        return getattr(screener, how)(*later)

    whole, screener = learn(new().fit(*first)), new().fit(*first)
    assert len(screener.scores_) == 4
    hold = FeatureScreener._hold

    def interrupted(self, *state):
        if self is screener:
            raise KeyboardInterrupt
        return hold(self, *state)

    monkeypatch.setattr(FeatureScreener, "_hold", interrupted)
    with pytest.raises(KeyboardInterrupt):
        learn(screener)
    assert screener.n_features_in_ == 6
    np.testing.assert_array_equal(screener.scores_, whole.scores_)
    np.testing.assert_array_equal(screener.ranking_, whole.ranking_)
    np.testing.assert_array_equal(
        screener.transform(second[0]).toarray(), whole.transform(second[0]).toarray()
    )


@pytest.mark.parametrize("name", ["scores_", "pvalues_", "ranking_", "get_support"])
def test_rows_learned_during_a_read_leave_no_stale_scores(rows, name, monkeypatch):
    X, y = rows
    overtaking = []

    class Overtaken(ds.Bank):
        def _taken(self, take, n_bins, features, rungs):
            taken = super()._taken(take, n_bins, features, rungs)
            # as another thread would, before the reader continues with scores
            while overtaking and features != slice(0):
                screener.partial_fit(*overtaking.pop())
            return taken

    def read(screener):
        found = getattr(screener, name)
        return found() if name == "get_support" else found

    monkeypatch.setattr(reading, "Bank", Overtaken)
    screener = FeatureScreener("t", k=1).fit(X, y)
    overtaking.append((X[:, ::-1] * 9, y))
    old = read(screener)
    new = read(FeatureScreener("t", k=1).fit(X, y).partial_fit(X[:, ::-1] * 9, y))
    assert not np.array_equal(old, new)
    np.testing.assert_array_equal(read(screener), new)
