"""An epoch over news20_dated: SparseFSA against scikit-learn's SGDClassifier, on one thread.

Run with DRIFTSIEVE_DATA set to the folder that holds the data set.
"""

import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import SGDClassifier

from driftsieve.learners import SparseFSA

ROUNDS = 5
EPOCHS = 6
GOAL = 2.0


def seconds(make: Callable[[int], Any], X: Any, y: Any, n_epochs: int) -> float:
    model = make(n_epochs)
    start = time.thread_time()  # of the processor: the machine may have other work
    model.fit(X, y)
    return time.thread_time() - start


def main() -> None:
    folder = Path(os.environ.get("DRIFTSIEVE_DATA", "")) / "news20_dated"
    if not folder.is_dir():
        raise SystemExit("Set DRIFTSIEVE_DATA to the folder that holds news20_dated.")
    X = sparse.csr_array(sparse.load_npz(folder / "X_csr.npz")).astype(np.float64)
    with np.load(folder / "meta.npz") as meta:
        y = np.array([g.startswith(("comp.", "sci.")) for g in meta["groups"]])[meta["y"]]
    p = X.shape[1]
    makers: dict[str, Callable[[int], Any]] = {
        "SGDClassifier": lambda n: SGDClassifier(loss="log_loss", max_iter=n, tol=None),
        # No features are dropped, so every epoch takes as long as the first.
        "SparseFSA, all features": lambda n: SparseFSA(p, n_epochs=n),
        "SparseFSA, lorenz, all features": lambda n: SparseFSA(p, loss="lorenz", n_epochs=n),
        "SparseFSA, momentum 0.9": lambda n: SparseFSA(p, n_epochs=n, momentum=0.9),
        "SparseFSA, batches of 1": lambda n: SparseFSA(p, n_epochs=n, batch_size=1),
    }
    annealed = "SparseFSA, k = 1000, mean of 100"
    times: dict[str, list[float]] = {name: [] for name in (*makers, annealed)}
    for _ in range(ROUNDS):
        for name, make in makers.items():
            # Time that an epoch adds to a fit; the rest is checks and conversions.
            more, one = seconds(make, X, y, EPOCHS), seconds(make, X, y, 1)
            times[name].append((more - one) / (EPOCHS - 1))
        times[annealed].append(seconds(lambda n: SparseFSA(1000, n_epochs=n), X, y, 100) / 100)
    base = statistics.median(times["SGDClassifier"])
    print(f"{'an epoch':<34}{'ms':>8}{'ratio':>8}{'goal':>7}  met")
    for name, taken in times.items():
        ratio = statistics.median(taken) / base
        print(f"{name:<34}{1e3 * ratio * base:>8.1f}{ratio:>8.2f}{GOAL:>7}  {ratio <= GOAL}")


if __name__ == "__main__":
    main()
