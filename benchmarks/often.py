"""Dense streams that other works leave out: reads after each batch, many classes, few values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import driftsieve as ds
from benchmarks.dense import bank, stream
from benchmarks.harness import Goal, Row, Task, Watch, Work
from benchmarks.peers import BATCH, Floats, Labels

HALF_LIFE = 1000.0
SMALL_BATCH = 100


def works(quick: bool) -> Iterator[Work]:
    rng = np.random.default_rng(1)
    n, p = (400, 12) if quick else (16000, 500)
    X, y = rng.normal(size=(n, p)), rng.integers(0, 2, n)
    yield reading(X, y)
    yield classes(X, rng)
    n, p = (400, 8) if quick else (32000, 200)
    yield few_values(rng, (n, p))
    n, p = (600, 24) if quick else (16000, 2000)
    yield threads(rng.normal(size=(n, p)), rng.integers(0, 2, n))


def reading(X: Floats, y: Labels) -> Work:
    """Milliseconds for each batch of 100 rows."""
    flags = (X > 0.5).astype(np.float64)
    n_batches = len(X) / SMALL_BATCH

    def task(data: Floats, part: str, **options: Any) -> Task:
        def run() -> Any:
            state = bank(**options)
            update, read = Watch(), Watch()
            for i in range(0, len(data), SMALL_BATCH):
                with update:
                    state.update(data[i : i + SMALL_BATCH], y[i : i + SMALL_BATCH])
                with read:
                    ds.scores.mutual_info(state.snapshot())
            return (read if part == "read" else update).spent

        return Task(run, n_batches)

    tasks = {
        f"{part}, {name}{', fading' if options else ''}": task(data, part, **options)
        for name, data in (("normal", X), ("flags", flags))
        for options in ({"half_life": HALF_LIFE}, {})
        for part in ("read", "update")
    }
    goals = tuple(Goal(name, 2.0) for name in tasks if name.startswith("read")) + tuple(
        Goal(name, name.replace("read", "update"), at_most=2)
        for name in tasks
        if name.startswith("read")
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
