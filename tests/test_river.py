from __future__ import annotations

import copy
import datetime as dt
import math
import pickle
import random
import subprocess
import sys
from collections import OrderedDict

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from river import checks, compose, linear_model, stream

from driftsieve import offline
from driftsieve.river import FeatureScreener, room
from driftsieve.scores import SCORES
from river_rows import learned, rows_of, states

GRID = [
    *(FeatureScreener(score, k=2) for score in SCORES),
    FeatureScreener(),
    FeatureScreener(absent="missing", k=2),
    FeatureScreener("fisher", k=3, half_life=20, missing="ignore", absent="missing"),
    FeatureScreener("t", rule="fdr", k=0.5, alpha=0.99),
    FeatureScreener(k=30, rule="percentile", n_bins=2, epsilon=0.1, every=5),
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
def test_river_checks(screener, check):
    random.seed(3)  # some checks shuffle
    check(screener.clone())


def test_only_the_batch_clock_skips_a_check():
    assert [bool(screener._unit_test_skips()) for screener in GRID] == [False] * 11 + [True]


@pytest.mark.parametrize("absent", ["zero", "missing"])
@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("half_life", [None, 50])
def test_scores_are_those_of_the_definition(absent, score, half_life):
    rows, labels = rows_of()
    screener = learned(rows, labels, score=score, absent=absent, half_life=half_life, epsilon=0.001)
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


@pytest.mark.parametrize("absent", ["zero", "missing"])
@pytest.mark.parametrize("half_life", [None, 50])
def test_many_rows_are_learned_as_one_by_one(absent, half_life, monkeypatch):
    monkeypatch.setattr(room, "_MOST_CELLS", 200)  # a few rows wait at a time
    rng = np.random.default_rng(1)
    one, many, read = (FeatureScreener(absent=absent, half_life=half_life) for _ in range(3))
    for columns in ("ba", "ba", "bcda", "ed", "a", "abcdefg"):
        X = pd.DataFrame(rng.normal(size=(50, len(columns))), columns=list(columns))
        y = pd.Series(rng.choice(["x", "y", "z"], size=50))
        many.learn_many(X, y)
        for i, (x, label) in enumerate(zip(X.to_dict("records"), y, strict=True)):
            one.learn_one(x, label)
            read.learn_one(x, label)
            if i % 8 == 0:
                read.scores  # noqa: B018 - a read between rows changes nothing
    assert list(one.scores) == ["a", "b", "c", "d", "e", "f", "g"]
    assert many.scores == one.scores
    assert states(many) == states(one) == states(read)
    assert one._bank.n_rows == many._bank.n_rows == 300


def test_a_frame_may_be_of_polars():
    X = pl.DataFrame({"a": [1.0, 2.0], "b": [2.0, 1.0]})
    screener = FeatureScreener(k=1)
    screener.learn_many(X, ["u", "v"])
    assert list(screener.transform_many(X).columns) == ["a"]


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


def test_weights_and_times():
    rows, labels = rows_of(80)
    rng = np.random.default_rng(2)
    w, t = rng.uniform(size=80), rng.permutation(80).astype(float)
    screener = FeatureScreener("fisher", half_life=9, clock="time")
    for x, y, wi, ti in zip(rows, labels, w, t, strict=True):
        screener.learn_one(x, y, w=wi, t=ti)
    X = np.array([[x["a"], x[7]] for x in rows])
    weight = w * offline.clock_weights(t, clock="time", half_life=9)
    expected = offline.scores(X, labels, "fisher", sample_weight=weight)
    assert [screener.scores[key] for key in ("a", 7)] == pytest.approx(expected.tolist(), rel=1e-9)
    many = FeatureScreener("fisher", half_life=9, clock="time")
    many.learn_many(pd.DataFrame({"a": X[:, 0], "n": X[:, 1]}), pd.Series(labels), w=w, t=t)
    assert many.scores["a"] == pytest.approx(screener.scores["a"], rel=1e-12)


def test_what_a_row_may_look_like():
    class Words(dict):
        pass

    plain = learned([{"a": 1.0, "b": 0.5}, {"a": 0.0, "b": 2.0}] * 20, [0, 1] * 20)
    holes = {"c": 9.0, "a": 0.0, "b": 2.0}
    del holes["c"]
    other = "".join(["a"])  # an equal key that is another object
    odd = [
        {"a": 1, "b": np.float32(0.5)},
        holes,
        OrderedDict(b=0.5, a=True),
        Words(b=np.float64(2.0), a=np.int64(0)),
        {other: 1.0, "b": 0.5},
        {"a": False, "b": 2},
    ]
    screener = learned((odd * 7)[:40], [0, 1] * 20)
    assert states(screener) == states(plain)
    numbered = learned([{0: 1.0, 1: 0.5}, {0: 0.0, 1: 2.0}] * 20, [0, 1] * 20)
    assert list(numbered.scores.values()) == list(plain.scores.values())


def test_many_keys_that_repeat_in_changing_order():
    rng = np.random.default_rng(4)
    keys = [f"k{i:03}" for i in range(700)]  # more than 256: a wider table within the dictionary
    X = rng.normal(size=(60, 700))
    rows = [dict(zip(keys, row, strict=True)) for row in X.tolist()]
    for i in (20, 21, 40):
        order = rng.permutation(700)
        rows[i] = {keys[j]: rows[i][keys[j]] for j in order}
    labels = [i % 2 for i in range(60)]
    screener = learned(rows, labels, score="t")
    np.testing.assert_allclose(
        list(screener.scores.values()), offline.scores(X, labels, "t"), rtol=1e-9
    )


@pytest.mark.parametrize("at", range(20))
def test_an_odd_entry_may_stand_anywhere(at):
    """Entries that are as in the row before are read eight at once."""
    keys = [f"k{i:02}" for i in range(20)]
    plain = [{key: i + j / 7 for j, key in enumerate(keys)} for i in range(6)]
    key = keys[at]
    odd = [dict(row) for row in plain]
    odd[1][key] = np.float64(odd[1][key])
    odd[2] = {"".join([k]) if k == key else k: v for k, v in odd[2].items()}
    odd[3][key] = odd[3].pop(key)
    plain[4][key] = odd[4][key] = -1e308
    plain[5][key], odd[5][key] = 3.0, 3
    screener = learned(odd, [0, 1] * 3, score="t")
    assert states(screener) == states(learned(plain, [0, 1] * 3, score="t"))
    before = states(screener)
    for bad in (math.nan, math.inf, -math.inf, None, object()):
        with pytest.raises((ValueError, TypeError), match=f"'{key}'"):
            screener.learn_one(plain[0] | {key: bad}, 0)
    assert states(screener) == before


def test_keys_that_are_made_anew_for_every_row():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(50, 300))
    labels = [i % 2 for i in range(50)]
    expected = offline.scores(X, labels, "t")
    makers = [str, lambda j: j - 150, lambda j: 2**70 + j, lambda j: (j,), lambda j: f"ж{j}"]
    for make in makers:
        rows = [{make(j): value for j, value in enumerate(row)} for row in X.tolist()]
        screener = learned(rows, labels, score="t")
        found = [screener.scores[make(j)] for j in range(300)]
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_dictionaries_of_objects_share_their_keys_and_are_read_alike():
    class Thing:
        def __init__(self, a, b):
            self.a, self.b = a, b

    rows = [Thing(float(i % 5), float(i % 3)) for i in range(40)]
    screener = learned([vars(row) for row in rows], [0, 1] * 20)
    plain = learned([dict(vars(row)) for row in rows], [0, 1] * 20)
    assert states(screener) == states(plain)


