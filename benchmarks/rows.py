"""Work E of the goals: one row at a time, through the public interface."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import driftsieve as ds
from benchmarks import peers
from benchmarks.dense import bank, labels, stream
from benchmarks.harness import Cost, Goal, Task, Watch, Work
from benchmarks.peers import Floats, Labels

RIVER: dict[str, dict[str, Any]] = {
    "T": {"score_func": "t"},
    "Fisher": {"score_func": "fisher"},
    "MI": {"score_func": "mutual_info"},
    "chi2": {"score_func": "chi2"},
    "Gini": {"score_func": "gini"},
    "T, one thread": {"score_func": "t", "n_threads": 1},
    "MI, one thread": {"score_func": "mutual_info", "n_threads": 1},
    "MI, fading": {"score_func": "mutual_info", "half_life": 4000.0},
}
GOALS = dict.fromkeys(("T", "Fisher", "MI", "chi2", "Gini"), 200.0)


def works(quick: bool) -> Iterator[Work]:
    rng = np.random.default_rng(2)
    # complete blocks of the transformers: rows that only wait cost little
    n, p = (40, 20) if quick else (16000, 1000)
    X = rng.normal(size=(n, p))
    yield one_by_one(X, labels(rng, n))


def one_by_one(X: Floats, y: Labels) -> Work:
    narrow = X.astype(np.float32)  # the vector of KLL needs it
    few = X[:200]  # river's own takes milliseconds a row

    def ours(**options: object) -> ds.Bank:
        return stream(bank(**options), X, y, batch=1)

    tasks = {
        "moments": Task(lambda: ours(quantiles=False), X.size),
        "summaries, ε = 0.001": Task(lambda: ours(epsilon=0.001, moments=False), X.size),
        "everything, ε = 0.001": Task(lambda: ours(epsilon=0.001), X.size),
        "summaries, ε = 0.01": Task(lambda: ours(epsilon=0.01, moments=False), X.size),
        "numpy Welford": Task(lambda: peers.welford_rows(X, y), X.size),
        "vector of KLL, ε = 0.001": Task(
            lambda: peers.kll_rows(narrow, y, 0.001), X.size, "datasketches"
        ),
        "vector of KLL, ε = 0.01": Task(
            lambda: peers.kll_rows(narrow, y, 0.01), X.size, "datasketches"
        ),
        "river SelectKBest": Task(lambda: learn(peers.select_k_best, few, y), few.size, "river"),
        **{
            f"river transformer, {name}": Task(
                lambda options=options: learn(lambda: transformer(**options), X, y),
                X.size,
                "river",
            )
            for name, options in RIVER.items()
        },
    }
    goals = (
        Goal("moments", "numpy Welford", at_least=2),
        Goal("summaries, ε = 0.001", "vector of KLL, ε = 0.001", at_least=5),
        Goal("summaries, ε = 0.01", "vector of KLL, ε = 0.01", at_least=5),
        Goal("everything, ε = 0.001", "river SelectKBest", at_least=500),
        *(
            Goal(f"river transformer, {name}", "river SelectKBest", at_least=GOALS.get(name))
            for name in RIVER
        ),
    )
    return Work("E", tasks, goals)


def transformer(**options: Any) -> Any:
    from driftsieve.river import FeatureScreener

    return FeatureScreener(**options)


def learn(make: Callable[[], Any], X: Floats, y: Labels) -> Cost:
    """Time of `learn_one` on a stream: each row is a new dictionary with new floats, made shortly
    before and not timed, under keys that are always the same strings.

    A list of rows made beforehand would be read from main memory; a few repeated rows would be read
    from the nearest cache, and their values would be atoms in every column.
    """
    model = make()
    names = [f"f{j}" for j in range(X.shape[1])]
    watch, at_once = Watch(), 8
    for i in range(0, len(X), at_once):
        rows = [dict(zip(names, row, strict=True)) for row in X[i : i + at_once].tolist()]
        with watch:
            for x, c in zip(rows, y[i : i + at_once].tolist(), strict=True):
                model.learn_one(x, c)
        del x  # freeing the last row is not timed either
    with watch:
        if hasattr(model, "_bank"):
            model._bank.flush()  # rows that wait count too
    return watch.spent
