"""Output of tables as csv and markdown, and of figures as png and svg."""

from __future__ import annotations

import csv
from importlib import import_module
from pathlib import Path
from typing import Any

from driftsieve.reproduce.result import Claim, RecordTable, Result


def load_altair() -> Any:
    """Return the altair module; raise ModuleNotFoundError if figures cannot be made."""
    try:
        import_module("vl_convert")
        return import_module("altair")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            'Figures need altair and vl-convert: pip install "driftsieve[report]"', name=error.name
        ) from error


def write_result(result: Result, name: str, folder: Path) -> list[Path]:
    """Write a result into a folder and return the files in order."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for part, table in result.tables.items():
        path = folder / f"{_stem(name, part)}.csv"
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, fieldnames=list(table[0]))
            writer.writeheader()
            writer.writerows(table)
        text = path.with_suffix(".md")
        text.write_text(markdown(table), encoding="utf-8")
        written += [path, text]
    if result.figures:
        alt = load_altair()
        for part, figure in result.figures.items():
            chart = dress(figure(alt))
            for suffix, options in ((".svg", {}), (".png", {"scale_factor": 2})):
                path = folder / f"{_stem(name, part)}{suffix}"
                chart.save(str(path), **options)
                written.append(path)
    if result.claims:
        path = folder / f"{name}-claims.md"
        path.write_text(markdown([_claim_row(claim) for claim in result.claims]), encoding="utf-8")
        written.append(path)
    return written


def markdown(table: RecordTable) -> str:
    """Return a table in markdown, with numbers to four digits.

    >>> print(markdown([{"epsilon": 0.01, "madelon": 1 / 3}]))
    | epsilon | madelon |
    |---|---|
    | 0.01 | 0.3333 |
    <BLANKLINE>
    """
    columns = list(table[0])
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join(_cell(row[column]) for column in columns) + " |" for row in table]
    return "\n".join(lines) + "\n"


def dress(chart: Any) -> Any:
    """Apply the common style of all figures."""
    ink, faint = "#333333", "#e6e6e6"
    return (
        chart.configure(background="white", font="DejaVu Sans, Arial, sans-serif")
        .configure_axis(
            labelColor=ink,
            titleColor=ink,
            gridColor=faint,
            domainColor="#999999",
            tickColor="#999999",
            labelFontSize=11,
            titleFontSize=12,
            titleFontWeight="normal",
        )
        .configure_view(stroke=None)
        .configure_header(labelFontSize=12, titleFontSize=12, labelColor=ink, titleColor=ink)
        .configure_legend(
            labelFontSize=11,
            titleFontSize=11,
            labelColor=ink,
            titleColor=ink,
            symbolStrokeWidth=2.5,
        )
        .configure_title(
            fontSize=14,
            color=ink,
            anchor="start",
            subtitleFontSize=11,
            subtitleColor="#666666",
            offset=12,
        )
    )


def _stem(name: str, part: str) -> str:
    return f"{name}-{part}" if part else name


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _claim_row(claim: Claim) -> dict[str, str]:
    return {
        "the paper": claim.published,
        "measured": claim.measured,
        "verdict": "holds" if claim.holds else "does not hold",
    }
