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

FEATURES, ROUNDS = 1000, 7
BLOCK = 2000  # rows of one measurement of ours: 15 times what waits in the buffer


def seconds(transformer: Any, rows: list[dict[str, float]], n: int) -> float:
    """CPU time of a row, learned from and then transformed."""
    labels = [i % 3 == 0 for i in range(n)]
    start = time.process_time()
    for i, y in enumerate(labels):
        x = rows[i % len(rows)]
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
    slowest = statistics.median(taken["river SelectKBest"])
    print(f"one row of {FEATURES} features, learned and transformed; median of {ROUNDS} rounds")
    for name, times in taken.items():
        median = statistics.median(times)
        print(f"{name:20} {median * 1e6:9.2f} µs   {slowest / median:6.0f} x")


if __name__ == "__main__":
    main()
