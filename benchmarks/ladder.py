"""Nine half-lives in one pass compared with one: time and state of dense and sparse rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.dense import bank, labels
from benchmarks.harness import Goal, Row, Task, Work
from benchmarks.peers import Labels

LADDER = [*(250.0 * 2**i for i in range(8)), None]
BATCH = 1000  # rows; the state then has the room for an incomplete block
TIME, STATE = 2.5, 3.0  # the most that nine half-lives may cost, relative to one


def works(quick: bool) -> Iterator[Work]:
    rng = np.random.default_rng(0)
    # whole blocks at one half-life; at nine, only the rows that wait are left
    n, p = (600, 16) if quick else (25_600, 500)
    yield work("continuous columns", rng.normal(size=(n, p)), labels(rng, n))
    yield work("moments alone", rng.normal(size=(n, p)), labels(rng, n), quantiles=False)
    n, p = (600, 200) if quick else (16_000, 20_000)
    values = sparse.random_array((n, p), density=0.003, rng=rng, format="csr")
    yield work("sparse values", values, labels(rng, n))
    flags = values.copy()
    flags.data[:] = 1.0
    yield work("sparse flags", flags, labels(rng, n))


def work(name: str, X: Any, y: Labels, **options: Any) -> Work:
    count = X.nnz if sparse.issparse(X) else X.size

    def fed(half_life: Any) -> Any:
        return bank(half_life=half_life, **options).update(X, y)

    def fed_in_batches(half_life: Any) -> Any:
        filled = bank(half_life=half_life, **options)
        for i in range(0, len(y), BATCH):
            filled.update(X[i : i + BATCH], y[i : i + BATCH])
        return filled

    tasks = {
        "nine half-lives": Task(lambda: fed(LADDER), count),
        "one half-life": Task(lambda: fed(4000.0), count),
        "reading nine": Task(lambda state: state.snapshots(), count, prepare=lambda: fed(LADDER)),
        "reading one": Task(lambda state: state.snapshots(), count, prepare=lambda: fed(4000.0)),
    }
    goals = (
        Goal("nine half-lives", "one half-life", at_most=TIME),
        Goal("reading nine", "reading one"),
    )

    def state() -> list[Row]:
        ratio = fed_in_batches(LADDER).nbytes / fed_in_batches(4000.0).nbytes
        title = f"ladder {name}: state of nine half-lives to that of one, after many batches"
        return [Row(title, ratio, "×", goal=f"≤ {STATE:g}", met=ratio <= STATE)]

    return Work(f"ladder {name}", tasks, goals, facts=state)
