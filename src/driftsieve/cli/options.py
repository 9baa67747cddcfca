"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from driftsieve import atomic
from driftsieve.cli.errors import CommandError

ScoreName = Literal["t", "fisher", "mutual_info", "chi2", "gini"]
Score = Annotated[ScoreName, typer.Option(help="What ranks the features.")]
Bins = Annotated[int, typer.Option(min=2, help="Quantile bins of a feature.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]


def check_output(option: str, path: Path | None, writers: dict[str, Any]) -> None:
    """Refuse a file that could not be written, before any work is done for it."""
    if path is None:
        return
    if path.suffix.lower() not in writers:
        known = ", ".join(writers)
        raise CommandError(f"{option} {path}: the name must end in one of {known}")
    atomic.check(path)
    atomic.remove_stale(path)
