"""Checkpoints of a run: when and where to write them, and how to continue from them."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from driftsieve._storage import atomic
from driftsieve.cli.checkpoint import Checkpoint
from driftsieve.cli.errors import CommandError, say
from driftsieve.cli.run import Run

_EVERY = re.compile(r"(\d(?:_?\d){0,17})\s*([smh]?)")  # int() rejects thousands of digits
_SECONDS = {"s": 1, "m": 60, "h": 3600}


@dataclass(frozen=True, slots=True)
class Every:
    """A number of rows, or of seconds."""

    rows: int | None = None
    seconds: int | None = None

    @classmethod
    def parse(cls, text: str) -> Every:
        """Read the argument of ``--checkpoint-every``.

        >>> Every.parse("100000"), Every.parse("5m")
        (Every(rows=100000, seconds=None), Every(rows=None, seconds=300))
        """
        found = _EVERY.fullmatch(text.strip())
        if found is None or not int(found[1]):
            raise CommandError(
                "--checkpoint-every must be a number of rows (100000) or a time (30s), got "
                f"{text!r}."
            )
        number, unit = int(found[1]), found[2]
        return cls(seconds=number * _SECONDS[unit]) if unit else cls(rows=number)


class Keeper:
    """Writes the checkpoints of a run to ``path``, if there is one."""

    def __init__(self, run: Run, path: Path | None, every: Every | None) -> None:
        self.path = path
        self._run = run
        self._every = every or Every()
        self._rows = run.bank.n_rows  # at the last checkpoint
        self._moment = time.monotonic()

    def after_batch(self) -> None:
        """Write a checkpoint if one is due."""
        rows, every = self._run.bank.n_rows, self._every
        by_rows = every.rows is not None and rows // every.rows > self._rows // every.rows
        waited = time.monotonic() - self._moment
        if by_rows or (every.seconds is not None and waited >= every.seconds):
            self.save()

    def save(self) -> None:
        if self.path is None:
            return
        try:
            self._run.checkpoint().save(self.path)
        except OSError as error:
            held = f"{self._rows:,}" if self._rows else "none"
            error.add_note(f"The state has {held} of the {self._run.bank.n_rows:,} rows screened.")
            raise
        self._rows, self._moment = self._run.bank.n_rows, time.monotonic()

    @property
    def is_behind(self) -> bool:
        """Whether there are rows that are not in the file."""
        bank = self._run.bank
        return self.path is not None and bank.is_whole and bank.n_rows > self._rows

    def how_to_go_on(self, arguments: Sequence[str]) -> str:
        """Return how to continue a stopped run, given the arguments of the command."""
        rows = f"{self._run.bank.n_rows:,} rows"
        if self.path is None:
            return f"Stopped after {rows}. Nothing is saved without --state."
        if not self.path.exists():
            return f"Stopped before the first batch. Nothing is saved in {self.path} yet."
        more = [a for a in arguments if a not in ("--force", "--resume")] + ["--resume"]
        if self._run.batches.total_bytes is None and "--accept-changed-input" not in more:
            more.append("--accept-changed-input")  # a pipe cannot be compared
        again = shlex.join(["driftsieve", *more])
        return f"Stopped after {rows}, which are saved in {self.path}. To continue: {again}"


def checkpoint_of(
    path: Path, *, resume: bool, force: bool, n_threads: int | None
) -> Checkpoint | None:
    """Return the checkpoint to resume, or None; keep an existing one without ``force``."""
    atomic.check(path)
    if not path.exists():
        if resume:
            say(f"{path} does not exist yet. Starting at the first row.")
    elif resume:
        atomic.remove_stale(path)
        try:
            return Checkpoint.load(path, n_threads=n_threads)
        except ValueError as error:
            raise CommandError(f"{path} cannot be resumed: {error}") from error
    elif not force:
        raise CommandError(
            f"--state must be a new file, got {path}, which exists. Pass --resume to continue from "
            "it, or --force to replace it."
        )
    atomic.remove_stale(path)
    return None
