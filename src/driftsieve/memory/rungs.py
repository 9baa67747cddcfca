"""The ladder of half-lives that memories are chosen from, where the caller gives none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import timedelta

N_RUNGS = 8
SHORTEST_ROWS = 250.0
SHORTEST_BATCHES = 1.0


def doubling(shortest: float) -> tuple[float, ...]:
    """Eight half-lives, each twice the one before, and no forgetting.

    >>> doubling(250.0)
    (250.0, 500.0, 1000.0, 2000.0, 4000.0, 8000.0, 16000.0, 32000.0, inf)
    """
    return (*(shortest * 2**i for i in range(N_RUNGS)), math.inf)


def default_rungs(clock: str) -> tuple[float, ...] | None:
    """Those of a clock that counts rows or batches; None for times, which have no unit yet."""
    if clock == "time":
        return None
    return doubling(SHORTEST_ROWS if clock == "row" else SHORTEST_BATCHES)


def rungs_of_times(span: float, n_rows: int) -> tuple[float, ...]:
    """Half-lives in time that are about as many rows as those of the row clock.

    ``span`` is the time from the first to the last of ``n_rows`` rows; where it is 0, the shortest
    half-life is 1.

    >>> rungs_of_times(999.0, 1000)[:3]
    (250.0, 500.0, 1000.0)
    """
    return doubling(SHORTEST_ROWS * span / max(n_rows - 1, 1) or 1.0)


def as_durations(rungs: Sequence[float]) -> list[timedelta | None]:
    """Half-lives in seconds for dates, which need durations.

    >>> as_durations([90.0, math.inf])
    [datetime.timedelta(seconds=90), None]
    """
    return [timedelta(seconds=h) if math.isfinite(h) else None for h in rungs]
