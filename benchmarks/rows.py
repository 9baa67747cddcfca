"""Work E of the goals: one row at a time, through the public interface."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

import numpy as np

import driftsieve as ds
from benchmarks import peers
from benchmarks.dense import bank, labels, stream
from benchmarks.harness import Goal, Task, Work
from benchmarks.peers import Floats, Labels


def works(quick: bool) -> Iterator[Work]:
    rng = np.random.default_rng(2)
    n, p = (40, 20) if quick else (16000, 1000)
    X = rng.normal(size=(n, p))
    yield one_by_one(X, labels(rng, n))


def one_by_one(X: Floats, y: Labels) -> Work:
    narrow = X.astype(np.float32)  # what the vector of KLL takes
    few = 200  # river's own takes milliseconds a row
    dicts: list[dict[Hashable, float]] = [dict(enumerate(row)) for row in X[:2000].tolist()]

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
        "river transformer, T": Task(
            lambda: learn(dicts, y, "t"), len(dicts) * X.shape[1], "driftsieve.river"
        ),
        "river transformer, MI": Task(
            lambda: learn(dicts, y, "mutual_info"), len(dicts) * X.shape[1], "driftsieve.river"
        ),
        "river SelectKBest": Task(
            lambda: peers.river_rows(dicts[:few], y[:few]), few * X.shape[1], "river"
        ),
    }
    goals = (
        Goal("moments", "numpy Welford", at_least=2),
        Goal("summaries, ε = 0.001", "vector of KLL, ε = 0.001", at_least=5),
        Goal("summaries, ε = 0.01", "vector of KLL, ε = 0.01", at_least=5),
        Goal("everything, ε = 0.001", "river SelectKBest", at_least=500),
        Goal("river transformer, T", "river SelectKBest", at_least=500),
        Goal("river transformer, MI", "river SelectKBest", at_least=500),
    )
    return Work("E", tasks, goals)


def learn(rows: list[dict[Hashable, float]], y: Labels, score: str) -> object:
    from driftsieve.river import FeatureScreener

    transformer = FeatureScreener(score)
    for row, c in zip(rows, y.tolist(), strict=False):
        transformer.learn_one(row, c)
    return transformer
