"""``driftsieve report``: a page about a bank, a history or both."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from driftsieve import report as reports
from driftsieve._text import printable
from driftsieve.cli.errors import CommandError
from driftsieve.cli.options import Bins, ScoreName, check_apart, check_output
from driftsieve.cli.state import read_state
from driftsieve.memory import LearnedBank
from driftsieve.memory.reading import AnyBank
from driftsieve.scores import SCORES


def report(
    path: Annotated[
        Path, typer.Argument(metavar="STATE", help="A bank, a screener, a checkpoint or a history.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The file to write: .html, .json or .txt.")
    ],
    score_func: Annotated[
        ScoreName | None,
        typer.Option(
            help="Score that ranks the features.",
            show_default="that of the memory or the screener, or mutual_info",
        ),
    ] = None,
    n_bins: Bins = 5,
    title: Annotated[str | None, typer.Option(show_default="the name of the file")] = None,
) -> None:
    """Write a report that opens in any browser, offline."""
    check_apart({"--output": output}, [path])
    check_output("--output", output, reports.WRITERS)
    bank, history, place, own_score = read_state(path)
    if isinstance(bank, LearnedBank) and isinstance(bank.score_func, str):
        own_score = bank.score_func
    score = score_func or own_score or _first_score(bank)
    if bank is not None:
        _check_score(path, bank, score)
    settings = {} if bank is None else {"half_life": bank.half_life, "clock": bank.clock}
    if place is not None:
        settings = {k: v for k, v in place.settings.items() if v not in (None, [], "auto")}
        if place.files:
            source = ", ".join(Path(file.name).name for file in place.files)
            settings = {"source": source, **settings}
    title = printable(path.name) if title is None else title
    parameters = {"state": printable(path.name), **settings}
    if bank is None:
        content = reports.build(history=history, title=title, parameters=parameters)
    else:
        content = reports.of_bank(
            bank, history, score_func=score, n_bins=n_bins, title=title, parameters=parameters
        )
    reports.write(output, content)
    print(printable(f"Written: {output}"))


def _first_score(bank: AnyBank | None) -> str:
    """Return mutual information, or the T score for a bank without quantiles."""
    return "mutual_info" if bank is None or bank.quantiles else "t"


def _check_score(path: Path, bank: AnyBank, score: str) -> None:
    """Raise an error for a score that the bank cannot compute, which lists the others."""
    kept = {"moments": bank.moments, "quantiles": bank.quantiles}
    needs = SCORES[score].needs
    if not kept[needs]:
        others = " or ".join(name for name, entry in SCORES.items() if kept[entry.needs])
        raise CommandError(
            f"--score-func must be {others} for {path}, got {score}, which needs {needs}."
        )
