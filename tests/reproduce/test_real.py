"""Screens and learners on real streams, on a part of the rows."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from driftsieve.reproduce.result import ExperimentRun, Result
from driftsieve.reproduce.streams import TASKS, best, screen_task
from driftsieve.scores import chi2

Quick = Callable[[str], Result]


def cell(result: Result, **wanted: str) -> dict[str, float]:
    (row,) = (row for row in result.tables[""] if wanted.items() <= row.items())
    return row


@pytest.mark.parametrize("name", list(TASKS))
def test_rows_to_predict_are_later_and_unseen(data_dir: Path, name: str) -> None:
    task = TASKS[name](ExperimentRun(quick=True, data=data_dir))
    X, y = task.train(0)
    X_test, y_test = task.test
    assert len(y) < task.n_train < len(task.y)
    assert len(y_test) == X_test.shape[0] == len(task.y) - task.n_train
    assert X.shape[0] == len(y)
    assert set(np.unique(y)) == set(np.unique(y_test))
    assert len({tuple(task.train(seed)[1]) for seed in range(3)}) == 3


def test_the_binary_task_is_balanced(data_dir: Path) -> None:
    task = TASKS["news20"](ExperimentRun(quick=True, data=data_dir))
    assert 0.4 < task.y.mean() < 0.6


def test_best_are_the_largest_scores(data_dir: Path) -> None:
    task = TASKS["url"](ExperimentRun(quick=True, data=data_dir))
    snapshot, _ = screen_task(task, 0)
    chosen = best(snapshot, "chi2", 50)
    scores = chi2(snapshot)
    assert len(chosen) == 50
    assert scores[chosen].min() >= np.delete(scores, chosen).max() * (1 - 1e-9)


def check_screens(result: Result, k: int) -> None:
    """Every screen beats a random choice of as many; Sparse FSA keeps at most k of them."""
    for row in result.tables[""]:
        assert row["seeds"] == 3
        assert row["learner selected"] <= k or row["learner"] != "Sparse FSA"
        random = cell(result, screen="random", learner=row["learner"])
        if row["adaptation"] != "-":
            margin = 2 * np.hypot(row["±"], random["±"])
            assert row["error rate"] < random["error rate"] - min(margin, 0.02)
            assert row["selected features"] == random["selected features"]


def test_some_screens_improve_fsa_on_news20(quick_on_data: Quick) -> None:
    result = quick_on_data("news20")
    check_screens(result, 1000)
    published = result.claims[0]
    assert published.published.startswith("Some screens, such as mutual information, improve")
    assert published.holds, published


def test_screens_select_the_given_number_of_features_on_spam(quick_on_data: Quick) -> None:
    check_screens(quick_on_data("spam"), 500)


def test_screens_do_not_improve_fsa_on_url(quick_on_data: Quick) -> None:
    published = quick_on_data("url").claims[0]
    assert published.published == "Screens do not improve Sparse FSA."
    assert published.holds, published


def test_half_life_on_real_streams(quick_on_data: Quick) -> None:
    rows = quick_on_data("half-life-real").tables[""]
    assert {row["half_life"] for row in rows} == {"500", "none"}
    assert all(0 < row["error rate"] < 0.5 and row["seeds"] == 3 for row in rows)
