"""Beyond the paper: the drifting and the real streams by half-life in rows."""

from __future__ import annotations

import math
from typing import Any

from driftsieve.bank import Bank
from driftsieve.reproduce.datasets import MissingDataError, folder_of
from driftsieve.reproduce.detection import Scale, detect
from driftsieve.reproduce.result import (
    Claim,
    ExperimentRun,
    Record,
    RecordTable,
    Result,
    gain,
    listed,
    mean_over,
    mean_over_seeds,
)
from driftsieve.reproduce.streams import FSA, SGD, TASKS, best, learn, screen_task

HALF_LIVES = (500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 200_000, math.inf)
QUICK_HALF_LIVES = (25, 100, 500, 2000, math.inf)
REAL_HALF_LIVES = (500, 2000, 10_000, 50_000, 200_000, math.inf)
NEVER = math.inf


def half_life_drift(run: ExperimentRun) -> Result:
    """Make the detection rate by half-life and shifting rate, and the best half-life."""
    scale = Scale.of(run)
    n = scale.stream.n_rows
    every = n // (100 if run.quick else 50)
    settled = [row for row in range(every, n + 1, every) if scale.settled(row)]
    lives = QUICK_HALF_LIVES if run.quick else HALF_LIVES

    def one_seed(seed: int) -> RecordTable:
        found: RecordTable = []
        for shift in scale.shifts:
            rates = detect(
                scale.shifting(shift, seed),
                {life: Bank(half_life=life, quantiles=False, n_threads=1) for life in lives},
                batch=every,
                scores=["t"],
                at=settled,
                selected=[scale.selected],
            )
            found += mean_over(rates, "row")
        return found

    records = run.over_seeds(one_seed, "half-life")
    table = mean_over_seeds(records)
    hindsight = [
        max((row for row in table if row["shift"] == shift), key=lambda row: row["rate"])
        for shift in scale.shifts
    ]
    gains = {
        row["shift"]: gain(
            records,
            {"shift": row["shift"], "fading": row["fading"]},
            {"shift": row["shift"], "fading": NEVER},
        )
        for row in hindsight
    }
    return Result(
        {"": [_named(row) for row in table], "best": [_named(row) for row in hindsight]},
        {"": lambda alt: _curves(alt, table, hindsight, scale.selected)},
        [
            Claim(
                "Adaptation outperforms none at every rate (here with the best half-life).",
                "Gain of the best half-life in hindsight over no fading: "
                + ", ".join(
                    f"{gains[row['shift']]} (l = {row['shift']}, half-life {_life(row['fading'])})"
                    for row in hindsight
                )
                + ".",
                all(more.positive for more in gains.values()),
            )
        ],
    )


def half_life_real(run: ExperimentRun) -> Result:
    """Make the error rate of the learners by half-life of the screen, on the real streams."""
    folder_of(run.data)
    records: list[Record] = []
    tasks = ["spam"] if run.quick else list(TASKS)
    for name in tasks:
        try:
            records += _real(name, run)
        except MissingDataError:
            if name == tasks[-1] and not records:
                raise
    table = mean_over_seeds(records, "error rate")
    streams = list(dict.fromkeys(row["stream"] for row in table))
    return Result(
        {"": [_named(row) for row in table]},
        {"": lambda alt: _errors(alt, table, streams)},
        [_real_claim(stream, table, records) for stream in streams],
    )


def _real(name: str, run: ExperimentRun) -> list[Record]:
    task = TASKS[name](run)
    lives = (500, NEVER) if run.quick else REAL_HALF_LIVES
    records: list[Record] = []
    for seed in run.track(range(run.seeds), f"half-life, {name}", run.seeds):
        for life in lives:
            snapshot, _ = screen_task(task, seed, half_life=life)
            for score in ("t", "mutual_info"):
                columns = best(snapshot, score, task.selected)
                records += learn(task, seed, columns, stream=name, score=score, fading=life)
    kept = ("stream", "score", "fading", "learner", "seed", "error rate")
    return [{key: record[key] for key in kept} for record in records]


