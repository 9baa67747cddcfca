"""Dense streams that other works leave out: reads after each batch, many classes, few values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import driftsieve as ds
from benchmarks.dense import bank, stream
from benchmarks.harness import Goal, Row, Task, Work
from benchmarks.peers import BATCH, Floats, Labels

HALF_LIFE = 1000.0
SMALL_BATCH = 100


def works(quick: bool) -> Iterator[Work]:
    rng = np.random.default_rng(1)
    n, p = (400, 12) if quick else (16000, 500)
    X, y = rng.normal(size=(n, p)), rng.integers(0, 2, n)
    long = n if quick else 40000  # 25 blocks
    yield reading(np.resize(X, (long, p)), np.resize(y, long))
    yield classes(X, rng)
    n, p = (400, 8) if quick else (32000, 200)
    yield few_values(rng, (n, p))
    n, p = (600, 24) if quick else (16000, 2000)
    yield threads(rng.normal(size=(n, p)), rng.integers(0, 2, n))


def reading(X: Floats, y: Labels) -> Work:
    """Milliseconds for each batch of 100 rows over a whole stream, with scores and without."""
    flags = (X > 0.5).astype(np.float64)
    n_batches = len(X) / SMALL_BATCH

    def task(data: Floats, part: str, **options: Any) -> Task:
        def run() -> None:
            state = bank(**options)
            for i in range(0, len(data), SMALL_BATCH):
                state.update(data[i : i + SMALL_BATCH], y[i : i + SMALL_BATCH])
                if part == "scored":
                    ds.scores.mutual_info(state.snapshot())

        return Task(run, n_batches)

    tasks = {
        f"{part}, {name}{', fading' if options else ''}": task(data, part, **options)
        for name, data in (("normal", X), ("flags", flags))
        for options in ({"half_life": HALF_LIFE}, {})
        for part in ("scored", "update")
    }
    # The scores of numpy alone, which no way of reading can save.
    read = bank(half_life=HALF_LIFE).update(X[:SMALL_BATCH], y[:SMALL_BATCH]).snapshot()
    tasks["scores of a snapshot"] = Task(lambda: ds.scores.mutual_info(read), 1)
    scored = [name for name in tasks if name.startswith("scored")]
    goals = (
        *(Goal(name, 2.0) for name in scored),
        *(Goal(name, name.replace("scored", "update"), at_most=2) for name in scored),
        Goal("scores of a snapshot", "update, normal, fading"),
    )
    return Work("reading after every 100 rows", tasks, goals, unit="ms/batch", per_second=1e3)


def classes(X: Floats, rng: np.random.Generator) -> Work:
    labels = {count: rng.integers(0, count, len(X)) for count in (2, 8, 26)}
    # several blocks, which are larger where there are more classes
    wide = np.tile(X[:, : max(1, X.shape[1] // 8)], (6, 1))
    many = rng.integers(0, min(500, len(wide) // 4), len(wide))
    tasks = {
        f"{count} classes{', fading' if options else ''}": Task(
            lambda y=y, options=options: bank(epsilon=0.01, **options).update(X, y), X.size
        )
        for count, y in labels.items()
        for options in ({}, {"half_life": HALF_LIFE})
    }
    for options in ({}, {"half_life": HALF_LIFE}):
        name = f"500 classes{', fading' if options else ''}"
        tasks[name] = Task(
            lambda options=options: bank(epsilon=0.01, **options).update(wide, many), wide.size
        )
    goals = tuple(
        Goal(f"{count} classes{fading}", f"2 classes{fading}", at_most=most)
        for count, most in ((8, 2), (26, 4))
        for fading in ("", ", fading")
    ) + tuple(Goal(f"500 classes{fading}", 25.0) for fading in ("", ", fading"))

    def sizes() -> list[Row]:
        found = {name: (X, y) for name, y in ((f"{c} classes", y) for c, y in labels.items())}
        found["500 classes"] = (wide, many)
        return [
            Row(
                f"many classes, state: {name}",
                bank(epsilon=0.01).update(data, y).nbytes / 1000 / data.shape[1],
                "KB/feature",
            )
            for name, (data, y) in found.items()
        ]

    return Work("many classes", tasks, goals, facts=sizes)


def few_values(rng: np.random.Generator, shape: tuple[int, int]) -> Work:
    values = rng.normal(size=2000)
    whole, real = rng.integers(0, 2000, shape).astype(np.float64), rng.choice(values, shape)
    y = rng.integers(0, 2, shape[0])
    tasks = {
        "integers": Task(lambda: bank(epsilon=0.001).update(whole, y), whole.size),
        "real numbers": Task(lambda: bank(epsilon=0.001).update(real, y), real.size),
        "real numbers, stream": Task(lambda: stream(bank(epsilon=0.001), real, y), real.size),
    }
    return Work("2000 distinct values", tasks, tuple(Goal(name, 5.0) for name in tasks))


def threads(X: Floats, y: Labels) -> Work:
    def task(batch: int, n_threads: int) -> Task:
        return Task(
            lambda: stream(bank(epsilon=0.01, n_threads=n_threads), X, y, batch),
            X.size,
            threads=n_threads,
        )

    tasks = {
        f"{name}, {n_threads} threads": task(batch, n_threads)
        for name, batch in ((f"{BATCH}-row batches", BATCH), ("in place", len(X)))
        for n_threads in (1, 2)
    }
    goals = tuple(
        Goal(f"{name}, 2 threads", f"{name}, 1 threads", wall=True)
        for name in (f"{BATCH}-row batches", "in place")
    )
    return Work("threads", tasks, goals)
