"""Dictionaries within max_features, max_classes and max_bytes."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

from driftsieve.exceptions import LimitError
from driftsieve.river import FeatureScreener
from river_rows import learned, states


@pytest.mark.parametrize("absent", ["zero", "missing"])
@pytest.mark.parametrize(
    ("limit", "x", "y"),
    [
        ({"max_features": 3}, {"a": 1.0, "new": 2.0, "newer": 3.0}, 0),
        ({"max_classes": 2}, {"a": 1.0, "new": 2.0}, 2),
    ],
)
def test_a_row_beyond_a_limit_is_refused_or_ignored(absent, limit, x, y):
    rows, labels = [{"a": 1.0, "b": 0.5}, {"a": 0.0, "b": 2.0}] * 20, [0, 1] * 20
    strict = learned(rows, labels, absent=absent, **limit)
    before = pickle.dumps(strict)
    with pytest.raises(LimitError, match=next(iter(limit))):
        strict.learn_one(x, y)
    with pytest.raises(LimitError, match=next(iter(limit))):
        strict.learn_many(pd.DataFrame([x]), [y])
    assert pickle.dumps(strict) == before
    lax = learned(rows, labels, absent=absent, on_limit="ignore_new", **limit)
    many = learned(rows, labels, absent=absent, on_limit="ignore_new", **limit)
    lax.learn_one(x, y)
    many.learn_many(pd.DataFrame([x]), [y])
    assert states(lax) == states(many)
    if "max_features" in limit:
        assert list(lax.scores) == ["a", "b", "new"]
        assert lax.ignored == many.ignored == {"rows": 0, "values": 1}
        assert lax._bank.n_rows == 41
    else:
        assert list(lax.scores) == ["a", "b"]
        assert lax.ignored == many.ignored == {"rows": 1, "values": 0}
        assert states(lax) == states(strict)


@pytest.mark.parametrize("absent", ["zero", "missing"])
@pytest.mark.parametrize("score", ["t", "mutual_info"])
@pytest.mark.parametrize("max_bytes", [3e6, 5e6])
def test_new_keys_stay_within_max_bytes(absent, score, max_bytes):
    def words(i, n):
        return {"a": i % 2 + 0.5} | {f"w{i}.{j}": float(j) for j in range(n)}

    settings = {"absent": absent, "max_bytes": max_bytes, "score_func": score, "epsilon": 0.1}
    strict = FeatureScreener(half_life=None, **settings)
    learned_rows, why = 0, ""
    while not why:
        try:
            strict.learn_one(words(learned_rows, 20), learned_rows % 2)
            learned_rows += 1
        except LimitError as error:
            why = str(error)
    assert f"at most {max_bytes:,.0f} bytes (max_bytes)" in why
    assert learned_rows > 1
    assert strict._bank.n_rows == learned_rows
    assert len(strict._bank.keys) == 1 + 20 * learned_rows  # nothing of the row that was refused
    assert strict._bank.nbytes <= max_bytes
    assert len({bank.n_rows for bank in strict._bank._banks[:2]}) == 1
    before = pickle.dumps(strict)
    with pytest.raises(LimitError, match=r"bytes \(max_bytes\)"):
        strict.learn_many(pd.DataFrame([words(-1, 9000)]), [0])
    assert pickle.dumps(strict) == before
    assert strict.scores["a"] > 0  # and what was learned can be read

    lax = FeatureScreener(on_limit="ignore_new", half_life=None, **settings)
    for i in range(3000):
        lax.learn_one(words(i, 20), i % 2)
    assert lax._bank.n_rows == 3000
    assert lax.ignored["values"] == 3000 * 20 - (len(lax._bank.keys) - 1)
    assert 1 < len(lax._bank.keys) < 60_000
    assert lax._bank.nbytes <= max_bytes
    assert lax.selected[0] == "a"


@pytest.mark.parametrize("absent", ["zero", "missing"])
@pytest.mark.parametrize("max_bytes", [2e6, 2.6e6, 20e6])
def test_rows_that_wait_stay_within_the_bytes(absent, max_bytes):
    screener = FeatureScreener("t", max_bytes=max_bytes, absent=absent, half_life=None)
    most = 0
    for i in range(1100):
        screener.learn_one({f"k{j}": float(i * j % 7) for j in range(300)}, i % 2)
        most = max(most, screener._bank.nbytes)
    assert most <= max_bytes
    several_blocks = 1000 * 300 * 8  # quicker, where there is plenty of room
    assert (most > several_blocks) == (max_bytes == 20e6)


@pytest.mark.parametrize("max_bytes", [1.75e6, 2.2e6])
def test_a_learned_memory_stays_within_the_bytes(max_bytes):
    """The rows since the last review count; they are dropped where they do not fit."""
    rng = np.random.default_rng(0)
    screener = FeatureScreener(k=5, max_bytes=max_bytes)
    most = 0
    for i in range(2500):
        x = {f"k{j}": value for j, value in enumerate(rng.normal(size=60))}
        if i > 50:
            x |= {f"w{int(j)}": 1.0 for j in 3000 * rng.random(4) ** 3}
        screener.learn_one(x, i % 2)
        if i % 20 == 0:
            most = max(most, screener._bank.nbytes)
    assert screener._bank.n_rows == 2500
    assert 0.7 * max_bytes < most <= max_bytes
    assert screener.memory.n_reviews > 0


def test_a_first_row_too_wide_for_the_bytes():
    screener = FeatureScreener(half_life=None, max_bytes=1e5)
    for _ in range(2):
        with pytest.raises(LimitError, match=r"at most 100,000 bytes"):
            screener.learn_one({f"k{j}": 1.0 for j in range(10_000)}, 0)
    assert screener.scores == {}
    screener.learn_one({"a": 1.0}, 0)
    assert list(screener.scores) == ["a"]


def test_dense_rows_go_on_where_the_worst_case_would_not_fit():
    screener = FeatureScreener(half_life=None, max_bytes=6e6)
    X = np.random.default_rng(0).normal(size=(4000, 60))
    refused = 0
    for i, row in enumerate(X.tolist()):
        try:
            screener.learn_one(dict(enumerate(row)), i % 2)
        except LimitError:
            refused += 1
        assert screener._bank.nbytes <= 6e6 or i % 100
    assert refused == 0 or screener._bank.n_rows == 4000 - refused
    assert screener._bank.n_rows > 1000


def test_rows_left_out_do_not_age_the_selection():
    screener = FeatureScreener("fisher", k=1, every=10, max_classes=2, on_limit="ignore_new")
    early = [{"a": y + i / 100, "b": i % 3} for i in range(10) for y in (0, 1)]
    for i, x in enumerate(early):
        screener.learn_one(x, i % 2)
    for _ in range(1000):
        screener.learn_one({"a": 0.0, "b": 0.0}, "new")
    assert screener.transform_one({"a": 1.0, "b": 2.0}) == {"a": 1.0}
    late = pd.DataFrame([{"a": i % 3, "b": 9.0 * y + i / 100} for i in range(100) for y in (0, 1)])
    screener.learn_many(late, [0, 1] * 100)
    assert screener.ignored["rows"] == 1000
    assert screener.selected == ["b"]
    assert screener.transform_one({"a": 1.0, "b": 2.0}) == {"b": 2.0}


@pytest.mark.parametrize("absent", ["zero", "missing"])
@pytest.mark.parametrize("late_keys", [0, 3])
def test_rows_fit_a_limit_slightly_above_their_size(absent, late_keys):
    rng = np.random.default_rng(0)

    def row(i):
        x = {f"k{j}": float(v) for j, v in enumerate(rng.normal(size=30))}
        return x | {f"w{rng.integers(500)}": 1.0 for _ in range(late_keys if i else 0)}

    rows = [row(i) for i in range(2000)]
    whole = FeatureScreener(half_life=None, absent=absent)
    most = 0
    for i, x in enumerate(rows):
        whole.learn_one(x, i % 2)
        if i % 100 == 99:
            whole._bank.flush()
            most = max(most, whole._bank.nbytes)
    screener = FeatureScreener(half_life=None, absent=absent, max_bytes=1.5 * most)
    for i, x in enumerate(rows):
        screener.learn_one(x, i % 2)
    assert screener._bank.nbytes <= 1.5 * most
    assert screener.scores == whole.scores
    strict = FeatureScreener(half_life=None, absent=absent, max_bytes=0.5 * most)
    learned_rows = 0
    for i, x in enumerate(rows):
        try:
            strict.learn_one(x, i % 2)
        except LimitError:
            break
        learned_rows += 1
        assert i % 100 or strict._bank.nbytes <= 0.5 * most
    assert 100 < learned_rows < 2000
