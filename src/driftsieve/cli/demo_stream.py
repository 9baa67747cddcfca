"""A small stream whose relevant features change half way, screened in one pass."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from driftsieve.bank import Bank
from driftsieve.scores import SCORES, rank

FEATURES = (
    "temperature",
    "pressure",
    "vibration",
    "current",
    "voltage",
    "humidity",
    "speed",
    "torque",
    "noise",
    "flow",
    "load",
    "light",
)
# Features that separate faults from normal rows: two are shifted, the third has a larger spread.
BEFORE = ("temperature", "pressure", "vibration")
AFTER = ("current", "torque", "noise")


def drifting_stream(
    n_batches: int = 40, batch_size: int = 500, seed: int = 0
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.str_]]]:
    """Yield batches of sensor rows labelled ``"fault"`` or ``"normal"``, the same for each seed.

    All features are noise except those of ``BEFORE`` in the first half of the batches and those of
    ``AFTER`` in the second half.

    >>> X, y = next(drifting_stream(batch_size=4))
    >>> X.shape, y.shape
    ((4, 12), (4,))
    """
    rng = np.random.default_rng(seed)
    for batch in range(n_batches):
        X = rng.normal(size=(batch_size, len(FEATURES)))
        fault = rng.random(batch_size) < 0.3
        strong, weak, wide = (
            FEATURES.index(name) for name in (BEFORE if 2 * batch < n_batches else AFTER)
        )
        X[fault, strong] += 2.0
        X[fault, weak] += 1.0
        X[fault, wide] *= 3.0
        yield X, np.where(fault, "fault", "normal")


def screen_drifting_stream() -> tuple[Bank, NDArray[np.float64], NDArray[np.float64]]:
    """Screen the stream; return the bank and the mutual information before and after the drift."""
    batches = list(drifting_stream())
    bank = Bank(half_life=1000)
    score = SCORES["mutual_info"].function
    half = len(batches) // 2
    for X, y in batches[:half]:
        bank.update(X, y)
    before = score(bank.snapshot())
    for X, y in batches[half:]:
        bank.update(X, y)
    return bank, before, score(bank.snapshot())


def print_rankings() -> None:
    """Print the ranking before the drift and the current one."""
    bank, before, after = screen_drifting_stream()
    rank_before, rank_after = rank(before, True), rank(after, True)

    table = Table(title="Which features tell a fault from normal running?")
    table.add_column("feature")
    for column in ("rank before", "score before", "rank now", "score now"):
        table.add_column(column, justify="right")
    for j in np.argsort(rank_after):
        relevant = FEATURES[j] in BEFORE + AFTER
        table.add_row(
            FEATURES[j],
            str(rank_before[j]),
            f"{before[j]:.4f}",
            str(rank_after[j]),
            f"{after[j]:.4f}",
            style="bold" if relevant else "dim",
        )

    console = Console()
    console.print(table)
    console.print(
        f"{bank.n_rows:,} rows in one pass, half-life 1,000 rows, {bank.nbytes / 1024:,.0f} KiB of "
        f"state. Score: mutual information in five quantile bins.\n"
        f"The first half was driven by {', '.join(BEFORE)}; the second by {', '.join(AFTER)}."
    )


if __name__ == "__main__":
    print_rankings()