def test_a_row_that_changes_while_it_is_read():
    class Sly:
        def __init__(self, row):
            self.row = row

        def __float__(self):
            for i in range(1000):
                self.row[f"more{i}"] = 0.0
            return 1.0

    screener = learned([{"a": 0.0, "b": 1.0, "c": 2.0}] * 4, [0, 1] * 2)
    before = states(screener)
    row = {"a": 1.0}
    row |= {"b": Sly(row), "c": 3.0}
    with pytest.raises(RuntimeError, match="x was changed while it was read"):
        screener.learn_one(row, 0)
    assert states(screener) == before


@pytest.mark.parametrize(
    "act",
    [lambda s: s.learn_one({"a": 5.0, "b": 5.0}, 1), lambda s: s.scores],
    ids=["learn", "read"],
)
def test_a_value_that_uses_the_screener_while_it_is_read(act):
    class Meddler:
        def __float__(self):
            with pytest.raises(RuntimeError, match="while another one is read"):
                act(screener)
            return 1.0

    rows, labels = [{"a": 0.0, "b": 1.0}] * 4, [0, 1] * 2
    screener = learned(rows, labels)
    screener.learn_one({"a": 1.0, "b": Meddler()}, 0)
    assert states(screener) == states(learned([*rows, {"a": 1.0, "b": 1.0}], [*labels, 0]))


