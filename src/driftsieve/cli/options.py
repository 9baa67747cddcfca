"""Options that several commands share."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from itertools import combinations
from pathlib import Path
from typing import Annotated, Literal, TypeAlias, cast

import typer

from driftsieve._state.settings import AUTO, stored_half_life
from driftsieve._storage import atomic
from driftsieve.cli.errors import CommandError

ScoreName = Literal["t", "fisher", "mutual_info", "chi2", "gini"]
ScoreOption = Annotated[ScoreName, typer.Option(help="Score that ranks the features.")]
Bins = Annotated[int, typer.Option(min=2, max=10_000, help="Number of quantile bins.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]


HalfLifeSetting: TypeAlias = float | str | list[float | str | None] | None


def half_life_of_text(text: str) -> HalfLifeSetting:
    """Return the argument of ``--half-life`` as it is stored.

    That is "auto", None for no fading, a number, a normalized duration, or a list of them.

    >>> half_life_of_text("1000"), half_life_of_text("12h"), half_life_of_text("none")
    (1000.0, '43200.0s', None)
    >>> half_life_of_text("500,1000,none")
    [500.0, 1000.0, None]
    """
    if "," in text:
        parts = [half_life_of_text(part.strip()) for part in text.split(",")]
        if AUTO in parts:
            raise CommandError(f"--half-life must be auto or a list without auto, got {text}.")
        return cast("list[float | str | None]", parts)
    if text in ("none", "inf"):
        return None
    try:
        return AUTO if text == AUTO else float(text)
    except ValueError:
        return cast("str", stored_half_life(text))


def has_duration(half_life: HalfLifeSetting) -> bool:
    """Return whether a half-life is a duration, which needs times."""
    each = half_life if isinstance(half_life, list) else [half_life]
    return any(isinstance(part, str) and part != AUTO for part in each)


def check_apart(outputs: Mapping[str, Path | None], inputs: Iterable[str | Path] = ()) -> None:
    """Raise an error for an output that would overwrite an input or another output."""
    given = {option: path for option, path in outputs.items() if path is not None}
    for (one, path), (other, its_path) in combinations(given.items(), 2):
        if _is_same(path, its_path):
            raise CommandError(f"{one} and {other} must be different files, got {path} for both.")
    sources = [Path("/dev/stdin" if source == "-" else source) for source in inputs]
    for option, path in given.items():
        if any(_is_same(path, source) for source in sources):
            raise CommandError(f"{option} must not be one of the files to read, got {path}.")


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:  # one of them does not exist yet
        return os.path.realpath(one) == os.path.realpath(other)


def check_output(option: str, path: Path | None, suffixes: Collection[str]) -> None:
    """Raise an error for a file that cannot be written, before any work is done."""
    if path is None:
        return
    if path.suffix.lower() not in suffixes:
        known = " or ".join(suffixes)
        raise CommandError(f"{option} must end in {known}, got {path}.")
    atomic.check(path)
    atomic.remove_stale(path)
