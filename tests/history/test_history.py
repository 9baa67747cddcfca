"""ScoreHistory: the records that it keeps and drops, and how it continues from its bytes."""

import math
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from driftsieve import Bank, offline
from driftsieve.history import Event, ScoreHistory
from driftsieve.scores import SCORES, rank
from driftsieve.selection.stability import jaccard, nogueira


def drifting(n_records, n_features=60, seed=0):
    """Scores that wander: a random walk for each feature."""
    rng = np.random.default_rng(seed)
    return np.abs(rng.normal(size=(n_records, n_features)).cumsum(axis=0))


def filled(n_records, **parameters):
    history = ScoreHistory(**parameters)
    for i, scores in enumerate(drifting(n_records)):
        history.record(100 * (i + 1), scores)
    return history


def test_records_the_given_scores():
    table = drifting(20, 30)
    history = ScoreHistory(k=5, max_features=60)  # the best 30 are all
    names = [f"f{j}" for j in range(30)]
    for i, scores in enumerate(table):
        history.record(i, scores, names)
    np.testing.assert_array_equal(history.positions, np.arange(20))
    np.testing.assert_array_equal(history.scores, table[:, history.features])
    expected = np.array([rank(row, True) for row in table])
    np.testing.assert_array_equal(history.ranks, expected[:, history.features])
    np.testing.assert_array_equal(history.ranks[-1], np.arange(1, 31))
    assert history.names == tuple(f"f{j}" for j in history.features)
    for chosen, row in zip(history.selections, expected, strict=True):
        np.testing.assert_array_equal(chosen, np.flatnonzero(row <= 5))


@pytest.mark.parametrize("score", SCORES)
def test_a_recorded_snapshot_gives_its_scores(score):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 200)
    X = rng.normal(size=(200, 6)) + np.outer(y, [0, 3, 0, 1, 0, 0])
    snap = offline.snapshot(X, y)
    history = ScoreHistory(score, k=2)
    history.record(200, snap)
    order = history.features
    np.testing.assert_array_equal(history.scores[0], SCORES[score].function(snap)[order])
    assert order[:2].tolist() == [1, 3]
    with pytest.raises(
        ValueError, match="must be a snapshot of all features, got one that starts at feature 2"
    ):
        history.record(300, snap.columns(2, 6))


def test_names_are_those_of_the_snapshot_or_those_given():
    unnamed = offline.snapshot([[0.0, 1.0], [1.0, 1.0]], [0, 1])
    for snap, given, expected in [
        (unnamed, None, ("x0", "x1")),
        (unnamed, ["a", "b"], ("a", "b")),
        (replace(unnamed, feature_names=("u", "v")), ["a", "b"], ("u", "v")),
    ]:
        history = ScoreHistory("mutual_info", k=1)
        history.record(1, snap, feature_names=given)
        assert history.names == expected
        assert [event.name for event in history.events] == [expected[0]]


def test_thinning_spans_the_stream_evenly_and_keeps_the_newest():
    history = ScoreHistory(max_records=8, k=2)
    for n, scores in enumerate(drifting(200), start=1):
        history.record(100 * n, scores)
        counts = history.positions / 100
        stride = history._trace.stride
        assert len(history) <= 8
        assert counts[-1] == n
        assert n < 8 or len(history) > 4
        np.testing.assert_array_equal(counts[:-1], stride * np.arange(1, len(history)))
        assert counts[-1] - (counts[-2] if len(counts) > 1 else 0) <= stride


def test_memory_does_not_grow_with_rows_or_features():
    small, large = (ScoreHistory(k=5, max_records=16, max_features=40, max_events=50) for _ in "ab")
    stated = 8 * 16 * (2 * 40 + 5 + 2) + 16 * 40
    sizes = []
    small.record(1, drifting(1)[0])
    rng = np.random.default_rng(3)
    width = 50
    for i in range(1000):
        width += 3
        large.record(i, rng.random(width))  # no order lasts: every record has events
        if i % 50 == 49:
            sizes.append(len(large.to_bytes()))
    assert small.nbytes == large.nbytes == stated
    assert max(sizes) < stated + 50 * 80 + 40 * 20 + 1000
    assert len(large.events) == 50
    assert large.n_events > 5_000
    assert large.features.size == 40
    held = [large._trace.names, large._selection.members, large._selection.events]
    assert sum(sys.getsizeof(x) for x in held) < 3000