def test_rows_that_wait_and_rows_that_were_read_share_their_room():
    rows = [{f"k{j}": float(i * j % 13) for j in range(200)} for i in range(1000)]
    screener = learned(rows[:500], [0, 1] * 250)
    assert len(screener.scores) == 200
    for x in rows[500:]:
        screener.learn_one(x, 1)
    assert 1000 * 200 * 8 < screener._bank.nbytes < 1.2 * 1000 * 200 * 8


@pytest.mark.parametrize(
    "labels", [[1.5, 2.5], [("a", 1), ("b", 2)], ["x", 3], [True, False], [np.bool_(0), 1]]
)
def test_labels_may_be_anything_hashable(labels):
    rows, _ = rows_of(40)
    screener = learned(rows, labels * 20)
    plain = learned(rows, [0, 1] * 20)
    assert screener.scores == plain.scores


@pytest.mark.parametrize("labels", [[1, "1"], [("a", 1), ("b", 2)], ["x", 3], [True, "True"]])
def test_many_labels_are_those_that_come_one_by_one(labels):
    rows = [{"a": float(i % 7), "b": float(i % 2)} for i in range(40)]
    one, many = learned(rows, labels * 20, score="fisher"), FeatureScreener("fisher")
    many.learn_many(pd.DataFrame(rows), labels * 20)
    assert states(one) == states(many)
    assert one._bank.labels == many._bank.labels == labels


@pytest.mark.parametrize("made", [np.array, pd.Series, pl.Series, tuple, iter])
def test_many_labels_may_come_as_any_sequence(made):
    rows, labels = rows_of(40)
    many = FeatureScreener()
    many.learn_many(pd.DataFrame([{"a": x["a"]} for x in rows]), made(labels))
    assert states(many) == states(learned([{"a": x["a"]} for x in rows], labels))


@pytest.mark.parametrize("absent", ["zero", "missing"])
def test_none_is_missing_where_nan_is(absent):
    rows, labels = rows_of(200)
    for i, x in enumerate(rows):
        x[("a", "late", "new")[i % 3]] = None  # among them keys that are not known yet
    nans = [{key: np.nan if v is None else v for key, v in x.items()} for x in rows]
    by_none, by_nan = (learned(r, labels, absent=absent, missing="ignore") for r in (rows, nans))
    assert states(by_none) == states(by_nan)


def test_a_feature_that_comes_later_meets_the_classes_in_another_order():
    rng = np.random.default_rng(5)
    rows = [{"a": a, "b": b} for a, b in rng.normal(size=(200, 2)).tolist()]
    labels = [1, 0] * 100
    late = learned([{"a": 0.5}] * 3, [0, 2, 1], score="fisher", absent="missing")
    for x, y in zip(rows, labels, strict=True):
        late.learn_one(x, y)
        late._bank.flush()
    alone = learned(rows, labels, score="fisher", absent="missing")
    assert late.scores["b"] == pytest.approx(alone.scores["b"], rel=1e-12)


def test_before_two_classes_all_features_pass():
    screener = FeatureScreener(k=1)
    x = {"a": 1.0, "text": "is fine here"}
    assert screener.transform_one(x) == x
    assert screener.transform_one(x) is not x
    frame = pd.DataFrame({"a": [1.0], "b": [2.0]})
    assert list(screener.transform_many(frame).columns) == ["a", "b"]
    screener.learn_one({"a": 1.0, "b": 2.0}, 0)
    assert screener.transform_one({"a": 1.0, "b": 2.0}) == {"a": 1.0, "b": 2.0}
    screener.learn_one({"a": 1.0, "b": 1.0}, 1)
    assert screener.transform_one({"a": 1.0, "b": 2.0}) == {"b": 2.0}
    assert screener.transform_one({"a": 1.0, "new": 3.0}) == {}
    assert list(screener.transform_many(frame).columns) == ["b"]
    assert FeatureScreener().scores == {}
    assert FeatureScreener().selected == []


