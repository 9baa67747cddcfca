"""The default half-lives that a learned memory chooses from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import timedelta

N_RUNGS = 8
SHORTEST_ROWS = 250.0
SHORTEST_BATCHES = 1.0


def doubling(shortest: float) -> tuple[float, ...]:
    """Return eight half-lives, each twice the one before, and no fading.

    >>> doubling(250.0)
    (250.0, 500.0, 1000.0, 2000.0, 4000.0, 8000.0, 16000.0, 32000.0, inf)
    """
    return (*(shortest * 2**i for i in range(N_RUNGS)), math.inf)


UNKNOWN = doubling(2.0**900)
"""Half-lives of a bank that has rows before they are known: so long that nothing fades."""


def default_rungs(clock: str) -> tuple[float, ...] | None:
    """Return the half-lives for a clock of rows or batches; None for times, without a unit."""
    if clock == "time":
        return None
    return doubling(SHORTEST_ROWS if clock == "row" else SHORTEST_BATCHES)


def rungs_of_times(span: float, n_rows: int) -> tuple[float, ...]:
    """Return half-lives in time that are about as many rows as those of the row clock.

    ``span`` is the time from the first to the last of ``n_rows`` rows; if it is 0, the shortest
    half-life is 1.

    >>> rungs_of_times(999.0, 1000)[:3]
    (250.0, 500.0, 1000.0)
    """
    return doubling(SHORTEST_ROWS * span / max(n_rows - 1, 1) or 1.0)


def as_durations(rungs: Sequence[float]) -> list[timedelta | None]:
    """Return half-lives in seconds as durations, which dates need.

    >>> as_durations([90.0, math.inf])
    [datetime.timedelta(seconds=90), None]
    """
    return [timedelta(seconds=h) if math.isfinite(h) else None for h in rungs]
