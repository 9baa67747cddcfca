"""The goal "cost as work grows": linear in rows and features, and a state that stays small."""

from __future__ import annotations

import math
from collections.abc import Iterator

from benchmarks import experiments
from benchmarks.experiments import Point, slope
from benchmarks.harness import Row, Work

LINEAR = 1.1  # the largest slope that counts as linear
SETTLED = 10**6  # rows from which on summaries are pruned, those of sparse features too


def works(quick: bool) -> Iterator[Work]:
    yield Work("cost as work grows", {}, (), facts=lambda: [*rows(quick), *features(quick)])


def rows(quick: bool) -> Iterator[Row]:
    points = list(experiments.rows(quick))
    for series in dict.fromkeys(point.series for point in points):
        mine = [point for point in points if point.series == series]
        yield linear(f"time against rows, {series}", mine)
        yield logarithmic(series, [point for point in mine if point.x >= SETTLED] or mine)


def features(quick: bool) -> Iterator[Row]:
    dense = [point for point in experiments.features(quick) if point.series == "dense"]
    yield linear("time against features, dense", dense)


def linear(name: str, points: list[Point]) -> Row:
    found = slope(points, lambda point: point.seconds)
    goal = f"slope ≤ {LINEAR}"
    return Row(f"growth: {name}", found, "slope", goal=goal, met=found <= LINEAR)


def logarithmic(series: str, points: list[Point]) -> Row:
    """Once settled, by no more than the logarithm of the rows."""
    first, last = points[0], points[-1]
    found = last.nbytes / first.nbytes
    most = math.log(last.x) / math.log(first.x)
    goal = f"≤ {most:.2f} × from {first.x:g} to {last.x:g} rows"
    return Row(f"growth: state against rows, {series}", found, "×", goal=goal, met=found <= most)