def test_rows_without_any_key():
    for absent in ("zero", "missing"):
        screener = learned([{}, {}, {"a": 1.0}, {"a": 2.0}], [0, 1, 0, 1], absent=absent, k=1)
        assert screener.transform_one({"a": 1.0}) == {"a": 1.0}
        assert learned([{}, {}], [0, 1], absent=absent).transform_one({"b": 1.0}) == {}


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


def test_a_late_feature_that_met_one_class_is_the_worst():
    rows = [{"a": float(i)} for i in range(10)] + [{"a": 0.0, "z": 1.0}]
    screener = learned(rows, [0, 1] * 5 + [0], absent="missing", score="gini")
    assert screener.selected == ["a", "z"]


def test_copies_go_on_alike():
    rows, labels = rows_of(300)
    screener = learned(rows[:150], labels[:150], half_life=80)
    twins = [screener, pickle.loads(pickle.dumps(screener))]
    twins += [copy.deepcopy(screener), copy.copy(screener)]
    for twin in twins:
        for x, y in zip(rows[150:], labels[150:], strict=True):
            twin.learn_one(x, y)
    assert all(states(twin) == states(screener) for twin in twins)
    assert screener.clone().scores == {}


def test_river_knows_the_memory_of_the_bank():
    rows = [{f"k{j}": float(i * j % 13) for j in range(200)} for i in range(100)]
    screener = learned(rows, [0, 1] * 50)
    assert screener._raw_memory_usage > screener._bank.nbytes > 100 * 200 * 8


def test_without_river_the_extra_is_named():
    program = "import sys; sys.modules['river'] = None; import driftsieve.river"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert 'driftsieve.river needs river: pip install "driftsieve[river]"' in run.stderr


def test_missing_values_of_pandas_are_learned_alike():
    X = pd.DataFrame({"a": pd.array([1.0, None, 2.0, 0.0], dtype="Float64"), "b": [1, 2, 3, 4]})
    y = pd.Series([0, 1, 0, 1])
    many, one = FeatureScreener("t", missing="ignore"), FeatureScreener("t", missing="ignore")
    many.learn_many(X, y)
    rows = [dict(zip(X.columns, row, strict=True)) for row in X.itertuples(index=False)]
    assert rows[1]["a"] is pd.NA
    for row, label in zip(rows, y, strict=True):
        one.learn_one(row, label)
    assert states(one) == states(many)


@pytest.mark.parametrize(
    "times",
    [
        pd.date_range("2020-01-01", periods=3, tz="Asia/Tokyo"),
        np.array(["2020-01-01", "2020-01-03", "2020-01-02"], dtype="datetime64[ns]"),
        [dt.datetime(2020, 1, day, tzinfo=dt.UTC) for day in (3, 1, 2)],
        [dt.date(2020, 1, day) for day in (3, 1, 2)],
    ],
)
def test_times_may_be_datetimes(times):
    X = pd.DataFrame({"a": [1.0, 2.0, 4.0]})
    many, one = (FeatureScreener("t", clock="time", half_life=86400.0) for _ in range(2))
    many.learn_many(X, [0, 1, 0], t=times)
    for a, label, t in zip(X["a"], [0, 1, 0], times, strict=True):
        one.learn_one({"a": a}, label, t=t)
    assert states(one) == states(many)


@pytest.mark.parametrize("k", [0, 1, 2])
@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_of_any_kind_are_transformed(kind, k):
    X = kind({"a": [0.0, 1.0, 0.0, 1.0], "b": [0.0, 0.0, 1.0, 1.0]})
    screener = FeatureScreener("t", k=k)
    screener.learn_many(X, [0, 1, 0, 1])
    found = screener.transform_many(X)
    assert type(found) is type(X)
    assert list(getattr(found, "column_names", found.columns)) == ["a", "b"][:k]


def test_labels_of_arrow_are_what_they_hold():
    X = pd.DataFrame({"a": [0.0, 1.0]})
    screener = FeatureScreener("t")
    screener.learn_many(X, pa.chunked_array([[0], [1]]))
    screener.learn_one({"a": 2.0}, 0)
    assert screener._bank.labels == [0, 1]
