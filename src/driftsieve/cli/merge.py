"""``driftsieve merge``: banks that saw different rows of one stream as one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from driftsieve import atomic
from driftsieve.bank import Bank
from driftsieve.checkpoint import Place
from driftsieve.cli import show
from driftsieve.cli.errors import CommandError, say
from driftsieve.cli.options import Json
from driftsieve.cli.ranking import certificate
from driftsieve.cli.run import shown
from driftsieve.cli.state import read_bank
from driftsieve.report import to_json
from driftsieve.report.text import printable

_OPTIONS = ("target", "weight", "time", "categorical")  # what columns are for


def merge(
    banks: Annotated[
        list[Path],
        typer.Argument(
            metavar="BANK", help="Files of screen --state or merge, in the order of their rows."
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The bank to write.")],
    json: Json = False,
) -> None:
    """Merge banks that saw different rows of the same stream.

    With the clocks sample and batch the rows of each file come after those of the files before it;
    with the clock time the order does not matter. The settings of the banks must be the same, and
    so must what they took for labels, weights, times and categories. The output may be one of them:
    all are read before it is replaced.
    """
    atomic.check(output)
    merged, place = read_bank(banks[0])
    values_ignored = place.values_ignored
    known: dict[str, tuple[Any, Path]] = {}
    _check_options(known, banks[0], place)
    for path in banks[1:]:
        bank, place = read_bank(path)
        _check_options(known, path, place)
        values_ignored += place.values_ignored
        try:
            merged.merge(bank, start=_start(merged))
        except ValueError as error:
            raise CommandError(f"{path} does not merge with {banks[0]}: {error}") from error
    data = merged.to_bytes()
    with atomic.replacing(output) as file:
        file.write(data)
    quality = certificate(merged)
    ignored = {**merged.ignored, "values": values_ignored}
    if beyond := show.beyond_limits(ignored):
        say(f"Left out beyond the limits: {beyond}")
    if json:
        found = {**show.facts(merged, quality), "beyond_limits": ignored, "output": str(output)}
        print(to_json(found, indent=1))
    else:
        print(show.summary(merged, quality))
        print(printable(f"Written: {output}"))


def _check_options(known: dict[str, tuple[Any, Path]], path: Path, place: Place) -> None:
    """Refuse a state whose columns mean something else than those of the states known so far."""
    for name in _OPTIONS:
        if name not in place.settings:  # a bank alone does not tell
            continue
        value = place.settings[name]
        value = sorted(value, key=str) if isinstance(value, list) else value
        before, other = known.setdefault(name, (value, path))
        if value != before:
            raise CommandError(
                f"{path} does not merge with {other}: it was screened with --{name} "
                f"{shown(value)}, not {shown(before)}: screen both with the same"
            )


def _start(bank: Bank) -> float | None:
    """The tick at which rows that come after those of the bank begin."""
    return None if bank.clock == "time" or bank.now is None else bank.now + 1
