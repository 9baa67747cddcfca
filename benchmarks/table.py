"""The table *work, ours, peer, ratio, goal, met*: as plain text, as Markdown and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.harness import Row

HEADINGS = ("work", "ours", "peer", "ratio", "goal", "met")


def cells(row: Row) -> tuple[str, ...]:
    ours = "-" if row.ours is None else _figure(row.ours)
    theirs = "" if row.peer_value is None else f" {_figure(row.peer_value)}"
    ratio = "" if row.ratio is None else _figure(row.ratio)
    met = {True: "yes", False: "NOT MET", None: "not measured" if row.note and row.goal else ""}
    note = f" ({row.note})" if row.note else ""
    return (
        row.work,
        f"{ours} {row.unit}".strip(),
        f"{row.peer}{theirs}{note}".strip(),
        ratio,
        row.goal,
        met[row.met],
    )


def as_text(rows: Iterable[Row]) -> str:
    table = [HEADINGS, *map(cells, rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in table
    )
    return "\n".join(lines)


def as_markdown(rows: Iterable[Row]) -> str:
    lines = [HEADINGS, ("---",) * len(HEADINGS), *map(cells, rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def summary(rows: Sequence[Row]) -> str:
    goals = [row for row in rows if row.goal]
    met, missed = (sum(row.met is verdict for row in goals) for verdict in (True, False))
    return f"{met} goals met, {missed} not met, {len(goals) - met - missed} not measured"


def write_json(path: Path, rows: Iterable[Row], **about: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    found = {**about, "rows": [asdict(row) for row in rows]}
    path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read_json(path: Path) -> tuple[list[Row], dict[str, Any]]:
    found = json.loads(path.read_text(encoding="utf-8"))
    return [Row(**row) for row in found.pop("rows")], found


def _figure(value: float | str) -> str:
    """Three digits, never in scientific notation."""
    if isinstance(value, str):
        return value
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
