"""Time and state as the work grows, with slopes and a plot: ``python -m benchmarks.scaling``."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import Any

from benchmarks import machine
from benchmarks.experiments import EXPERIMENTS, Point, slope


def main() -> None:
    options = parse()
    points: list[Point] = []
    for experiment in EXPERIMENTS:
        new = list(experiment(options.quick))
        print("\n".join(lines(new)), end="\n\n", flush=True)
        points += new
    about = machine.describe()
    found = {"machine": about, "quick": options.quick, "points": [asdict(p) for p in points]}
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")
    if options.images:
        options.images.mkdir(parents=True, exist_ok=True)
        for suffix in ("svg", "png"):
            plot(points).save(options.images / f"scaling.{suffix}", scale_factor=2)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tiny data: shows that all of it runs")
    parser.add_argument("--json", type=Path, default=Path("build/bench-scaling.json"))
    parser.add_argument("--images", type=Path, help="folder for the plot: scaling.svg, scaling.png")
    return parser.parse_args()


def by_series(points: list[Point]) -> Iterator[tuple[str, list[Point]]]:
    ordered = sorted(points, key=lambda point: (point.series, point.x))
    for series, group in groupby(ordered, key=lambda point: point.series):
        yield series, list(group)


def lines(points: list[Point]) -> Iterator[str]:
    """One experiment as plain text."""
    for series, mine in by_series(points):
        yield f"{mine[0].experiment:<12}{series:<16}{'milliseconds':>14}{'state, KB':>14}"
        for point in mine:
            figures = f"{point.seconds * 1e3:>14.2f}{point.nbytes / 1e3:>14.1f}"
            yield f"{point.x:>12.12g}{'':<16}{figures}"
        time = slope(mine, lambda point: point.seconds)
        state = slope(mine, lambda point: point.nbytes)
        yield f"{'':<12}{'slope':<16}{time:>14.2f}{state:>14.2f}"


def plot(points: list[Point]) -> Any:
    """Small multiples on logarithmic axes: experiments side by side, time above state."""
    try:
        alt: Any = import_module("altair")
    except ModuleNotFoundError as error:
        raise SystemExit('The plot needs altair: pip install "driftsieve[bench]"') from error

    def panel(experiment: str, field: str, title: str) -> Any:
        mine = [asdict(point) for point in points if point.experiment == experiment]
        logarithmic = alt.Scale(type="log", nice=False)
        axis = alt.Axis(format="~s", tickCount=5)
        return (
            alt.Chart(alt.Data(values=mine), width=190, height=150)
            .mark_line(point=True)
            .encode(
                x=alt.X("x:Q", scale=logarithmic, axis=axis).title(experiment),
                y=alt.Y(f"{field}:Q", scale=alt.Scale(type="log"), axis=axis).title(title),
                color=alt.Color("series:N").title(None).legend(orient="top", columns=2),
            )
        )

    names = list(dict.fromkeys(point.experiment for point in points))
    return alt.vconcat(
        *(
            alt.hconcat(*(panel(name, field, title) for name in names)).resolve_scale(
                color="independent"
            )
            for field, title in (("seconds", "seconds"), ("nbytes", "bytes of state"))
        )
    ).configure_view(stroke=None)


if __name__ == "__main__":
    main()
