"""Options that several commands have."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from itertools import combinations
from pathlib import Path
from typing import Annotated, Literal

import typer

from driftsieve import atomic
from driftsieve.cli.errors import CommandError

ScoreName = Literal["t", "fisher", "mutual_info", "chi2", "gini"]
Score = Annotated[ScoreName, typer.Option(help="What ranks the features.")]
Bins = Annotated[int, typer.Option(min=2, max=10_000, help="Quantile bins of a feature.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]


def check_apart(outputs: Mapping[str, Path | None], inputs: Iterable[str | Path] = ()) -> None:
    """Refuse an output that would take the place of an input or of another output."""
    given = {option: path for option, path in outputs.items() if path is not None}
    for (one, path), (other, its_path) in combinations(given.items(), 2):
        if _is_same(path, its_path):
            raise CommandError(f"{one} and {other} are the same file, {path}: give each its own")
    sources = [Path("/dev/stdin" if source == "-" else source) for source in inputs]
    for option, path in given.items():
        if any(_is_same(path, source) for source in sources):
            raise CommandError(f"{option} {path} is what is read: give it another name")


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:  # they are not both there yet
        return os.path.realpath(one) == os.path.realpath(other)


def check_output(option: str, path: Path | None, suffixes: Collection[str]) -> None:
    """Refuse a file that could not be written, before any work is done for it."""
    if path is None:
        return
    if path.suffix.lower() not in suffixes:
        known = " or ".join(suffixes)
        raise CommandError(f"{option} {path}: the name must end in {known}")
    atomic.check(path)
    atomic.remove_stale(path)
