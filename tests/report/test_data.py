"""The content of a report, and that JSON and text have the same."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from driftsieve import Bank, offline, report
from driftsieve.history import ScoreHistory
from driftsieve.report import data as module
from driftsieve.scores import SCORES, rank


@pytest.fixture
def snap():
    rng = np.random.default_rng(5)
    y = np.array(["no", "yes"])[rng.integers(0, 2, 300)]
    X = rng.normal(size=(300, 6)) + np.outer(y == "yes", [0, 2, 0, 1, 0, 0])
    X[:, 4] = y == "yes"  # separates perfectly
    return replace(offline.snapshot(X, y), feature_names=("a", "b", "c", "d", "e", "f"))


@pytest.mark.parametrize("score", SCORES)
def test_all_scores_in_order_of_one(snap, score):
    data = report.build(snap, score_func=score)
    order = data["features"]
    assert data["ranks"][score] == list(range(1, 7))
    assert data["names"] == [snap.feature_names[f] for f in order]
    for key, entry in SCORES.items():
        scores = entry.function(snap)
        assert data["scores"][key] == scores[order].tolist()
        assert data["ranks"][key] == rank(scores, entry.larger_is_better)[order].tolist()
        p = data["pvalues"][key]
        assert p is None if entry.pvalues is None else p == entry.pvalues(snap)[order].tolist()


def test_report_has_the_facts_of_the_bank(snap):
    data = report.build(
        snap, n_rows=300, parameters={"epsilon": np.float64(0.01), "drop": ["a", 2]}
    )
    assert data["n_features"] == 6
    assert data["n_rows"] == 300
    assert data["n_eff"] == 300
    assert [c["label"] for c in data["classes"]] == ["no", "yes"]
    assert sum(c["weight"] for c in data["classes"]) == 300
    assert data["certificate"] == {"largest": 0.0, "median": 0.0, "n_exact": 6}
    assert data["parameters"] == {"epsilon": 0.01, "drop": "a, 2"}
    assert data["history"] is None
    assert {"driftsieve", "numpy", "python"} <= set(data["versions"])


def test_certificate_is_a_share_of_the_weight_that_counts(snap):
    weight = np.array(snap.weight)
    weight[:, 2] /= 2  # half of its values are missing
    error = np.array([0, 3.0, 3.0, 0, 0, 0])
    data = report.build(replace(snap, weight=weight, rank_error=error))
    assert data["certificate"]["largest"] == 0.02
    assert data["certificate"]["n_exact"] == 4


def test_only_what_the_snapshot_has(snap):
    bare = replace(snap, mean=None, var=None)
    assert list(report.build(bare)["scores"]) == ["mutual_info", "chi2", "gini"]
    with pytest.raises(ValueError, match='snapshot must have moments for score_func="t"'):
        report.build(bare, score_func="t")
    no_bins = replace(snap, bin_weights=None, edges=None, rank_error=None)
    data = report.build(no_bins, score_func="fisher")
    assert list(data["scores"]) == ["t", "fisher"]
    assert data["certificate"] is None
    assert data["distributions"] == []


def test_distributions_are_those_of_the_finest_snapshot(snap):
    rng = np.random.default_rng(6)
    y = np.array(["no", "yes"])[rng.integers(0, 2, 300)]
    finer = offline.snapshot(rng.normal(size=(300, 6)), y, n_bins=12)
    data = report.build(snap, fine=[finer.columns(1, 2), finer.columns(4, 6)])
    fine, coarse = data["distributions"]
    assert (fine["n_bins"], coarse["n_bins"]) == (12, 5)
    assert sorted(fine["features"]) == [1, 4, 5]
    assert sorted(coarse["features"]) == [0, 2, 3]
    for f, edges, weights in zip(fine["features"], fine["edges"], fine["weights"], strict=True):
        assert edges == finer.edges[f].tolist()
        assert weights == finer.bin_weights[f].tolist()
    at = coarse["features"].index(3)
    assert coarse["weights"][at] == snap.bin_weights[3].tolist()


def test_blocks_give_the_report_of_the_whole_snapshot(snap, monkeypatch):
    def content(snapshot):
        data = report.build(snapshot, fine=[snap.columns(3, 4)])
        for group in data["distributions"]:  # which may come in any order
            of = sorted(zip(group["features"], group["edges"], group["weights"], strict=True))
            group |= {"features": of, "edges": (), "weights": ()}
        return data | {"created": ""}

    blocks = [snap.columns(0, 1), snap.columns(1, 4), snap.columns(4, 6)]
    assert content(blocks) == content(snap)
    for room in range(8):
        monkeypatch.setattr(module, "MAX_CELLS", room * (4 + 5 * 2) + 1)
        assert content(blocks) == content(snap)
    with pytest.raises(ValueError, match="must have all features, got one that starts at 4"):
        report.build(blocks[::2])


def test_large_reports_list_the_best_features_only(snap, monkeypatch):
    monkeypatch.setattr(module, "MAX_LISTED", 4)
    monkeypatch.setattr(module, "MAX_CELLS", 3 * (4 + 5 * 2) + 1)
    data = report.build(snap)
    assert data["n_features"] == 6
    assert len(data["features"]) == len(data["names"]) == len(data["scores"]["t"]) == 4
    assert data["distributions"][0]["features"] == data["features"][:3]  # the best first


def test_pvalues_are_computed_for_the_features_listed_only(snap, monkeypatch):
    whole = report.build(snap)
    asked = []
    for key, entry in SCORES.items():
        if entry.pvalues is not None:
            counting = replace(
                entry,
                pvalues=lambda some, f=entry.pvalues: asked.append(some.n_features) or f(some),
            )
            monkeypatch.setitem(SCORES, key, counting)
    monkeypatch.setattr(module, "MAX_LISTED", 2)
    blocks = [snap.columns(0, 1), snap.columns(1, 4), snap.columns(4, 6)]
    data = report.build(blocks, fine=lambda listed: [snap.columns(f, f + 1) for f in listed[:1]])
    assert sum(asked) == 2 * 4
    assert data["pvalues"]["t"] == whole["pvalues"]["t"][:2]
    assert data["distributions"][0]["features"] == whole["distributions"][0]["features"][:2]


def test_report_has_the_records_of_the_history(snap):
    history = ScoreHistory(k=2)
    history.record(100, snap)
    history.record(200, [5, 4, 0, 0, 0, 0], snap.feature_names)
    data = report.build(snap, history=history)["history"]
    assert data["positions"] == [100, 200]
    assert data["features"][:2] == [0, 1]
    assert data["ranks"][0] == [history.ranks[0, 0], 1]
    assert data["events"][-1]["kind"] == "entered"
    assert data["members"] == history.members.tolist()
    assert math.isnan(data["stability"]["nogueira"][0])
    alone = report.build(history=history, score_func="t")
    assert alone["score"] == "mutual_info"
    assert alone["n_features"] == 6
    assert alone["names"][:2] == ["a", "b"]
    assert alone["scores"] == {"mutual_info": history.scores[-1].tolist()}


def test_invalid_arguments_are_an_error(snap):
    with pytest.raises(ValueError, match=r"score_func must be one of 't', 'fisher'.*, got 'mi'"):
        report.build(snap, score_func="mi")
    with pytest.raises(TypeError, match=r"must be a Snapshot, got Bank. Pass bank.snapshot\(\)"):
        report.build(Bank())
    with pytest.raises(ValueError, match="A snapshot or a history with a record must be given"):
        report.build()
    with pytest.raises(ValueError, match="A snapshot or a history with a record must be given"):
        report.build([])
    with pytest.raises(ValueError, match="A snapshot or a history with a record must be given"):
        report.build(history=ScoreHistory())
    with pytest.raises(ValueError, match="must have all features, got one that starts at 2"):
        report.build(snap.columns(2, 4))


def test_json_is_strict_and_complete(snap):
    history = ScoreHistory("t", k=1)
    history.record(1, snap)
    data = report.build(snap, score_func="t", history=history, parameters={"limit": math.inf})

    def refuse(constant):
        raise AssertionError(constant)

    back = json.loads(report.to_json(data), parse_constant=refuse)
    assert back["scores"]["t"][0] == "Infinity"
    assert data["scores"]["t"][0] == math.inf
    assert back["history"]["stability"]["all"] == "NaN"
    assert back["parameters"]["limit"] == "Infinity"
    assert back["pvalues"] == data["pvalues"]
    assert back["distributions"] == data["distributions"]


def test_text_report_has_the_ranking(snap):
    history = ScoreHistory(k=2)
    history.record(100, snap)
    text = report.to_text(report.build(snap, history=history, n_rows=300, title="Title"), top=3)
    lines = text.splitlines()
    assert lines[0] == "Title"
    assert lines[1] == "6 features by mutual information, 300 rows, 300 effective rows, 2 classes"
    header = ["rank", "feature", "mutual_info", "p-value", "t", "fisher", "chi2", "gini"]
    assert lines[2:5] == [
        "e and b separate the classes best.", "3 of 6 features are significant now.", ""
    ]  # fmt: skip
    assert lines[5].split() == header
    assert [line.split()[1] for line in lines[6:9]] == ["e", "b", "d"]
    assert lines[9] == ""
    assert lines[10] == "The quantiles of every feature are exact."
    assert lines[12] == "1 records, 2 changes of the best 2"
    assert lines[13].split() == ["100", "entered", "b", "(rank", "2)"]


def test_text_report_of_partial_content():
    history = ScoreHistory("gini", k=1)
    history.record(5, [0.3, 0.2])
    text = report.to_text(report.build(history=history))
    assert text.splitlines()[2] == "x1 separates the classes best."
    assert text.splitlines()[4].split() == ["rank", "feature", "gini"]
    assert text.splitlines()[5].split() == ["1", "x1", "0.2"]


def test_text_report_has_dates_where_the_history_has():
    history = ScoreHistory("gini", k=1)
    history.record(5, [0.3, 0.2], time=1.7e9)
    last = report.to_text(report.build(history=history)).splitlines()[-1]
    assert last.split() == ["2023-11-14", "22:13", "entered", "x1", "(rank", "1)"]


def test_text_states_the_certificate(snap):
    worse = replace(snap, rank_error=np.array([0, 3.0, 1.5, 0, 0, 0]))
    text = report.to_text(report.build(worse, parameters={"epsilon": 0.02}))
    assert "No rank is off by more than 0.01 of the weight (promised: 0.02); 4 features are" in text


def test_text_has_no_control_codes(hostile):
    text = report.to_text(hostile)
    assert all(c.isprintable() or c == "\n" for c in text)
    assert "\\x1b[31mred" in text
    assert "line\\nbreak\\ttab" in text
    text.encode()  # the lone surrogate is spelled out too