def test_drops_the_feature_that_was_best_the_longest_ago():
    history = ScoreHistory(k=1, margin=0, max_features=4)  # follows the best 2
    history.record(1, [9, 8, 0, 0, 0, 0, 0])
    history.record(2, [9, 0, 8, 0, 0, 0, 0])
    history.record(3, [9, 0, 0, 8, 0, 0, 0])
    assert set(history.features.tolist()) == {0, 1, 2, 3}
    history.record(4, [0, 0, 0, 0, 9, 8, 0])  # two new ones: 1 is dropped, then 2
    assert set(history.features.tolist()) == {0, 3, 4, 5}
    first_of_5 = history.ranks[:, history.features.tolist().index(5)]
    np.testing.assert_array_equal(first_of_5, [0, 0, 0, 2])
    history.record(5, [1, 0, 0, 2, 0, 8, 9])  # 0 and 3 were both best at 3: 0 ranks worse now
    assert set(history.features.tolist()) == {3, 4, 5, 6}


def test_events_have_hysteresis():
    history = ScoreHistory(k=2, margin=1)
    for position, scores in enumerate(
        [
            [9, 8, 1, 0],  # 0 and 1 enter
            [9, 7, 8, 0],  # 2 enters; 1, at rank 3, is within the margin
            [9, 8, 7, 0],  # 1 and 2 swing: no events
            [9, 7, 8, 0],
            [9, 6, 8, 7],  # 1 falls to rank 4 and leaves; 3, at rank 3, does not enter
        ]
    ):
        history.record(position, scores)
    found = [(e.position, e.feature, e.kind, e.rank) for e in history.events]
    assert found == [
        (0, 0, "entered", 1),
        (0, 1, "entered", 2),
        (1, 2, "entered", 2),
        (4, 1, "left", 4),
    ]
    assert history.events[-1] == Event(4.0, 1, "x1", "left", 4, 6.0)
    assert history.members.tolist() == [0, 2]
    assert history.n_events == 4


def test_members_follow_from_the_events():
    history = filled(300, k=6, max_events=10_000, max_records=8)
    inside = set()
    for event in history.events:
        (inside.add if event.kind == "entered" else inside.remove)(event.feature)
    assert inside == set(history.members.tolist())
    assert 6 <= len(inside) <= 7
    assert any(event.kind == "left" for event in history.events)


def test_gini_ranks_the_lowest_first():
    history = ScoreHistory("gini", k=1)
    history.record(1, [0.5, 0.1, 0.3])
    assert history.features.tolist() == [1, 2, 0]
    assert history.events[0].name == "x1"


def test_due_once_in_each_interval():
    history = ScoreHistory(every=100, k=1)
    due = []
    for position in range(7, 700, 30):
        if history.due(position):
            due.append(position)
            history.record(position, [1, 2])
    assert due == [127, 217, 307, 427, 517, 607]
    assert not history.due(690)
    assert history.due(700)


@pytest.mark.parametrize("every", [0.1, 0.3, 0.7, 1 / 3, 1e-3, 12.1])
@pytest.mark.parametrize("start", [0, 10_000, -5000, 14_000_000_000])
def test_due_at_every_multiple_of_a_fraction(every, start):
    history = ScoreHistory(every=every, k=1)
    history.record(start * every, [1, 2])
    for i in range(1, 500):
        assert history.due((start + i) * every), i
        assert not history.due((start + i - 0.4) * every)
        history.record((start + i) * every, [1, 2])


def test_due_at_every_step_of_a_sum_of_fractions():
    history, position = ScoreHistory(every=0.1, k=1), 0.0
    for _ in range(1000):
        position += 0.1
        assert history.due(position)
        history.record(position, [1, 2])


def test_names_in_another_order_are_refused():
    history = ScoreHistory(k=1)
    history.record(1, [3.0, 1.0, 2.0], ["a", "b", "c"])
    before = history.to_bytes()
    with pytest.raises(ValueError, match="got 'b' for feature 0, which was 'a'"):
        history.record(2, [1.0, 3.0, 2.0], ["b", "a", "c"])
    X = np.random.default_rng(0).normal(size=(20, 3))
    bank = Bank().update(pd.DataFrame(X, columns=list("acb")), np.arange(20) % 2)
    with pytest.raises(ValueError, match="feature_names must be those of the last record"):
        history.record(2, bank.snapshot())
    assert history.to_bytes() == before
    history.record(2, [1.0, 3.0, 2.0, 9.0], ["a", "b", "c", "d"])  # one more is fine
    assert history.names == ("d", "b", "c", "a")


