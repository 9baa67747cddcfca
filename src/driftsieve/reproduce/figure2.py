"""Figure 2: detection rate by method, by shifting rate, by fading factor, and as a heat map."""

from __future__ import annotations

from typing import Any

from driftsieve.reproduce.detection import SCORE_TITLES, Scale, batch_bank, detect
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

PUBLISHED_DECAY = 0.9
QUICK_DECAYS = (0.5, 0.9, 0.95, 0.99, 1.0)
DECAYS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.97, 0.99, 0.995, 1.0)


def figure2(run: ExperimentRun) -> Result:
    """Make all four panels; rates and fading factors by T-score only: the scores are similar."""
    scale = Scale.of(run)
    n, step = scale.stream.n_rows, scale.batch
    every = n // (100 if run.quick else 50)
    rows = [step * 2**i for i in range(3)] + list(range(every, n + 1, every))

    def methods_of(seed: int) -> RecordTable:
        return list(
            detect(
                scale.shifting(max(scale.shifts), seed),
                {PUBLISHED_DECAY: batch_bank(PUBLISHED_DECAY, quantiles=True)},
                batch=step,
                scores=SCORE_TITLES,
                at=rows,
                selected=[scale.selected],
            )
        )

    def fading_of(seed: int) -> RecordTable:
        found: RecordTable = []
        for shift in scale.shifts:
            found += detect(
                scale.shifting(shift, seed),
                {decay: batch_bank(decay) for decay in (QUICK_DECAYS if run.quick else DECAYS)},
                batch=step,
                scores=["t"],
                at=rows,
                selected=[scale.selected],
            )
        return found

    by_method = run.over_seeds(methods_of, "figure 2, by method")
    by_fading = run.over_seeds(fading_of, "figure 2, by fading")
    settled = mean_over((r for r in by_fading if scale.settled(r["row"])), "row")
    heat = mean_over_seeds(settled)
    best = {
        shift: max((cell for cell in heat if cell["shift"] == shift), key=lambda c: c["rate"])
        for shift in scale.shifts
    }
    methods = mean_over_seeds(by_method)
    published = mean_over_seeds(r for r in by_fading if r["fading"] == PUBLISHED_DECAY)
    adjusted = mean_over_seeds(r for r in by_fading if r["fading"] == best[r["shift"]]["fading"])
    k = scale.selected
    return Result(
        tables={"a-methods": methods, "b-rates": published, "c-adjusted": adjusted, "d-heat": heat},
        figures={
            "a-methods": lambda alt: _lines(
                alt,
                [{**r, "score": SCORE_TITLES[r["score"]]} for r in methods],
                k,
                "score:N",
                list(SCORE_TITLES.values()),
                "Detection rate by method",
                f"true features shift every {max(scale.shifts)} rows, α = {PUBLISHED_DECAY} per "
                f"batch of {step}",
            ),
            "b-rates": lambda alt: _lines(
                alt,
                published,
                k,
                "shift:O",
                list(scale.shifts),
                "Detection rate by shifting rate",
                f"T-score, α = {PUBLISHED_DECAY} per batch of {step}",
            ),
            "c-adjusted": lambda alt: _lines(
                alt,
                adjusted,
                k,
                "shift:O",
                list(scale.shifts),
                "Detection rate by shifting rate, fading adjusted",
                "T-score, the best α in hindsight: "
                + ", ".join(f"{best[s]['fading']} for {s}" for s in scale.shifts),
            ),
            "d-heat": lambda alt: _heat(alt, heat, k, step),
        },
        claims=_claims(scale, by_method, settled, best),
    )


