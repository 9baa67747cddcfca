"""Reports of banks: memories, two-valued features, significance, size."""

import json
import math

import numpy as np
import pytest
from scipy import sparse

from driftsieve import Bank, offline, report
from driftsieve.memory import LearnedBank
from driftsieve.report.two_valued import values_of_two
from driftsieve.selection import functions


def test_headline_memory_and_two_values_of_a_learned_bank(learned):
    assert learned["headline"].startswith("before left; after and colour=red came in at about 2023")
    assert learned["two_valued"] == {"2": [0.0, 1.0]}
    past = learned["history"]
    assert past["unit"] == "unix"
    assert past["rows"][-1] == 6000
    assert past["positions"][-1] == 1.7e9 + 600 * 6000
    weights = np.array(past["memory_weights"])
    assert weights.shape == (len(learned["memory"]["half_lives"]), 12)
    np.testing.assert_allclose(weights.sum(axis=0), 1)
    assert weights[:, -1].tolist() == learned["memory"]["weights"]


def test_alternatives_are_the_best_features_at_other_half_lives():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 6000)
    X = rng.normal(size=(6000, 9))
    X[:4000, 0] += 2 * y[:4000]
    X[4000:, 1] += 2 * y[4000:]
    bank = LearnedBank(half_life=[250, math.inf]).update(X, y)
    found = report.of_bank(bank, k=1)["memory"]["alternatives"]
    assert found == [
        {"half_life": 250.0, "n_same": 1, "added": [], "missed": []},
        {"half_life": "Infinity", "n_same": 0, "added": ["x0"], "missed": ["x1"]},
    ]


def test_wide_banks_compare_the_shortest_and_the_longest_memory(monkeypatch):
    monkeypatch.setattr("driftsieve.report.memory.FEW_FEATURES", 2)
    rng = np.random.default_rng(0)
    bank = LearnedBank().update(rng.normal(size=(600, 3)), rng.integers(0, 2, 600))
    found = report.of_bank(bank)["memory"]["alternatives"]
    assert [one["half_life"] for one in found] == [250.0, "Infinity"]


@pytest.mark.parametrize("low", [0.0, -2.5])
def test_two_values_are_recovered_and_others_are_not(low):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 500)
    flag = np.where(rng.random(500) < 0.2 + 0.2 * y, 7.0, low)
    three = flag.copy()
    three[:3] = 9.0  # rare, in the bin of 7
    X = np.column_stack([flag, three, rng.normal(size=500), np.full(500, low)])
    assert values_of_two(np.arange(10, 14), offline.snapshot(X, y)) == {10: [low, 7.0]}
    for bank in (Bank(), Bank(moments=False)):
        assert report.of_bank(bank.update(X, y))["two_valued"] == {"0": [low, 7.0]}


def test_significance_is_that_of_the_fdr_rule():
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 400)
    X = rng.normal(size=(400, 40)) + np.outer(y, np.linspace(0, 0.5, 40))
    data = report.build(offline.snapshot(X, y), score_func="fisher")
    p = np.array(data["pvalues"]["fisher"])
    expected = functions.fdr(p, 0.05)
    assert 0 < expected.sum() < 40
    assert ((p <= data["largest_significant"]["fisher"]) == expected).all()
    noise = report.build(offline.snapshot(rng.normal(size=(50, 4)), np.arange(50) % 2))
    assert noise["largest_significant"]["mutual_info"] == -1
    assert noise["largest_significant"]["gini"] is None


def test_wide_report_is_small_and_has_the_names_of_unlisted_features():
    rng = np.random.default_rng(0)
    X = sparse.random(300, 150_000, density=0.002, random_state=0, format="csr")
    bank = Bank().update(X, rng.integers(0, 2, 300))
    data = report.of_bank(bank)
    assert len(data["names"]) == 2000
    assert len(data["others"]["names"]) == 98_000
    page = report.to_html(data)
    assert len(page) < 3e6
    inside = json.loads(page.split('id="data">')[1].split("</script>")[0])
    assert inside["others"]["names"] == data["others"]["names"]


def test_names_for_the_search_are_cut_where_they_are_too_long(monkeypatch):
    monkeypatch.setattr("driftsieve.report.data.MAX_LISTED", 1)
    monkeypatch.setattr("driftsieve.report.html.MAX_NAMES", 13)
    rng = np.random.default_rng(0)
    bank = Bank().update(rng.normal(size=(50, 6)), np.arange(50) % 2)
    inside = json.loads(report.to_html(report.of_bank(bank)).split('id="data">')[1].split("</")[0])
    assert len(inside["others"]["names"]) == 2


def test_unknown_suffix_is_an_error(tmp_path):
    data = report.of_bank(Bank().update([[1.0], [2.0], [3.0], [4.0]], [0, 0, 1, 1]))
    with pytest.raises(ValueError, match=r"path must end in .html, .json, .txt, got .*report.pdf"):
        report.write(tmp_path / "report.pdf", data)