def test_due_with_a_clock_that_starts_anywhere():
    for start in (1.4e9, -5000.0):
        history = ScoreHistory(every=60, k=1)
        assert history.due(start)
        history.record(start, [1, 2])
        assert not history.due(start)
        assert history.due(start + 60)


def test_stability_is_that_of_the_best_k():
    history = filled(40, k=5)
    assert history.stability() == nogueira(history.selections, 60)
    over_time = history.stability_over_time(window=4)
    assert over_time["position"].tolist() == history.positions.tolist()
    assert math.isnan(over_time["nogueira"][0])
    assert math.isnan(over_time["jaccard"][0])
    for i in range(1, 40):
        window = history.selections[max(0, i - 3) : i + 1]
        assert over_time["nogueira"][i] == nogueira(window, 60)
        assert over_time["jaccard"][i] == jaccard(*history.selections[i - 1 : i + 1])
    with pytest.raises(ValueError, match="window must be an integer of at least 2, got 1"):
        history.stability_over_time(1)


def test_empty_history_has_no_records():
    history = ScoreHistory()
    assert len(history) == 0
    assert history.features.size == history.positions.size == history.n_events == 0
    assert history.scores.shape == history.ranks.shape == (0, 0)
    assert math.isnan(history.stability())
    assert all(v.size == 0 for v in history.stability_over_time().values())
    assert history.to_frame("polars").shape == (0, 5)
    assert ScoreHistory.from_bytes(history.to_bytes()).to_bytes() == history.to_bytes()


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_to_frame_has_a_row_for_each_record_of_a_followed_feature(backend):
    pytest.importorskip(backend)
    history = ScoreHistory(k=1, margin=0, max_features=2)  # follows the best 1
    for position, scores in [(10, [1.0, 2.0, 3.0]), (20, [1.0, np.inf, 3.0])]:
        history.record(position, scores, ["a", "b", "c"])
    frame = history.to_frame(backend)
    assert type(frame).__module__.split(".")[0] == backend
    columns = (
        frame.to_pydict() if backend == "pyarrow" else {c: list(frame[c]) for c in frame.columns}
    )
    assert columns == {
        "position": [10.0, 20.0, 20.0],
        "feature": [2, 1, 2],
        "name": ["c", "b", "c"],
        "score": [3.0, np.inf, 3.0],
        "rank": [1, 1, 2],
    }


def test_missing_backend_package_is_named(monkeypatch):
    history = filled(3, k=2)
    for module in ("pandas", "altair"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ModuleNotFoundError, match="needs pandas: pip install pandas"):
        history.to_frame()
    with pytest.raises(ModuleNotFoundError, match=r'pip install "driftsieve\[report\]"'):
        history.plot()


@pytest.mark.parametrize("what", ["rank", "score"])
def test_plot_draws_the_best_features(what):
    pytest.importorskip("altair")
    history = ScoreHistory(k=2)
    history.record(1, [3, 2, 1], ["a", "a", '</script>"'])
    history.record(2, [np.inf, 2, 1], ["a", "a", '</script>"'])
    chart = history.plot(what, top=2).to_dict()
    values = chart["data"]["values"]
    assert {v["feature"] for v in values} == {0, 1}
    assert len(values) == (4 if what == "rank" else 3)  # no place for an infinite score
    assert chart["encoding"]["y"]["field"] == what
    assert chart["encoding"]["y"]["scale"]["reverse"] is (what == "rank")
    x, y = chart["encoding"]["x"], chart["encoding"]["y"]
    assert x["title"] == "rows"
    if what == "rank":
        assert chart["title"] == "Rank by mutual information of the best 2 features"
        assert (y["axis"]["format"], y["axis"]["tickMinStep"]) == ("d", 1)  # whole numbers
    else:
        assert chart["title"] == "Mutual information of the best 2 features"
        assert y["title"] == "mutual information (nats)"
    with pytest.raises(ValueError, match="what must be 'rank' or 'score', got 'p'"):
        history.plot("p")


