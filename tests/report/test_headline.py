"""The headline describes the most important results."""

import numpy as np
import pytest

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


def test_no_significant_feature_among_random_changes():
    table = np.random.default_rng(1).random((40, 6))
    nothing = content(largest_significant={"t": -1.0})
    assert headline(recorded(table), nothing, "rows") == "No feature separates the classes now."
    assert headline(None, nothing, "rows") == "No feature separates the classes now."
    assert significance(nothing) == "No feature is significant now."


def test_headline_without_history():
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
