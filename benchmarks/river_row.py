"""One row at a time, as a dictionary of 1000 features: learn_one and transform_one.

Beside river's SelectKBest, which keeps Pearson correlations and so compares with T and Fisher.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable
from typing import Any

from driftsieve.river import FeatureScreener

FEATURES, ROUNDS, GOAL = 1000, 21, 500
BLOCK = 1024  # rows of one measurement of ours: the selection is renewed once


def seconds(transformer: Any, rows: list[dict[str, float]], n: int) -> float:
    """CPU time of a row, learned from and then transformed."""
    stream = [(rows[i % len(rows)], i % 3 == 0) for i in range(n)]
    for x, y in stream[: n // 10]:  # what ran before has left other things in the caches
        transformer.learn_one(x, y)
        transformer.transform_one(x)
    start = time.process_time()
    for x, y in stream:
        transformer.learn_one(x, y)
        transformer.transform_one(x)
    return (time.process_time() - start) / n


def main() -> None:
    from river import feature_selection, stats

    random.seed(0)
    names = [f"f{j}" for j in range(FEATURES)]
    rows = [{name: random.gauss(0, 1) for name in names} for _ in range(20)]
    peers: dict[str, tuple[Callable[[], Any], int]] = {
        "river SelectKBest": (
            lambda: feature_selection.SelectKBest(stats.PearsonCorr(), k=10),
            len(rows),
        ),
        "t": (lambda: FeatureScreener("t", k=10), BLOCK),
        "t, half_life=500": (lambda: FeatureScreener("t", k=10, half_life=500), BLOCK),
        "mutual_info": (lambda: FeatureScreener("mutual_info", k=10), BLOCK),
    }
    transformers = {name: make() for name, (make, _) in peers.items()}
    for name, transformer in transformers.items():
        seconds(transformer, rows, peers[name][1])  # the beginning, when selections are renewed
    taken: dict[str, list[float]] = {name: [] for name in peers}
    for _ in range(ROUNDS):
        for name, transformer in transformers.items():
            taken[name].append(seconds(transformer, rows, peers[name][1]))
    print(f"one row of {FEATURES} features, learned and transformed: CPU time, {ROUNDS} rounds")
    print(f"{'':20} {'median':>10} {'':>8} {'best':>10} {'':>8}")
    peer = taken["river SelectKBest"]
    for name, times in taken.items():
        print(f"{name:20}", end="")
        for typical in (statistics.median, min):
            ratio = typical(peer) / typical(times)
            print(f" {typical(times) * 1e6:7.2f} µs {ratio:6.0f} x", end="")
        print()
    print(f"goal: {GOAL} x for t")


if __name__ == "__main__":
    main()
