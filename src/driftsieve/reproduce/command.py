"""`driftsieve reproduce`: make the paper's tables and figures."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import track

from driftsieve.reproduce.datasets import MissingDataError
from driftsieve.reproduce.experiments import EXPERIMENTS
from driftsieve.reproduce.fetch import SOURCES, FetchError
from driftsieve.reproduce.fetch import fetch as fetch_source
from driftsieve.reproduce.output import load_altair, write
from driftsieve.reproduce.result import Run
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
        Correlation, typer.Option(help="Of the synthetic stream; see docs/reproduction.md.")
    ] = "published",
    fetch: Annotated[
        str | None,
        typer.Option(help=f"Fetch a public data set, or all: {', '.join(SOURCES)}.", metavar="SET"),
    ] = None,
    show: Annotated[bool, typer.Option("--list", help="Name the tables and figures.")] = False,
) -> None:
    """Make a table or figure of the paper: csv and markdown, png and svg, and what it claims."""
    console = Console(soft_wrap=True)
    if show:
        for key, experiment in EXPERIMENTS.items():
            console.print(f"{key:10} {experiment.title}", highlight=False)
        return
    if fetch is not None:
        _fetch(fetch, data, console)
        return
    if name != "all" and name not in EXPERIMENTS:
        found = "no name was given" if name is None else f"{name!r} is none of them"
        raise typer.BadParameter(f"choose one of {', '.join(EXPERIMENTS)} or all: {found}.")

    def show_progress(items: Iterable[Any], title: str, total: int) -> Iterable[Any]:
        return track(items, title, total, console=Console(stderr=True), transient=True)

    run = Run(quick, data, n_seeds=seeds, correlation=correlation, track=show_progress)
    try:
        load_altair()  # better now than after an hour
        for key in EXPERIMENTS if name == "all" else [str(name)]:
            result = EXPERIMENTS[key].run(run)
            for path in write(result, key, out):
                console.print(os.fspath(path), highlight=False)
            for claim in result.claims:
                verdict = "holds" if claim.holds else "does not hold"
                console.print(f"{verdict}: {claim.published} {claim.measured}", highlight=False)
    except (MissingDataError, ModuleNotFoundError) as error:
        console.print(f"driftsieve reproduce: {error}", highlight=False)
        raise typer.Exit(1) from error


def _fetch(name: str, data: Path | None, console: Console) -> None:
    if name != "all" and name not in SOURCES:
        raise typer.BadParameter(f"--fetch takes one of {', '.join(SOURCES)} or all, not {name!r}.")
    if data is None:
        raise typer.BadParameter(f"--fetch needs a folder: --data or {DATA_VARIABLE}.")
    for key in SOURCES if name == "all" else [name]:
        try:
            console.print(os.fspath(fetch_source(SOURCES[key], data)), highlight=False)
        except FetchError as error:
            console.print(f"driftsieve reproduce: {error}", highlight=False)
            raise typer.Exit(1) from error
