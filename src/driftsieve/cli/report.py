"""``driftsieve report``: a page on a bank, a history or both."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from driftsieve.bank import Bank
from driftsieve.cli import page
from driftsieve.cli.errors import CommandError
from driftsieve.cli.options import Bins, Score, check_apart, check_output
from driftsieve.cli.state import read_state
from driftsieve.report.text import printable
from driftsieve.scores import SCORES


def report(
    path: Annotated[Path, typer.Argument(metavar="BANK|HISTORY", help="A state, bank or history.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The file to write: .html, .json or .txt.")
    ],
    score: Score = "mutual_info",
    bins: Bins = 5,
    title: Annotated[str | None, typer.Option(show_default="the name of the file")] = None,
) -> None:
    """Write a report that opens in any browser, offline."""
    check_apart({"--output": output}, [path])
    check_output("--output", output, page.WRITERS)
    bank, history, place = read_state(path)
    if bank is not None:
        _check_score(path, bank, score)
    settings = {} if bank is None else {"half_life": bank.half_life, "clock": bank.clock}
    if place is not None:
        settings = {k: v for k, v in place.settings.items() if v not in (None, [], "auto")}
        if place.files:
            source = ", ".join(file.name for file in place.files)
            settings = {"source": source, **settings}
    content = page.build(
        bank,
        history,
        score=score,
        n_bins=bins,
        title=printable(path.name) if title is None else title,
        parameters={"state": str(path), **settings},
    )
    page.write(output, content)
    print(printable(f"Written: {output}"))


def _check_score(path: Path, bank: Bank, score: str) -> None:
    """Refuse a score of what the bank does not keep, and name those it has."""
    kept = {"moments": bank.moments, "quantiles": bank.quantiles}
    needs = SCORES[score].needs
    if not kept[needs]:
        others = " or ".join(name for name, entry in SCORES.items() if kept[entry.needs])
        raise CommandError(f"{path} has no {needs}, which {score} needs: pass --score {others}")
