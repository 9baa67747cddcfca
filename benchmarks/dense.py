"""Works A and B of the goals, and A on data that are not bell-shaped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import driftsieve as ds
from benchmarks import peers
from benchmarks.harness import Goal, Row, Task, Work
from benchmarks.peers import BATCH, Floats, Labels

HALF_LIFE = 4000.0


def bank(**options: Any) -> ds.Bank:
    return ds.Bank(**{"n_threads": 1, **options})


def stream(state: ds.Bank, X: Any, y: Labels, batch: int = BATCH) -> ds.Bank:
    for i in range(0, X.shape[0], batch):
        state.update(X[i : i + batch], y[i : i + batch])
    return state


def labels(rng: np.random.Generator, n: int) -> Labels:
    return rng.integers(0, 2, n)


def works(quick: bool) -> Iterator[Work]:
    rng = np.random.default_rng(0)
    n, p = (600, 24) if quick else (16000, 2000)
    X, y = rng.normal(size=(n, p)), labels(rng, n)
    yield moments(X, y)
    yield summaries(X, y)
    yield snapshots(X, y)
    X = rng.normal(size=(60, 40) if quick else (600, 20000))
    yield exact(X, labels(rng, len(X)))
    shape = (600, 16) if quick else (16000, 500)
    for name, draw in SKEWED.items():
        yield skewed(name, draw(rng, shape), labels(rng, shape[0]))


def moments(X: Floats, y: Labels) -> Work:
    tasks = {
        "in place": Task(lambda: bank(quantiles=False).update(X, y), X.size),
        "two threads": Task(
            lambda: bank(quantiles=False, n_threads=2).update(X, y), X.size, threads=2
        ),
        "250-row batches": Task(lambda: stream(bank(quantiles=False), X, y), X.size),
        "read": Task(lambda: peers.read(X), X.size),
        "GaussianNB.partial_fit": Task(lambda: peers.gaussian_nb(X, y), X.size),
        "polars": Task(
            peers.polars_moments, X.size, "polars", prepare=lambda: peers.polars_frame(X, y)
        ),
        "f_classif": Task(lambda: peers.f_classif(X, y), X.size),
    }
    goals = (
        Goal("in place", "read", at_most=2.5),
        Goal("in place", "GaussianNB.partial_fit", at_least=7),
        Goal("two threads", "in place", at_least=1.5, wall=True, reported=True),
        Goal("in place", "polars"),
        Goal("in place", "f_classif"),
        Goal("250-row batches", "GaussianNB.partial_fit"),
    )
    return Work("A moments", tasks, goals)


def summaries(X: Floats, y: Labels) -> Work:
    columns = np.ascontiguousarray(X.T)
    parts = peers.by_class(columns, y)
    fading = {"epsilon": 0.001, "half_life": HALF_LIFE}

    def tasks_of(name: str, **options: Any) -> dict[str, Task]:
        two = {**options, "n_threads": 2}
        return {
            f"{name} in place": Task(lambda: bank(**options).update(X, y), X.size),
            f"{name} in place, snapshot": Task(
                lambda: bank(**options).update(X, y).snapshot(), X.size
            ),
            f"{name} in place, two threads": Task(
                lambda: bank(**two).update(X, y), X.size, threads=2
            ),
            f"{name} stream": Task(lambda: stream(bank(**options), X, y), X.size),
            f"{name} stream, snapshot": Task(
                lambda: stream(bank(**options), X, y).snapshot(), X.size
            ),
            f"{name} stream, two threads": Task(
                lambda: stream(bank(**two), X, y), X.size, threads=2
            ),
        }

    tasks = {
        **tasks_of("ε = 0.001", epsilon=0.001),
        **tasks_of("ε = 0.01", epsilon=0.01),
        "fading, in place": Task(lambda: bank(**fading).update(X, y), X.size),
        "fading, stream": Task(lambda: stream(bank(**fading), X, y), X.size),
        "read": Task(lambda: peers.read(X), X.size),
        "np.sort": Task(lambda: np.sort(columns, axis=1), X.size),
        "np.partition": Task(lambda: np.partition(columns, fifths(len(X)), axis=1), X.size),
        "KLL": Task(lambda: peers.kll(parts, 0.001), X.size, "datasketches"),
        "xgboost": Task(lambda: peers.xgboost_bins(X, y), X.size, "xgboost"),
    }
    goals = (
        Goal("ε = 0.001 in place", "read", at_most=9),
        Goal("ε = 0.001 in place", "np.sort", at_least=14),
        Goal("ε = 0.001 in place", "KLL", at_least=20),
        Goal("ε = 0.001 in place", "xgboost", at_least=70),
        Goal("ε = 0.001 in place", "np.partition"),
        Goal("ε = 0.001 in place, two threads", "ε = 0.001 in place", at_least=1.7, wall=True),
        Goal("ε = 0.001 in place, snapshot", "np.sort"),
        Goal("ε = 0.001 stream", "read", at_most=20),
        Goal("ε = 0.001 stream", "np.sort", at_least=6),
        Goal("ε = 0.001 stream", "KLL", at_least=10),
        Goal("ε = 0.001 stream, two threads", "ε = 0.001 stream", wall=True),
        Goal("ε = 0.001 stream, snapshot", "np.sort"),
        Goal("ε = 0.01 stream", "read", at_most=17),
        Goal("ε = 0.01 stream, two threads", "ε = 0.01 stream", wall=True),
        Goal("ε = 0.01 stream, snapshot", "np.sort"),
        Goal("ε = 0.01 in place", "np.sort"),
        Goal("fading, in place", "ε = 0.001 in place", at_most=1.5),
        Goal("fading, stream", "ε = 0.001 stream", at_most=1.5),
    )
    return Work("A", tasks, goals, facts=lambda: state_of(X, y, parts))


def fifths(n: int) -> list[int]:
    return [n * i // 5 for i in range(1, 5)]


def state_of(X: Floats, y: Labels, parts: list[Floats]) -> list[Row]:
    """Bytes a feature, the most there were at any moment of the stream."""

    def row(name: str, size: float, most: float | None = None, note: str = "") -> Row:
        kilobytes = size / 1000 / X.shape[1]
        goal = "" if most is None else f"≤ {most:g} KB/feature"
        met = None if most is None else kilobytes <= most
        return Row(f"A state: {name}", kilobytes, "KB/feature", goal=goal, met=met, note=note)

    def largest(epsilon: float) -> int:
        state = bank(epsilon=epsilon)
        parts = (slice(i, i + BATCH) for i in range(0, len(X), BATCH))
        return max(state.update(X[part], y[part]).nbytes for part in parts)

    return [
        row("ε = 0.001 stream", largest(0.001), 100),
        row("ε = 0.01 stream", largest(0.01), 20),
        row("ε = 0.001 in place", bank(epsilon=0.001).update(X, y).nbytes),
        row("two-valued features", bank(epsilon=0.001).update((X > 0) * 1.0, y).nbytes),
        row("the data themselves", X.nbytes),
        kll_state(parts, X.shape[1]),
    ]


def kll_state(parts: list[Floats], p: int) -> Row:
    task = Task(lambda: None, 1, "datasketches")
    if why := task.absent():
        return Row("A state: KLL, as bytes", None, "KB/feature", note=why)
    size = sum(len(sketch.serialize()) for sketch in peers.kll(parts, 0.001))
    return Row("A state: KLL, as bytes", size / 1000 / p, "KB/feature")


def snapshots(X: Floats, y: Labels) -> Work:
    states = {
        "ε = 0.001 in place": bank(epsilon=0.001).update(X, y),
        "ε = 0.001 stream": stream(bank(epsilon=0.001), X, y),
    }
    tasks = {
        f"snapshot + score, {name}": Task(
            lambda state=state: ds.scores.mutual_info(state.snapshot()), X.shape[1]
        )
        for name, state in states.items()
    }
    goals = tuple(Goal(name, 10.0) for name in tasks)
    return Work("A", tasks, goals, unit="µs/feature", per_second=1e6)


def exact(X: Floats, y: Labels) -> Work:
    columns = np.ascontiguousarray(X.T)
    cuts = fifths(len(X))
    tasks = {
        "5 exact bins": Task(lambda: bank(epsilon=0.001).update(X, y).snapshot(), X.size),
        "update alone": Task(lambda: bank(epsilon=0.001).update(X, y), X.size),
        "read": Task(lambda: peers.read(X), X.size),
        "np.sort": Task(lambda: np.sort(columns, axis=1), X.size),
        "np.partition": Task(lambda: np.partition(columns, cuts, axis=1), X.size),
        "np.sort, axis 0": Task(lambda: np.sort(X, axis=0), X.size),
        "np.partition, axis 0": Task(lambda: np.partition(X, cuts, axis=0), X.size),
        "xgboost": Task(lambda: peers.xgboost_bins(X, y), X.size, "xgboost"),
    }
    goals = (
        Goal("5 exact bins", "read", at_most=15),
        Goal("5 exact bins", tuple(name for name in tasks if name[:3] == "np."), at_least=6),
        Goal("5 exact bins", "xgboost"),
        Goal("update alone", "read"),
    )
    return Work("B", tasks, goals, facts=lambda: [same_as_offline(X, y)])


def same_as_offline(X: Floats, y: Labels) -> Row:
    ours, theirs = bank(epsilon=0.001).update(X, y).snapshot(), ds.offline.snapshot(X, y)
    same = all(
        np.array_equal(getattr(ours, name), getattr(theirs, name))
        for name in ("bin_weights", "edges")
    )
    verdict = "identical" if same else "different"
    return Row("B: bins and edges", verdict, "", "offline", goal="identical", met=same)


Draw = Callable[[np.random.Generator, tuple[int, int]], Floats]
SKEWED: dict[str, Draw] = {
    "lognormal": lambda rng, shape: rng.lognormal(size=shape),
    "Cauchy": lambda rng, shape: rng.standard_cauchy(shape),
    "half zeros": lambda rng, shape: rng.normal(size=shape) * (rng.random(shape) < 0.5),
    "heavy atoms": lambda rng, shape: np.where(
        rng.random(shape) < 0.6, rng.integers(0, 5, shape) / 2.0, rng.normal(size=shape)
    ),
    "small integers": lambda rng, shape: rng.poisson(20.0, shape).astype(np.float64),
    "large integers": lambda rng, shape: np.round(rng.lognormal(6.0, 1.5, shape)),
}


def skewed(name: str, X: Floats, y: Labels) -> Work:
    columns = np.ascontiguousarray(X.T)
    tasks = {
        "in place": Task(lambda: bank(epsilon=0.001).update(X, y), X.size),
        "stream": Task(lambda: stream(bank(epsilon=0.001), X, y), X.size),
        "np.sort": Task(lambda: np.sort(columns, axis=1), X.size),
    }
    goals = (
        Goal("in place", "np.sort", at_least=2.5),
        Goal("stream", "np.sort", at_least=2.5),
    )
    return Work(f"A, {name}", tasks, goals)
