"""``driftsieve inspect``: the content of a state file."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

import typer

from driftsieve._text import printable
from driftsieve.cli import show
from driftsieve.cli.checkpoint import Place
from driftsieve.cli.options import Json
from driftsieve.cli.state import read_state
from driftsieve.history import ScoreHistory
from driftsieve.memory import LearnedBank
from driftsieve.memory.reading import AnyBank
from driftsieve.report import to_json

_SETTINGS = ("epsilon", "half_life", "decay", "clock", "missing", "moments", "quantiles")
_N_CLASSES = _N_COLUMNS = 20  # shown in the table


def inspect(
    path: Annotated[Path, typer.Argument(metavar="BANK", help="A state, bank or history.")],
    json: Json = False,
) -> None:
    """Show what is in a state file: rows, classes, features, settings and certificate."""
    state = read_state(path)
    content: dict[str, Any] = {"file": str(path), "file_bytes": path.stat().st_size}
    if state.bank is not None:
        content |= _bank(state.bank)
    if state.place is not None:
        content |= {"input": _place(state.place)}
        content["beyond_limits"]["values"] += state.place.values_ignored
    if state.history is not None:
        content |= {"history": _history(state.history)}
    if json:
        print(to_json(content, indent=1))
    else:
        _print(content)


def _bank(bank: AnyBank) -> dict[str, Any]:
    return {
        **show.facts(bank, show.quality_of(bank)),
        "named_features": bank.feature_names is not None,
        "memory_bytes": bank.nbytes,
        "now": bank.now,
        "settings": {name: getattr(bank, name) for name in _SETTINGS},
        "memory": str(bank.memory) if isinstance(bank, LearnedBank) else None,
    }


def _place(place: Place) -> dict[str, Any]:
    files = None if place.files is None else [file._asdict() for file in place.files]
    return {
        "rows_read": place.position,
        "rows_left_out": place.rows_skipped,
        "reasons": list(place.reasons),
        "files": files,
        "settings": place.settings,
        "columns": place.columns,
    }


def _history(history: ScoreHistory) -> dict[str, Any]:
    return {
        "score": history.score_func,
        "k": history.k,
        "records": len(history),
        "positions": [history.positions[0], history.positions[-1]] if len(history) else [],
        "events": history.n_events,
        "stability": history.stability() if len(history) else math.nan,
    }


def _print(content: dict[str, Any]) -> None:
    lines = _lines(content)
    width = max(len(name) for name, _ in lines)
    for name, value in lines:
        print(f"{name:<{width}}  {printable(value)}")


def _lines(content: dict[str, Any]) -> list[tuple[str, str]]:
    lines = [("file", f"{content['file']} ({content['file_bytes']:,} bytes)")]
    if "rows" in content:
        classes = [f"{c['label']} ({c['weight']:.6g})" for c in content["classes"][:_N_CLASSES]]
        more = ["…"] if len(content["classes"]) > _N_CLASSES else []
        error, names = content["rank_error"], content["named_features"]
        lines += [
            ("rows", f"{content['rows']:,}"),
            ("features", f"{content['features']:,}" + ("" if names else ", without names")),
            ("classes (weight)", ", ".join(classes + more)),
            ("in memory", f"{content['memory_bytes']:,} bytes"),
        ]
        if error:
            lines += [
                ("largest rank error", f"{error['largest']:.3g} of the weight"),
                ("exact features", f"{error['exact_features']:,}"),
            ]
        settings = ", ".join(f"{k}={v}" for k, v in content["settings"].items())
        lines.append(("settings", settings))
        if content["memory"]:
            lines.append(("learned", content["memory"]))
    if beyond := show.beyond_limits(content.get("beyond_limits", {})):
        lines.append(("beyond the limits", f"{beyond} left out"))
    if place := content.get("input"):
        unusable = f"{place['rows_left_out']:,} could not be used"
        lines.append(("read", f"{place['rows_read']:,} rows, {unusable}"))
        for file in place["files"] or [{"name": "a pipe", "size": 0, "n_bytes": 0}]:
            lines.append(
                ("from", f"{file['name']} ({file['n_bytes']:,} of {file['size']:,} bytes)")
            )
        for kind in ("numbers", "text"):
            names = [name for name, read_as in place["columns"].items() if read_as == kind]
            others = f" and {len(names) - _N_COLUMNS:,} more" if len(names) > _N_COLUMNS else ""
            if names:
                lines.append((f"read as {kind}", ", ".join(names[:_N_COLUMNS]) + others))
    if past := content.get("history"):
        facts = f"{past['records']} records of {past['score']}, {past['events']:,} changes of the"
        steady = "" if math.isnan(past["stability"]) else f", stability {past['stability']:.3f}"
        lines.append(("history", f"{facts} best {past['k']}{steady}"))
    return lines
