"""`driftsieve reproduce`: make the tables and figures of the paper."""

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
    """Make a table or figure of the paper: csv and markdown, png and svg, and what it claims.

    All of them without --data are those that need no data sets.
    """
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
    # Imported here, because scikit-learn takes a second to import.
    from driftsieve.reproduce.datasets import MissingDataError, folder_of
    from driftsieve.reproduce.experiments import EXPERIMENTS
    from driftsieve.reproduce.output import load_altair, write_result
    from driftsieve.reproduce.result import ExperimentRun

    names = _chosen("NAME", name, list(EXPERIMENTS))
    load_altair()  # better now than after an hour
    if name == "all" and data is not None:
        folder_of(data)

    terminal = Console(stderr=True)

    def show_progress(items: Iterable[Any], title: str, total: int) -> Iterable[Any]:
        if not terminal.is_terminal:  # some versions of rich print an empty line there
            return items
        return track(items, title, total, console=terminal, transient=True)

    run = ExperimentRun(quick, data, n_seeds=seeds, correlation=correlation, track=show_progress)
    left_out = []
    for key in names:
        try:
            result = EXPERIMENTS[key].run(run)
        except MissingDataError as error:
            if name != "all":
                raise
            typer.echo(f"{key} is left out: {error}", err=True)
            left_out.append(key)
            continue
        for path in write_result(result, key, out):
            print(path)
        for claim in result.claims:
            print("holds:" if claim.holds else "does not hold:", claim.published, claim.measured)

    if left_out and data is not None:
        raise MissingDataError(f"Left out because of missing data: {', '.join(left_out)}.")


def _fetch(name: str, data: Path | None) -> None:
    from driftsieve.reproduce.fetch import SOURCES, FetchError, fetch

    names = _chosen("--fetch", name, list(SOURCES))
    if data is None:
        raise typer.BadParameter(
            f"--data must be given with --fetch, got none. Pass a folder, or set {DATA_VARIABLE}."
        )
    failed = []
    for key in names:
        try:
            print(fetch(SOURCES[key], data))
        except FetchError as error:
            if name != "all":
                raise
            typer.echo(f"{key}: {error}", err=True)
            failed.append(key)
    if failed:
        raise FetchError(
            f"{len(failed)} of {len(names)} data sets could not be fetched: {', '.join(failed)}. "
            "Run this again: it continues where it stopped."
        )


def _chosen(what: str, name: str | None, names: list[str]) -> list[str]:
    if name == "all":
        return names
    if name not in names:
        raise typer.BadParameter(f"{what} must be one of {', '.join(names)} or all, got {name!r}.")
    return [name]


def _list() -> None:
    from driftsieve.reproduce.experiments import EXPERIMENTS
    from driftsieve.reproduce.fetch import SOURCES

    for key, experiment in EXPERIMENTS.items():
        print(f"{key:15} {experiment.title}")
    print(f"{'--fetch':15} {', '.join(SOURCES)}")