def test_restored_history_continues_bit_for_bit():
    table = drifting(120)
    names = [f"naïve {j}\ud800" for j in range(60)]  # names that UTF-8 cannot hold too
    whole = ScoreHistory(k=4, max_records=16, max_features=20, max_events=30)
    parted = ScoreHistory(k=4, max_records=16, max_features=20, max_events=30)
    for i, scores in enumerate(table):
        scores[i % 60] = np.inf
        whole.record(i, scores, names)
        parted.record(i, scores, names)
        parted = ScoreHistory.from_bytes(parted.to_bytes())
        assert parted.to_bytes() == whole.to_bytes()
    assert parted.events == whole.events
    assert parted.names == whole.names
    np.testing.assert_array_equal(parted.scores, whole.scores)


def test_malformed_bytes_are_refused():
    data = filled(5, k=2).to_bytes()
    with pytest.raises(ValueError, match="must be a Driftsieve history"):
        ScoreHistory.from_bytes(b"PK\3\4" + data)
    with pytest.raises(ValueError, match="truncated or corrupted"):
        ScoreHistory.from_bytes(data[:-1])


@pytest.mark.parametrize(
    ("where", "key", "value"),
    [
        ("parameters", "k", 3),
        ("parameters", "max_records", 10**18),
        ("parameters", "more", 1),
        ("trace", "count", 7),
        ("trace", "count", -7),
        ("trace", "count", 10**9),
        ("trace", "count", "x"),
        ("trace", "stride", 0),
        ("trace", "names", []),
        ("selection", "name", []),
        ("selection", "n_events", None),
    ],
)
def test_bytes_that_contradict_themselves_are_refused(where, key, value):
    from driftsieve._storage.envelope import pack_arrays, unpack_arrays

    meta, arrays = unpack_arrays(filled(5, k=2).to_bytes(), "history")
    meta[where][key] = value
    with pytest.raises(ValueError, match="malformed"):
        ScoreHistory.from_bytes(pack_arrays("history", meta, arrays))


def test_members_that_do_not_exist_are_refused():
    from driftsieve._storage.envelope import pack_arrays, unpack_arrays

    meta, arrays = unpack_arrays(filled(5, k=2).to_bytes(), "history")
    for name, wrong in [("members", 60), ("feature", 60), ("feature", -2)]:
        changed = {key: value.copy() for key, value in arrays.items()}
        changed[name][0] = wrong
        with pytest.raises(ValueError, match=r"(members|features) must be valid"):
            ScoreHistory.from_bytes(pack_arrays("history", meta, changed))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"score_func": "mi"},
            "score_func must be one of 't', 'fisher', 'mutual_info'.*, got 'mi'",
        ),
        ({"k": 0}, "k must be an integer of at least 1, got 0"),
        ({"k": 2.5}, "k must be an integer of at least 1, got 2.5"),
        ({"every": 0}, "every must be a finite number above 0, got 0"),
        ({"every": math.inf}, "every must be a finite number above 0, got inf"),
        ({"margin": -1}, "margin must be an integer of at least 0, got -1"),
        ({"max_records": 7}, "max_records must be even, got 7"),
        ({"max_features": 23}, "max_features must be an integer of at least 24, got 23"),
    ],
)
def test_invalid_parameters_are_an_error(parameters, message):
    with pytest.raises(ValueError, match=message):
        ScoreHistory(**parameters)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((20, [[1.0, 2.0]]), r"scores must have shape \(n_features,\), got \(1, 2\)"),
        ((20, []), r"got \(0,\)"),
        ((20, [1.0, math.nan, 2.0]), "scores must be numbers, got nan for feature 1"),
        ((20, [1.0, 2.0, 3.0], ["a"]), "feature_names must have 3 names, one per score, got 1"),
        ((10, [1.0, 2.0, 3.0]), "position must be after the last record, at 10.0, got 10"),
        ((math.inf, [1.0, 2.0, 3.0]), "position must be a finite number, got inf"),
        ((20, [1.0, 2.0]), "scores must have at least 3 features, as the last record, got 2"),
    ],
)
def test_bad_records_change_nothing(arguments, message):
    history = ScoreHistory(k=1)
    history.record(10, [1.0, 2.0, 3.0])
    before = history.to_bytes()
    with pytest.raises(ValueError, match=message):
        history.record(*arguments)
    assert history.to_bytes() == before
