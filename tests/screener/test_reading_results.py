"""What a screener has for people: a report, a data frame, and scores over time with their names."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from driftsieve import FeatureScreener, ScoreHistory


@pytest.fixture
def rows() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(3000, 8)), columns=list("abcdefgh"))
    return X, np.where(X["c"] + rng.normal(size=3000) > 0, "yes", "no")


@pytest.mark.parametrize("half_life", [None, 500, "auto"])
def test_report_is_that_of_the_screener(half_life, rows, tmp_path: Path) -> None:
    screener = FeatureScreener(k=2, half_life=half_life).fit(*rows)
    history = ScoreHistory(k=2)
    history.record(3000, screener)
    screener.report(tmp_path / "r.json", title="Orders", history=history)
    found = json.loads((tmp_path / "r.json").read_text())
    assert (found["title"], found["names"][0]) == ("Orders", "c")
    np.testing.assert_allclose(
        found["scores"]["mutual_info"], screener.scores_[found["features"]], rtol=1e-12
    )
    assert (found["memory"] is None) == (half_life != "auto")
    assert found["history"]["positions"] == [3000]
    screener.report(tmp_path / "r.html")
    assert (tmp_path / "r.html").read_text().startswith("<!doctype html>")


def test_to_frame_is_the_ranking_with_names(rows) -> None:
    screener = FeatureScreener(k=2, half_life="auto").fit(*rows)
    frame = screener.to_frame()
    assert frame["rank"].tolist() == list(range(1, 9))
    assert set(frame["name"][frame["selected"]]) == set(screener.get_feature_names_out())
    np.testing.assert_array_equal(frame["score"], screener.scores_[frame["feature"]])
    np.testing.assert_array_equal(frame["pvalue"], screener.pvalues_[frame["feature"]])


@pytest.mark.parametrize("half_life", [None, "auto"])
def test_history_of_a_screener_has_its_names_and_scores(half_life, rows) -> None:
    screener = FeatureScreener(k=2, half_life=half_life).fit(*rows)
    history = ScoreHistory(k=2)
    history.record(3000, screener)
    frame = history.to_frame()
    scores = dict(zip(rows[0].columns, screener.scores_, strict=True))
    assert "c" in set(frame["name"])
    assert dict(zip(frame["name"], frame["score"], strict=True)).items() <= scores.items()
