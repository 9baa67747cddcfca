"""Reports as plain text."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from driftsieve._text import printable
from driftsieve.report.headline import place

_LABELS = {
    "t": "T",
    "fisher": "Fisher",
    "mutual_info": "mutual information",
    "chi2": "chi-square",
    "gini": "Gini",
}


def to_text(data: Mapping[str, Any], *, top: int = 20) -> str:
    """Return a report as plain text. Control codes in names are escaped.

    Parameters
    ----------
    data : mapping
        The result of ``build`` or ``of_bank``.
    top : int
        Number of features to list.

    Returns
    -------
    str

    See Also
    --------
    write : Writes a report to a file.

    Examples
    --------
    >>> from driftsieve import Bank, report
    >>> bank = Bank().update([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0], [4.0, 5.0]], [0, 0, 1, 1])
    >>> print(report.to_text(report.of_bank(bank, title="Four rows")))
    Four rows
    2 features by mutual information, 4 rows, 4 effective rows, 2 classes
    ...
    """
    facts = [f"{data['n_features']:,} features by {_LABELS[data['score']]}"]
    if data["n_rows"] is not None:
        facts.append(f"{data['n_rows']:,} rows")
    if data["n_eff"] is not None:
        facts.append(f"{data['n_eff']:,.0f} effective rows")
    if data["classes"]:
        facts.append(f"{len(data['classes'])} classes")
    lines = [printable(data["title"]), ", ".join(facts), printable(data["headline"])]
    lines += [data["significance"]] * bool(data["significance"])
    if data["memory"]:
        lines.append(data["memory"]["text"])
    lines += ["", *_ranking(data, top)]
    if data["certificate"]:
        lines += ["", _certificate(data)]
    if data["history"]:
        lines += ["", *_changes(data["history"])]
    return "\n".join(lines) + "\n"


def _ranking(data: Mapping[str, Any], top: int) -> list[str]:
    score = data["score"]
    others = [key for key in data["scores"] if key != score]
    pvalues = data["pvalues"][score]
    rows = [["rank", "feature", score, *(["p-value"] if pvalues else []), *others]]
    for i, name in enumerate(data["names"][:top]):
        row = [str(data["ranks"][score][i]), printable(name), f"{data['scores'][score][i]:.4g}"]
        row += [f"{pvalues[i]:.2g}"] if pvalues else []
        rows.append(row + [f"#{data['ranks'][key][i]}" for key in others])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    sides = [">", "<", *">" * (len(widths) - 2)]
    layout = "  ".join(f"{{:{side}{width}}}" for side, width in zip(sides, widths, strict=True))
    return [layout.format(*row) for row in rows]


def _certificate(data: Mapping[str, Any]) -> str:
    certificate = data["certificate"]
    if certificate["n_exact"] == data["n_features"]:
        return "The quantiles of every feature are exact."
    epsilon = data["parameters"].get("epsilon")
    promise = "" if epsilon is None else f" (promised: {epsilon})"
    return (
        f"No rank is off by more than {certificate['largest']:.2g} of the weight{promise}; "
        f"{certificate['n_exact']:,} features are exact."
    )


def _changes(history: Mapping[str, Any]) -> list[str]:
    stability = history["stability"]["nogueira"][-1]
    title = (
        f"{len(history['positions'])} records, {history['n_events']:,} changes of the best "
        f"{history['k']}" + ("" if math.isnan(stability) else f", stability now {stability:.3f}")
    )
    return [title] + [
        f"  {_position(event['position'], history['unit']):>16}  {event['kind']:<7}  "
        f"{printable(event['name'])} (rank {event['rank']:,})"
        for event in history["events"][-10:]
    ]


def _position(position: float, unit: str) -> str:
    return place(position, unit) if unit == "unix" else f"{position:,.10g}"