def _claims(
    scale: Scale, by_method: list[Record], settled: list[Record], best: dict[int, Record]
) -> list[Claim]:
    late: dict[str, list[float]] = {}
    for record in by_method:
        if scale.settled(record["row"]):
            late.setdefault(record["score"], []).append(record["rate"])
    means = {score: sum(rates) / len(rates) for score, rates in late.items()}
    spread = max(means.values()) - min(means.values())
    early = [record for record in by_method if record["row"] <= 4 * scale.batch]
    behind = {s: gain(early, {"score": s}, {"score": "gini"}) for s in means if s != "gini"}
    fast, slow = min(scale.shifts), max(scale.shifts)
    loss = gain(
        settled,
        {"shift": slow, "fading": PUBLISHED_DECAY},
        {"shift": fast, "fading": PUBLISHED_DECAY},
    )
    adjusting = gain(
        settled,
        {"shift": fast, "fading": best[fast]["fading"]},
        {"shift": fast, "fading": PUBLISHED_DECAY},
    )
    return [
        Claim(
            "The five screening methods show very similar performance.",
            f"Mean detection rates in the second half: {listed(means, '.3f')}; they differ by at "
            f"most {spread:.3f}.",
            spread < 0.05,
        ),
        Claim(
            "Gini needs more samples to establish a good performance at the beginning.",
            f"Over the first {4 * scale.batch} rows the others detect more than Gini by: "
            f"{listed(behind)}.",
            all(more.positive for more in behind.values()),
        ),
        Claim(
            "A fast shifting rate has a negative impact.",
            f"At α = {PUBLISHED_DECAY}, a shift every {slow} rows is detected better than one "
            f"every {fast} by {loss}.",
            loss.positive,
        ),
        Claim(
            "Adjusting the fading factor improves the detection rate for fast shifts too.",
            f"For a shift every {fast} rows, α = {best[fast]['fading']}, the best in hindsight, "
            f"detects more than α = {PUBLISHED_DECAY} by {adjusting}.",
            adjusting.positive,
        ),
    ]


def _lines(
    alt: Any, table: RecordTable, k: int, by: str, order: list[Any], title: str, subtitle: str
) -> Any:
    legend = {"score": "score", "shift": "rows between shifts"}[by.partition(":")[0]]
    base = alt.Chart(alt.Data(values=table), title=alt.Title(title, subtitle=subtitle)).encode(
        x=alt.X("row:Q").title("rows seen").axis(format=",d"),
        color=alt.Color(by)
        .title(legend)
        .sort(order)
        .scale(scheme="viridis" if by == "shift:O" else "tableau10")
        .legend(symbolType="square", symbolOpacity=1),
    )
    span = alt.Scale(domain=[0.4, 1], clamp=True)
    band = (
        base.transform_calculate(low="datum.rate - datum.error", high="datum.rate + datum.error")
        .mark_area(opacity=0.18)
        .encode(y=alt.Y("low:Q").scale(span).title(f"detection rate @{k}"), y2="high:Q")
    )
    line = base.mark_line(strokeWidth=1.8).encode(y=alt.Y("rate:Q").scale(span))
    return (band + line).properties(width=460, height=280)


def _heat(alt: Any, table: RecordTable, k: int, batch: int) -> Any:
    title = alt.Title(
        "Detection rate by shifting rate and fading factor",
        subtitle=f"T-score, mean over the second half of the stream, α per batch of {batch}",
    )
    base = alt.Chart(alt.Data(values=table), title=title).encode(
        x=alt.X("fading:O").title("fading factor α").axis(labelAngle=0),
        y=alt.Y("shift:O").title("rows between shifts"),
    )
    low, high = min(r["rate"] for r in table), max(r["rate"] for r in table)
    cells = base.mark_rect().encode(
        color=alt.Color("rate:Q").title(f"rate @{k}").scale(scheme="viridis", domain=[low, high])
    )
    text = base.mark_text(fontSize=11).encode(
        text=alt.Text("rate:Q").format(".2f"),
        color=alt.condition(
            f"datum.rate > {low + 0.6 * (high - low)}", alt.value("#222222"), alt.value("white")
        ),
    )
    return (cells + text).properties(width=480, height=200)
