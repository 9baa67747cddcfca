"""The last two tables of the paper, and one more: screens and learners on real streams."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np

from driftsieve.reproduce.detection import SCORE_TITLES
from driftsieve.reproduce.result import (
    Claim,
    Estimate,
    ExperimentRun,
    Record,
    RecordTable,
    Result,
    gain,
    listed,
)
from driftsieve.reproduce.streams import BATCH, DECAY, FSA, SGD, TASKS, best, learn, screen_task

WITH, WITHOUT = "with", "without"
MOMENTS, BINNED = ("t", "fisher"), ("mutual_info", "chi2", "gini")


def real_stream(name: str, run: ExperimentRun) -> Result:
    """Make {Sparse FSA, SGD} × {none, random, five screens} × {with, without adaptation}."""
    task = TASKS[name](run)
    p = task.X.shape[1]
    records: list[Record] = []
    for seed in run.track(range(run.seeds), name, run.seeds):
        chosen = np.sort(np.random.default_rng(seed).permutation(p)[: task.selected])
        records += learn(task, seed, None, adaptation="-", screen="none")
        records += learn(task, seed, chosen, adaptation="-", screen="random")
        for adaptation, decay in ((WITH, DECAY), (WITHOUT, 1.0)):
            snapshot, seconds = screen_task(task, seed, decay=decay, clock="batch")
            for score in SCORE_TITLES:
                columns = best(snapshot, score, task.selected)
                found = learn(task, seed, columns, adaptation=adaptation, screen=score)
                records += [{**record, "screen seconds": seconds} for record in found]
    claims = {"news20": _news20_claims, "url": _url_claims, "spam": _spam_claims}[name]
    return Result({"": _table(records)}, claims=claims(records))


news20, spam, url = (partial(real_stream, name) for name in ("news20", "spam", "url"))


def _table(records: list[Record]) -> RecordTable:
    cells: dict[tuple[str, str, str], list[Record]] = {}
    for record in records:
        cells.setdefault((record["learner"], record["screen"], record["adaptation"]), []).append(
            record
        )

    def mean(same: list[Record], key: str) -> float:
        return float(np.mean([record.get(key, 0.0) for record in same]))

    return [
        {
            "adaptation": adaptation,
            "screen": name,
            "selected features": same[0]["features"],
            "learner": learner,
            "learner selected": round(mean(same, "learner features")),
            "screen seconds": round(mean(same, "screen seconds"), 2),
            "train seconds": round(mean(same, "train seconds"), 2),
            "error rate": (estimate := Estimate.of([r["error rate"] for r in same])).mean,
            "±": estimate.error,
            "seeds": len(same),
        }
        for (learner, name, adaptation), same in cells.items()
    ]


def _less(records: list[Record], better: Record, worse: Record) -> Estimate:
    """Return by how much the error rate falls from `worse` to `better`."""
    return gain(records, worse, better, "error rate")


def _by_screen(
    records: list[Record], learner: str, screens: Iterable[str], adaptation: str
) -> dict[str, Estimate]:
    none = {"learner": learner, "screen": "none"}
    return {
        name: _less(records, {"learner": learner, "screen": name, "adaptation": adaptation}, none)
        for name in screens
    }


def _adaptation(records: list[Record]) -> Claim:
    gains = {
        f"{learner}, {score}": _less(
            records,
            {"learner": learner, "screen": score, "adaptation": WITH},
            {"learner": learner, "screen": score, "adaptation": WITHOUT},
        )
        for learner in (FSA, SGD)
        for score in SCORE_TITLES
    }
    better = sum(estimate.positive for estimate in gains.values())
    return Claim(
        "In most cases adaptation gives better performance than none.",
        f"With α = {DECAY} per batch of {BATCH} the error falls, by more than two standard errors, "
        f"in {better} of {len(gains)} cases; falls (negative: rises): {listed(gains)}.",
        better > len(gains) / 2,
    )


def _news20_claims(records: list[Record]) -> list[Claim]:
    fsa, sgd = (
        {
            adaptation: _by_screen(records, learner, screens, adaptation)
            for adaptation in (WITH, WITHOUT)
        }
        for learner, screens in ((FSA, SCORE_TITLES), (SGD, BINNED))
    )
    return [
        Claim(
            "Some screens, such as mutual information, improve Sparse FSA.",
            f"Fall of its error, with adaptation: {listed(fsa[WITH])}; without: "
            f"{listed(fsa[WITHOUT])}.",
            any(estimate.positive for group in fsa.values() for estimate in group.values()),
        ),
        _adaptation(records),
        Claim(
            "Bin-count screens give SGD a slight improvement.",
            f"Fall of its error, with adaptation: {listed(sgd[WITH])}; without: "
            f"{listed(sgd[WITHOUT])}.",
            any(estimate.positive for group in sgd.values() for estimate in group.values()),
        ),
    ]


def _url_claims(records: list[Record]) -> list[Claim]:
    fsa = {a: _by_screen(records, FSA, SCORE_TITLES, a) for a in (WITH, WITHOUT)}
    sgd = _by_screen(records, SGD, MOMENTS, WITH)
    slow = [r for r in records if r["learner"] == FSA]
    full = np.mean([r["train seconds"] for r in slow if r["screen"] == "none"])
    least = np.mean([r["train seconds"] for r in slow if r["adaptation"] != "-"])
    return [
        Claim(
            "Screens do not improve Sparse FSA.",
            f"Fall of its error, with adaptation: {listed(fsa[WITH])}; without: "
            f"{listed(fsa[WITHOUT])}.",
            not any(estimate.positive for group in fsa.values() for estimate in group.values()),
        ),
        Claim(
            "Screens reduce the training time.",
            f"Sparse FSA takes {full:.3f} s with all features and {least:.3f} s with those of a "
            "screen.",
            bool(least < full),
        ),
        Claim(
            "Mean-variance screens with adaptation improve SGD significantly.",
            f"Fall of its error: {listed(sgd)}.",
            all(estimate.positive for estimate in sgd.values()),
        ),
    ]


def _spam_claims(records: list[Record]) -> list[Claim]:
    return [_adaptation(records)]
