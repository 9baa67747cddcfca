"""The progress bar: rows, rate, time left where the size is known, and the current leaders."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext

from rich.console import Console, Group, RenderableType
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from driftsieve._text import printable
from driftsieve.sources import Batches

_SHARE = 0.05  # share of the time for finding the leaders


class Quiet:
    """Shows nothing, because there is no terminal."""

    def rows_done(self, rows: int, leaders: Callable[[], Sequence[str]]) -> None:
        pass


class Bar(Progress):
    """A progress bar that reads the counts of the batches whenever it is drawn."""

    def __init__(self, batches: Batches, console: Console, rows_before: int) -> None:
        self._batches = batches
        self._rows = rows_before
        self._first: tuple[int, float] | None = None  # start of the measurement of the rate
        self._leaders = ""
        self._leaders_due = time.monotonic() + 0.5
        self._task: TaskID | None = None  # the base class draws before there is a task
        known = batches.total_bytes is not None
        ahead = [BarColumn(), TaskProgressColumn()] if known else [SpinnerColumn()]
        times = TimeRemainingColumn(compact=True) if known else TimeElapsedColumn()
        super().__init__(
            *ahead,
            TextColumn("{task.fields[rows]}"),
            times,
            console=console,
            transient=True,
            refresh_per_second=5,
        )
        self._task = self.add_task("", total=batches.total_bytes, rows="")

    def rows_done(self, rows: int, leaders: Callable[[], Sequence[str]]) -> None:
        """Show the number of screened rows; ``leaders`` finds the best features, which is slow."""
        self._rows = rows
        now = time.monotonic()
        self._first = self._first or (rows, now)
        if now >= self._leaders_due:
            self._leaders = "  ".join(f"{i}. {printable(n)}" for i, n in enumerate(leaders(), 1))
            spent = time.monotonic() - now
            self._leaders_due = now + max(1.0, spent / _SHARE)

    def get_renderables(self) -> Iterable[RenderableType]:
        if self._task is not None:
            self.update(self._task, completed=self._batches.bytes_read, rows=self._counts())
        leaders = Text(self._leaders, style="bold", no_wrap=True, overflow="ellipsis")
        yield Group(*super().get_renderables(), *([leaders] if self._leaders else []))

    def _counts(self) -> str:
        if self._first is None:
            return f"reading up to row {self._rows:,}, to go on from there" if self._rows else ""
        rows, moment = self._first
        seconds = time.monotonic() - moment
        rate = f", {(self._rows - rows) / seconds:,.0f} a second" if self._rows > rows else ""
        return f"{self._rows:,} rows{rate}"


def watching(batches: Batches, rows_before: int) -> AbstractContextManager[Bar | Quiet]:
    """Return a progress bar if standard error is a terminal, otherwise a silent one."""
    console = Console(stderr=True)
    if sys.stderr.isatty() and not console.is_dumb_terminal:
        return Bar(batches, console, rows_before)
    return nullcontext(Quiet())
