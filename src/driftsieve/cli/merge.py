"""``driftsieve merge``: banks of different rows of a stream as one bank."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from driftsieve._arguments import arg
from driftsieve._storage import atomic
from driftsieve._text import printable
from driftsieve.cli import show
from driftsieve.cli.checkpoint import Place
from driftsieve.cli.errors import CommandError, say
from driftsieve.cli.options import Json
from driftsieve.cli.run import shown
from driftsieve.cli.state import load_bank
from driftsieve.memory.reading import AnyBank
from driftsieve.report import to_json

# the options with the roles of columns
_OPTIONS = ("target", "sample_weight", "time", "categorical")


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
    """Merge banks of different rows of the same stream.

    With the clocks row and batch the rows of each file come after those of the files before it;
    with the clock time the order does not matter. The settings of the banks must be the same, and
    so must what they took for labels, weights, times and categories. A column that is not in all
    files is missing in the others if their rows are dense, which takes --missing ignore. The output
    may be one of the files: all are read before it is replaced, and merges into the same file wait
    for each other.
    """
    with atomic.locked(output, lambda: say(f"Waiting for another merge into {output}")):
        merged, values_ignored = _merged(banks)
        data = merged.to_bytes()
        with atomic.replacing(output) as file:
            file.write(data)
    quality = show.quality_of(merged)
    ignored = merged.ignored
    ignored["values"] += values_ignored
    if beyond := show.beyond_limits(ignored):
        say(f"Left out because of the limits: {beyond}")
    if json:
        found = {**show.facts(merged, quality), "beyond_limits": ignored, "output": str(output)}
        print(to_json(found, indent=1))
    else:
        print(show.summary(merged, quality))
        print(printable(f"Written: {output}"))


def _merged(banks: list[Path]) -> tuple[AnyBank, int]:
    """Return all banks as one, and the number of values that their runs ignored."""
    merged, place = load_bank(banks[0])
    values_ignored = place.values_ignored
    known: dict[str, tuple[Any, Path]] = {}
    _check_options(known, banks[0], place)
    for path in banks[1:]:
        bank, place = load_bank(path)
        _check_options(known, path, place)
        values_ignored += place.values_ignored
        try:
            if type(bank) is not type(merged):
                raise ValueError(
                    "Either both banks or none must learn the half-life, got one that does."
                )
            join: Any = merged.merge
            join(bank, start=_start(merged))
        except ValueError as error:
            raise CommandError(f"{path} cannot be merged with {banks[0]}: {error}") from error
    return merged, values_ignored


def _check_options(known: dict[str, tuple[Any, Path]], path: Path, place: Place) -> None:
    """Raise an error for a state that was read with other options than the states before."""
    for name in _OPTIONS:
        if name not in place.settings:  # a bank without a checkpoint has no options
            continue
        value = place.settings[name]
        value = sorted(value, key=str) if isinstance(value, list) else value
        before, other = known.setdefault(name, (value, path))
        if value != before:
            raise CommandError(
                f"{path} cannot be merged with {other}: {arg(name)} must be {shown(before)}, got "
                f"{shown(value)}. Screen both with the same options."
            )


def _start(bank: AnyBank) -> float | None:
    """Return the tick after the rows of the bank."""
    return None if bank.clock == "time" or bank.now is None else bank.now + 1
