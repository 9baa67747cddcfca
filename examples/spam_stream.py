"""A screener that keeps learning against one that stopped, on a stream of mail that drifts.

9324 messages in the order of their arrival, 39916 binary features. Every screener selects k
features from the first 1000 messages. The others come in batches of 100: each is predicted, then
learned from. The fixed screener keeps its features; the others keep learning, and forget at
different rates. The classifier is the same for all, and keeps learning with all of them.

    python examples/spam_stream.py --data FOLDER

The folder (or DRIFTSIEVE_DATA) holds spam/X_csr.npz and spam/y.npy.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.linear_model import SGDClassifier

from driftsieve import FeatureScreener
from driftsieve.evaluate import prequential

START, BATCH = 1000, 100
SCREENERS: dict[str, dict[str, Any]] = {
    "fixed": {},
    "updated, never forgets": {},
    "updated, half_life=4000": {"half_life": 4000},
    "updated, half_life=1000": {"half_life": 1000},
    "updated, half_life=250": {"half_life": 250},
    'updated, half_life="auto"': {"half_life": "auto"},
}


def load(folder: Path) -> tuple[sparse.csr_array, NDArray[np.int64]]:
    """The messages and whether they are spam."""
    X = sparse.csr_array(sparse.load_npz(folder / "spam" / "X_csr.npz"))
    return X, np.load(folder / "spam" / "y.npy").astype(np.int64)


def run(X: sparse.csr_array, y: NDArray[np.int64], name: str, k: int) -> Any:
    """The frame of a prequential evaluation after the first START messages."""
    screener = FeatureScreener("chi2", k=k, output="mask", **SCREENERS[name])
    screener.fit(X[:START], y[:START])
    learner = SGDClassifier(loss="log_loss", random_state=0)
    learner.partial_fit(screener.transform(X[:START]), y[:START], classes=[0, 1])
    stream = ((X[i : i + BATCH], y[i : i + BATCH]) for i in range(START, len(y), BATCH))
    return prequential(
        stream, screener, learner, every=1000, classes=[0, 1], update_screener=name != "fixed"
    )


def accuracy(frame: Any) -> float:
    """Over all rows that were predicted: all but the first batch."""
    rows = np.diff(frame["rows"], prepend=BATCH)
    return float(np.average(frame["accuracy"], weights=rows))


def main() -> None:
    """Print the error of each screener for each k."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("DRIFTSIEVE_DATA"))
    parser.add_argument("-k", type=int, nargs="+", default=[20, 100, 500])
    arguments = parser.parse_args()
    if arguments.data is None:
        parser.error("The data are missing: pass --data FOLDER, or set DRIFTSIEVE_DATA.")
    X, y = load(arguments.data)
    print("error in percent (stability of the selection)")
    print(f"{'':26}" + "".join(f"{f'k={k}':>16}" for k in arguments.k))
    for name in SCREENERS:
        cells = []
        for k in arguments.k:
            frame = run(X, y, name, k)
            error = 100 * (1 - accuracy(frame))
            cells.append(f"{error:9.1f} ({frame['stability'].mean():.2f})")
        print(f"{name:26}" + "".join(f"{cell:>16}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