def _real_claim(stream: str, table: RecordTable, records: list[Record]) -> Claim:
    """Return the claim that adaptation lowers the error, which the paper makes twice."""
    falls = {}
    for learner in (FSA, SGD):
        for score in ("t", "mutual_info"):
            same = {"stream": stream, "learner": learner, "score": score}
            lowest = min(
                (row for row in table if same.items() <= row.items()),
                key=lambda row: float(row["error rate"]),
            )
            fall = gain(
                records,
                same | {"fading": NEVER},
                same | {"fading": lowest["fading"]},
                "error rate",
            )
            falls[f"{learner}, {score} (half-life {_life(lowest['fading'])})"] = fall
    return Claim(
        f"Adaptation lowers the error on {stream} (here with the best half-life).",
        f"Fall from no fading to the best half-life in hindsight: {listed(falls)}.",
        sum(fall.positive for fall in falls.values()) > len(falls) / 2,
    )


def _life(half_life: float) -> str:
    return "none" if half_life == NEVER else f"{half_life:,}"


def _named(row: Record) -> Record:
    """Rename the column by its content."""
    return {
        "half_life" if key == "fading" else key: _life(value) if key == "fading" else value
        for key, value in row.items()
        if key != "score" or "stream" in row
    }


def _curves(alt: Any, table: RecordTable, hindsight: RecordTable, k: int) -> Any:
    lives = [_life(life) for life in dict.fromkeys(row["fading"] for row in table)]
    title = alt.Title(
        "Detection rate by half-life",
        subtitle="T-score, mean over the second half of the stream; ringed: the best in hindsight",
    )
    base = alt.Chart(
        alt.Data(values=[{**r, "life": _life(r["fading"])} for r in table]), title=title
    )
    x = alt.X("life:O").title("half-life in rows").sort(lives).axis(labelAngle=-35)
    color = alt.Color("shift:O").title("rows between shifts").scale(scheme="viridis")
    y = alt.Y("rate:Q").title(f"detection rate @{k}").scale(zero=False)
    lines = base.mark_line(strokeWidth=2, point=True).encode(x=x, y=y, color=color)
    bars = (
        base.transform_calculate(low="datum.rate - datum.error", high="datum.rate + datum.error")
        .mark_rule()
        .encode(x=x, y=alt.Y("low:Q").title(""), y2="high:Q", color=color)
    )
    rings = (
        alt.Chart(alt.Data(values=[{**r, "life": _life(r["fading"])} for r in hindsight]))
        .mark_point(size=180, strokeWidth=2)
        .encode(x=x, y=y, color=color)
    )
    return (lines + bars + rings).properties(width=460, height=280)


def _errors(alt: Any, table: RecordTable, streams: list[str]) -> Any:
    lives = [_life(life) for life in dict.fromkeys(row["fading"] for row in table)]
    values = [
        {
            "stream": row["stream"],
            "curve": f"{row['learner']}, {row['score']}",
            "life": _life(row["fading"]),
            "rate": row["error rate"],
            "low": row["error rate"] - row["error"],
            "high": row["error rate"] + row["error"],
        }
        for row in table
    ]
    base = alt.Chart(alt.Data(values=values)).encode(
        x=alt.X("life:O").title("half-life in rows").sort(lives).axis(labelAngle=-35),
        color=alt.Color("curve:N").title("learner, score").scale(scheme="tableau10"),
    )
    lines = base.mark_line(strokeWidth=2, point=True).encode(
        y=alt.Y("rate:Q").title("error rate").scale(zero=False)
    )
    bars = base.mark_rule().encode(y=alt.Y("low:Q").title("error rate"), y2="high:Q")
    return (
        (lines + bars)
        .properties(width=220, height=220)
        .facet(column=alt.Column("stream:N").title(None).sort(streams))
        .resolve_scale(y="independent")
        .properties(
            title=alt.Title(
                "Error rate by half-life of the screen",
                subtitle="mean over seeds, bars of one standard error",
            )
        )
    )
