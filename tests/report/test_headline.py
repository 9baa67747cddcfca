"""The headline describes the most important results."""

import numpy as np
import pytest
from scipy import sparse

from driftsieve import FeatureScreener
from driftsieve.history import ScoreHistory
from driftsieve.report.headline import headline, significance

NAMES = ["a", "b", "c", "d", "e", "f"]


def content(**more):
    return {
        "names": NAMES,
        "score": "t",
        "n_features": 6,
        "pvalues": {"t": [0.001, 0.002, 0.2, 0.3, 0.4, 0.5]},
        "largest_significant": {"t": 0.002},
    } | more


def recorded(table, k=2):
    history = ScoreHistory("t", k=k)
    for i, scores in enumerate(table):
        history.record(100.0 * (i + 1), scores, NAMES)
    return history


def leap(at, n=40):
    rng = np.random.default_rng(0)
    table = rng.random((n, 6)) / 10
    table[:at, :2] += (5, 4)
    table[at:, 2:4] += (3, 6)
    return table


def test_headline_names_the_features_of_the_largest_change():
    said = headline(recorded(leap(20)), content(), "rows")
    assert said == "a and b left; d and c came in at about row 2,100."


@pytest.mark.parametrize(("spacing", "date"), [(86400, "2023-12-04"), (3600, "2023-11-15 18:13")])
def test_headline_has_the_date_of_a_change_as_exactly_as_it_is_known(spacing, date):
    history = ScoreHistory("t", k=2)
    for i, scores in enumerate(leap(20)):
        history.record(i, scores, NAMES, time=1.7e9 + spacing * i)
    assert headline(history, content(), "unix").endswith(f"came in at about {date}.")


def test_noise_below_the_large_scores_is_no_change():
    table = leap(40)  # never; the third of k changes at random
    said = headline(recorded(table, k=3), content(), "rows")
    assert said == "a, b and c separate the classes best, apart from brief changes."
    assert headline(recorded(table), content(), "rows") == (
        "a and b separate the classes best, as all along."
    )


def test_feature_that_returns_soon_has_not_left():
    table = leap(40)
    table[20, 0] = 0
    said = headline(recorded(table, k=1), content(), "rows")
    assert said == "a separates the classes best, apart from brief changes."


def test_feature_that_was_as_good_before_has_not_come_in():
    table = leap(40)[:, 1:]  # a category, whose score changes from record to record
    table[:, 0] = np.linspace(1, 5, 40)
    table[:, 1] = table[:, 0]  # the other category: the larger one changes by rounding
    table[15:, 1] += 1e-8
    history = recorded(np.column_stack([table, np.zeros(40)]), k=1)
    assert [event.position for event in history.events] == [100.0, 1600.0]
    assert headline(history, content(), "rows") == (
        "a separates the classes best, apart from brief changes."
    )


@pytest.mark.parametrize("score", ["mutual_info", "gini"])
def test_categories_of_a_column_do_not_come_in_without_drift(score):
    n, rng = 5000, np.random.default_rng(3)
    y = rng.integers(0, 2, n)
    X = rng.normal(size=(n, 5))
    X[:, 0] = rng.random(n) < 0.3 + 0.4 * y
    X[:, 1] = 1 - X[:, 0]
    screener = FeatureScreener(score, half_life="auto", k=1)
    history = ScoreHistory(score, k=1)
    for rows in range(0, n, 100):
        screener.partial_fit(sparse.csr_array(X[rows : rows + 100]), y[rows : rows + 100])
        history.record(rows + 100, screener)
    said = headline(history, content(score=score, largest_significant={score: 0.1}), "rows")
    assert {event.feature for event in history.events} >= {0, 1}
    assert said == "a separates the classes best, apart from brief changes."


def test_chance_of_the_first_rows_does_not_hide_a_later_change():
    table = leap(30)
    table[:2] += 6 * np.random.default_rng(4).random((2, 6))  # few rows: large by chance
    said = headline(recorded(table), content(), "rows")
    assert said == "a and b left; d and c came in at about row 3,100."


