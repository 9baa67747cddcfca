"""`driftsieve reproduce`: make the paper's tables and figures."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import track

from driftsieve.reproduce.synthetic import Correlation

DATA_VARIABLE = "DRIFTSIEVE_DATA"


def reproduce(
    name: Annotated[
        str | None, typer.Argument(help="Which one to make, or all.", show_default=False)
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(envvar=DATA_VARIABLE, help="Folder of the real data sets.", file_okay=False),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder to write to.", file_okay=False)] = Path(
        "reproduced"
    ),
    quick: Annotated[
        bool, typer.Option("--quick", help="Small sizes: seconds instead of minutes.")
    ] = False,
    seeds: Annotated[
        int | None,
        typer.Option(min=2, help="How often to repeat what is random.", show_default="5, quick 3"),
    ] = None,
    correlation: Annotated[
        Correlation, typer.Option(help="Of the features of the synthetic stream.")
    ] = "published",
    fetch: Annotated[
        str | None,
        typer.Option(metavar="SET", help="Fetch a public data set into --data, or all of them."),
    ] = None,
    show: Annotated[
        bool, typer.Option("--list", help="Name the tables, the figures and the data sets.")
    ] = False,
) -> None:
    """Make a table or figure of the paper: csv and markdown, png and svg, and what it claims."""
    if show:
        _list()
    elif fetch is not None:
        _fetch(fetch, data)
    else:
        _make(name, data, out, quick, seeds, correlation)


def _make(
    name: str | None,
    data: Path | None,
    out: Path,
    quick: bool,
    seeds: int | None,
    correlation: Correlation,
) -> None:
    # Here, because scikit-learn takes a second to import: only for those who use it.
    from driftsieve.reproduce.experiments import EXPERIMENTS
    from driftsieve.reproduce.output import load_altair, write
    from driftsieve.reproduce.result import Run

    names = _chosen("NAME", name, list(EXPERIMENTS))
    load_altair()  # better now than after an hour

    terminal = Console(stderr=True)

    def show_progress(items: Iterable[Any], title: str, total: int) -> Iterable[Any]:
        return track(
            items, title, total, console=terminal, transient=True, disable=not terminal.is_terminal
        )

    run = Run(quick, data, n_seeds=seeds, correlation=correlation, track=show_progress)
    for key in names:
        result = EXPERIMENTS[key].run(run)
        for path in write(result, key, out):
            print(path)
        for claim in result.claims:
            print("holds:" if claim.holds else "does not hold:", claim.published, claim.measured)


def _fetch(name: str, data: Path | None) -> None:
    from driftsieve.reproduce.fetch import SOURCES, fetch

    names = _chosen("--fetch", name, list(SOURCES))
    if data is None:
        raise typer.BadParameter(f"--fetch needs a folder: --data or {DATA_VARIABLE}.")
    for key in names:
        print(fetch(SOURCES[key], data))


def _chosen(what: str, name: str | None, names: list[str]) -> list[str]:
    if name == "all":
        return names
    if name not in names:
        raise typer.BadParameter(f"{what} is one of {', '.join(names)} or all, got {name!r}.")
    return [name]


def _list() -> None:
    from driftsieve.reproduce.experiments import EXPERIMENTS
    from driftsieve.reproduce.fetch import SOURCES

    for key, experiment in EXPERIMENTS.items():
        print(f"{key:15} {experiment.title}")
    print(f"{'--fetch':15} {', '.join(SOURCES)}")
