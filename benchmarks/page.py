"""Puts measured figures into docs/performance.md: ``python -m benchmarks.page``."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

from benchmarks import table
from benchmarks.experiments import Point, slope
from benchmarks.scaling import by_series

TABLES = ("goals", "more")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.page", description=__doc__)
    parser.add_argument("--page", type=Path, default=Path("docs/performance.md"))
    parser.add_argument("--bench", type=Path, default=Path("build/bench.json"))
    parser.add_argument("--scaling", type=Path, default=Path("build/bench-scaling.json"))
    options = parser.parse_args()
    text = options.page.read_text(encoding="utf-8")
    for name in TABLES:
        text = fill(text, name, goals(options.bench, name))
    if options.scaling.exists():
        text = fill(text, "scaling", scaling(options.scaling))
    options.page.write_text(text, encoding="utf-8")


def fill(page: str, name: str, content: str) -> str:
    """The page with `content` between the markers of that name."""
    begin, end = f"<!-- {name}: measured -->", f"<!-- {name}: end -->"
    filled, count = re.subn(
        f"{begin}.*?{end}", lambda _: f"{begin}\n\n{content}\n\n{end}", page, flags=re.DOTALL
    )
    if count != 1:
        raise SystemExit(f"The page must have {begin} and {end} once; found {count}.")
    return filled


def goals(path: Path, name: str | None = None) -> str:
    """The machine, the clock and all rows, or those of one of ``TABLES``."""
    rows, about = table.read_json(path)
    refuse_quick(path, about)
    rows = [row for row in rows if name in (None, table_of(row.work))]
    if not rows:
        raise SystemExit(f"{path} has no rows of the table {name}: measure all groups.")
    clock = f"- clock: {about['clock']}, median of {about['rounds']} interleaved rounds"
    return "\n\n".join(
        [described(about["machine"], clock), f"{table.summary(rows)}.", table.as_markdown(rows)]
    )


def table_of(work: str) -> str:
    """The table of a work: the first has those that were the first goals.

    >>> table_of("A, lognormal: stream"), table_of("F, Zipf columns: state")
    ('goals', 'more')
    """
    return "goals" if re.match(r"([A-E]|svmlight|growth)\b", work) else "more"


def scaling(path: Path) -> str:
    found = json.loads(path.read_text(encoding="utf-8"))
    refuse_quick(path, found)
    points = [Point(**point) for point in found["points"]]
    lines = ["| grows | series | slope of time | slope of state |", "| --- | --- | --- | --- |"]
    for name in dict.fromkeys(point.experiment for point in points):
        for series, mine in by_series([point for point in points if point.experiment == name]):
            time = slope(mine, lambda point: point.seconds)
            state = slope(mine, lambda point: point.nbytes)
            lines.append(f"| {name} | {series} | {time:.2f} | {state:.2f} |")
    image = "![Time and state as the work grows](images/scaling.svg)"
    return "\n\n".join([described(found["machine"]), image, "\n".join(lines)])


def described(machine: dict[str, str], *more: str) -> str:
    return "\n".join([*(f"- {key}: {value}" for key, value in machine.items()), *more])


def refuse_quick(path: Path, about: dict[str, Any]) -> None:
    if about["quick"]:
        raise SystemExit(f"{path} holds a quick run, whose figures mean nothing: measure again.")


if __name__ == "__main__":
    main()
