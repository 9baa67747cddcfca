"""Figure 3: detection rate against the number selected, with and without adaptation."""

from __future__ import annotations

from typing import Any

from driftsieve.reproduce.detection import SCORE_TITLES, Scale, batch_bank, detect
from driftsieve.reproduce.figure2 import PUBLISHED_DECAY
from driftsieve.reproduce.result import (
    Claim,
    ExperimentRun,
    Record,
    RecordTable,
    Result,
    gain,
    mean_over,
    mean_over_seeds,
)

FULL_DETECTION = 0.99
SOLID, DASHED = "with adaptation", "without adaptation"


def adjusted_decay(scale: Scale, shift: int) -> float:
    """Return the decay for a memory of a quarter of the rows for which a feature stays true.

    >>> scale = Scale.of(ExperimentRun())
    >>> [round(adjusted_decay(scale, shift), 3) for shift in scale.shifts]
    [0.96, 0.98, 0.99, 0.995]
    """
    return 1 - 4 * scale.batch / (scale.stream.n_true * shift)


def figure3(run: ExperimentRun) -> Result:
    """Make four panels, one per shifting rate: with α fitted to it, and with α = 0.9."""
    scale = Scale.of(run)
    n, p = scale.stream.n_rows, scale.stream.n_features
    at = [n * i // 10 for i in range(6, 11)]
    selected = [p * i // 20 for i in range(1, 21)]

    def one_seed(seed: int) -> RecordTable:
        found: RecordTable = []
        for shift in scale.shifts:
            decays = {"adjusted": adjusted_decay(scale, shift), "0.9": PUBLISHED_DECAY, "none": 1.0}
            found += detect(
                scale.shifting(shift, seed),
                {name: batch_bank(decay, quantiles=True) for name, decay in decays.items()},
                batch=scale.batch,
                scores=SCORE_TITLES,
                at=at,
                selected=selected,
            )
        return found

    records = run.over_seeds(one_seed, "figure 3")
    table = mean_over_seeds(mean_over(records, "row"))
    return Result(
        tables={"": table, "gain": _gains(scale, records)},
        figures={
            "adjusted": lambda alt: _panels(alt, scale, table, "adjusted"),
            "decay-0.9": lambda alt: _panels(alt, scale, table, "0.9"),
        },
        claims=[*_winning(scale, records), _fewer(scale, table), _slower(scale, table)],
    )


def _gains(scale: Scale, records: list[Record]) -> RecordTable:
    rows = []
    for shift in scale.shifts:
        for score in SCORE_TITLES:
            row: Record = {"shift": shift, "score": score}
            for fading in ("adjusted", "0.9"):
                same = {"shift": shift, "score": score}
                more = gain(records, same | {"fading": fading}, same | {"fading": "none"})
                row |= {f"gain, α {fading}": more.mean, f"error, α {fading}": more.error}
            rows.append(row)
    return rows


def _winning(scale: Scale, records: list[Record]) -> list[Claim]:
    claims = []
    for fading, what in (("adjusted", "α fitted to the rate"), ("0.9", "α = 0.9 at every rate")):
        gains = {
            shift: gain(
                records,
                {"shift": shift, "fading": fading},
                {"shift": shift, "fading": "none"},
            )
            for shift in scale.shifts
        }
        claims.append(
            Claim(
                f"Adaptation outperforms none at all four rates ({what}, per batch of "
                f"{scale.batch} rows).",
                "Mean gain in detection rate over all scores and numbers selected: "
                + ", ".join(f"{more} (l = {shift})" for shift, more in gains.items())
                + ".",
                all(more.positive for more in gains.values()),
            )
        )
    return claims


def _needed(table: RecordTable, shift: int, fading: str) -> dict[str, int]:
    """Return the number of features to select for full detection, by score."""
    return {
        score: min(
            row["selected"]
            for row in table
            if (row["shift"], row["fading"], row["score"]) == (shift, fading, score)
            and row["rate"] >= FULL_DETECTION
        )
        for score in SCORE_TITLES
    }


def _fewer(scale: Scale, table: RecordTable) -> Claim:
    fast = min(scale.shifts)
    adapted, none = (_needed(table, fast, fading) for fading in ("adjusted", "none"))
    return Claim(
        "Even at the fastest shift, adaptation detects all true features with fewer selected.",
        f"For {FULL_DETECTION:.0%} detection at l = {fast}: "
        + ", ".join(f"{s} {adapted[s]} against {none[s]}" for s in SCORE_TITLES)
        + ".",
        all(adapted[s] < none[s] for s in SCORE_TITLES),
    )


def _slower(scale: Scale, table: RecordTable) -> Claim:
    needed = {shift: _needed(table, shift, "adjusted") for shift in scale.shifts}
    worst = [max(needed[shift].values()) for shift in scale.shifts]
    return Claim(
        "The slower the shift, the fewer features need to be selected for full detection.",
        f"For {FULL_DETECTION:.0%} detection by every score: "
        + ", ".join(f"{k} (l = {shift})" for shift, k in zip(scale.shifts, worst, strict=True))
        + ".",
        worst == sorted(worst, reverse=True) and worst[0] > worst[-1],
    )


def _panels(alt: Any, scale: Scale, table: RecordTable, fading: str) -> Any:
    shown = [
        {
            **row,
            "score": SCORE_TITLES[row["score"]],
            "fading": DASHED if row["fading"] == "none" else SOLID,
            "shift": f"shift every {row['shift']} rows",
        }
        for row in table
        if row["fading"] in (fading, "none")
    ]
    label = "α fitted to the rate of shift" if fading == "adjusted" else f"α = {fading}"
    return (
        alt.Chart(alt.Data(values=shown))
        .mark_line(strokeWidth=1.8)
        .encode(
            x=alt.X("selected:Q").title("features selected"),
            y=alt.Y("rate:Q").title("detection rate").scale(domain=[0, 1]),
            color=alt.Color("score:N")
            .sort(list(SCORE_TITLES.values()))
            .title("score")
            .scale(scheme="tableau10"),
            strokeDash=alt.StrokeDash("fading:N")
            .sort([SOLID, DASHED])
            .title("")
            .scale(domain=[SOLID, DASHED], range=[[1, 0], [4, 3]]),
        )
        .properties(width=290, height=200)
        .facet(
            facet=alt.Facet("shift:N")
            .title(None)
            .sort([f"shift every {shift} rows" for shift in scale.shifts]),
            columns=2,
        )
        .properties(
            title=alt.Title(
                "Detection rate with and without adaptation",
                subtitle=f"{label}, per batch of {scale.batch} rows",
            )
        )
    )
