"""The table *work, ours, peer, ratio, goal, met*: as plain text, as Markdown and as JSON."""

from __future__ import annotations

import json
from collections import Counter
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
    swings = ""
    if row.low is not None and row.high is not None:
        swings = f" ({_figure(row.low)} to {_figure(row.high)})"
    note = f" ({row.note})" if row.note else ""
    return (
        row.work,
        f"{ours} {row.unit}".strip() + ("" if ratio else swings),
        f"{row.peer}{theirs}{note}".strip(),
        ratio + (swings if ratio else ""),
        row.goal,
        _met(row),
    )


def _met(row: Row) -> str:
    if not row.goal:
        return ""
    if row.met is None:
        return "not measured"
    return "reported" if row.reported else "yes" if row.met else "NOT MET"


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
    verdicts = Counter(_met(row) for row in rows)
    names = {"yes": "goals met", "NOT MET": "not met", "not measured": "", "reported": ""}
    return ", ".join(f"{verdicts[key]} {name or key}" for key, name in names.items())


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