def test_two_changes_of_one_feature_are_both_named():
    table = leap(10)
    table[:, :] = np.random.default_rng(5).random((40, 6)) / 10
    table[:, 0] += 5
    table[:15, 1] += 4
    table[15:28, 2] += 2
    table[15:, 3] += 1
    table[15:28, 3] -= 1
    said = headline(recorded(table), content(), "rows")
    assert said == "b left; c came in at about row 1,600. There were other changes."


def test_second_change_of_one_feature_is_named():
    table = np.random.default_rng(6).random((40, 6)) / 10
    table[:, 0] += 5 * (np.arange(40) >= 10)
    table[:, 1] += 3 * (np.arange(40) >= 30)
    said = headline(recorded(table, k=3), content(), "rows")
    assert said == "a came in at about row 1,100. b came in at about row 3,100."


def test_feature_whose_rank_falls_late_left_when_its_score_fell():
    table = leap(20)
    table[20:35, 1] = 0.5  # fourth, but not behind the margin
    table[20:35, 4:] = 0.0
    history = recorded(table)
    left = {event.name: event.position for event in history.events if event.kind == "left"}
    assert left["b"] > 3500
    said = headline(history, content(), "rows")
    assert said == "a and b left; d and c came in at about row 2,100."


def test_slow_changes_are_one():
    table = leap(40)
    for column, sign, wait in [(0, -1, 18), (1, -1, 18), (2, 1, 20), (3, 1, 20)]:
        share = np.clip((np.arange(40) - wait) / 3, 0, 1)
        table[:, column] = 4 * (share if sign > 0 else 1 - share) + column / 100
    said = headline(recorded(table), content(), "rows")
    assert "left; " in said
    assert "other" not in said
    assert set("abcd") <= set(said.split(" came in")[0].replace(";", "").split())


def test_feature_that_was_not_followed_before_has_come_in():
    history = ScoreHistory("t", k=1, max_features=4)
    rng = np.random.default_rng(7)
    for i in range(40):
        scores = rng.random(500) / 10
        scores[0] += 2 * (i < 20)
        scores[400] += 3 * (i >= 20)
        history.record(100.0 * (i + 1), scores, [f"x{j}" for j in range(500)])
    assert "x400 came in at about row 2,100" in headline(history, content(), "rows")


def test_change_of_the_first_rows_is_not_a_drift():
    table = leap(40)
    table[0, :3] = (2, 3, 6)
    assert recorded(table).n_events == 4
    assert headline(recorded(table), content(), "rows").startswith("a and b separate the classes")


@pytest.mark.parametrize("sign", [1, -1])
def test_feature_that_appears_or_disappears_among_noise_is_a_change(sign):
    table = np.random.default_rng(2).random((40, 6)) / 10
    table[:, 1] = np.arange(40) >= 20
    kind = "came in" if sign > 0 else "left"
    said = headline(recorded(table[::sign], k=1), content(), "rows")
    assert said == f"b {kind} at about row 2,100."


def test_no_significant_feature_among_random_changes():
    table = np.random.default_rng(1).random((40, 6))
    nothing = content(largest_significant={"t": -1.0})
    assert headline(recorded(table), nothing, "rows") == "No feature separates the classes now."
    assert headline(None, nothing, "rows") == "No feature separates the classes now."
    assert significance(nothing) == "No feature is significant now."


def test_headline_without_history_names_the_best_features():
    assert headline(None, content(), "rows") == "a, b and c separate the classes best."


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (0.001, "1 of 6 features is significant now."),
        (0.002, "2 of 6 features are significant now."),
        (0.5, "All 6 features are significant now."),
        (None, ""),
    ],
)
def test_number_of_significant_features(limit, expected):
    assert significance(content(largest_significant={"t": limit})) == expected
