"""Makes the golden files of the present version; what there is already stays as it is.

python tests/golden/make.py
"""

from pathlib import Path

import numpy as np
from scipy import sparse

import driftsieve as ds
from driftsieve._storage.envelope import VERSION
from driftsieve._storage.fingerprint import Seen
from driftsieve.batch import Batch
from driftsieve.cli.checkpoint import Checkpoint, Place
from driftsieve.history import ScoreHistory
from driftsieve.memory import LearnedBank

FOLDER = Path(__file__).parent


def rows(n: int = 3000) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Values, labels, weights and times, from integers alone: the same on every machine."""
    i = np.arange(n)
    label = i * i % 7 % 3
    X = np.column_stack(
        [
            (i * 7919 % 10007) / 64.0 - 40.0 + 8 * label,  # more values than stay exact
            i * 31 % 17 - 8.0,  # few values
            np.where(i % 5 == 0, (i * 613 % 101) / 8.0 + label, 0.0),  # mostly zero
            (i % 11 == label).astype(float),  # a flag
        ]
    )
    return X, np.array(["ham", "spam", "eggs"])[label], 1.0 + i % 3, (i * 37 % n).astype(float)


def dense() -> ds.Bank:
    """Two finished blocks and an open one, whole weights, missing values, integer labels."""
    X, y, weight, _ = rows(3400)
    X[::13, 1] = np.nan
    y = np.searchsorted(["eggs", "ham", "spam"], y)
    return (
        ds.Bank(0.05, missing="ignore")
        .update(X[:3300], y[:3300])
        .update(X[3300:], y[3300:], weight[3300:])
    )


def faded_sparse() -> ds.Bank:
    """Times out of order, names, strings as labels; values in summaries, pending and logged."""
    X, y, weight, t = rows()
    names = ("size", "few", "rare", "flag")

    def batch(k: slice) -> Batch:
        given = sparse.csr_array(X[k])
        return Batch.of(given, y[k], sample_weight=weight[k], time=t[k], feature_names=names)

    first, second = (ds.Bank(0.05, half_life=400.0, clock="time") for _ in range(2))
    first.update(batch(slice(0, 2000)))
    second.update(batch(slice(2000, 2900)))
    first.merge(second)  # adds logged values to the features
    return first.update(batch(slice(2900, 3000)))


def sparse_moments() -> ds.Bank:
    """Times out of order, missing values, no quantiles."""
    X, y, weight, t = rows()
    X[::17, 2] = np.nan
    bank = ds.Bank(0.05, quantiles=False, missing="ignore", half_life=400.0, clock="time")
    for k in (slice(2000), slice(2000, 3000)):
        bank.update(sparse.csr_array(X[k]), y[k], weight[k], t[k])
    return bank


def many_classes() -> ds.Bank:
    """Thirty classes, of which a mini-bin of the first feature has one or two."""
    X, y = class_rows()
    return ds.Bank(0.05).update(X, y)


def class_rows(n: int = 1700) -> tuple[np.ndarray, np.ndarray]:
    """Values and labels for ``many_classes``: a finished block and some rows."""
    i = np.arange(n)
    y = i * 11 % 30
    return np.column_stack([40.0 * y + i * 7 % 31, i * 7919 % 1009 / 8.0]), y


HALF_LIVES = (100.0, 400.0, float("inf"))


def ladder() -> ds.Bank:
    """Three half-lives of dense rows, whole weights, rows of an incomplete block."""
    X, y, weight, _ = rows()
    return ds.Bank(0.05, half_life=HALF_LIVES).update(X, y, weight)


def sparse_ladder() -> ds.Bank:
    """Three half-lives of sparse rows whose times are out of order."""
    X, y, weight, t = rows()
    bank = ds.Bank(0.05, half_life=HALF_LIVES, clock="time")
    for k in (slice(2000), slice(2000, 3000)):
        bank.update(sparse.csr_array(X[k]), y[k], weight[k], t[k])
    return bank


def learned() -> LearnedBank:
    """Dense rows with reviews, and rows since the last one."""
    X, y, weight, _ = rows(2900)
    return LearnedBank("fisher", half_life=HALF_LIVES, epsilon=0.05).update(X, y, weight)


def screener() -> ds.FeatureScreener:
    """Faded rows, a class that was declared and never came, parameters that are not the usual."""
    X, y, weight, _ = rows()
    made = ds.FeatureScreener("fisher", k=2, half_life=700.0, epsilon=0.05, output="mask")
    classes = ["eggs", "ham", "spam", "tofu"]
    for k in (slice(1100), slice(1100, 2200)):
        made.partial_fit(X[k], y[k], classes=classes, sample_weight=weight[k])
    return made


def checkpoint() -> Checkpoint:
    """A bank, its history, skipped rows, two files (one whose name is no text) and settings."""
    X, y, _, _ = rows()
    bank, history = ds.Bank(0.05), ScoreHistory("t", k=1, every=1000)
    for begin in (0, 1000, 2000):
        bank.update(X[begin : begin + 1000], y[begin : begin + 1000])
        history.record(begin + 1000, bank.snapshot())
    files = [Seen("a.csv", 123, 123, "ab" * 32), Seen("caf\\udce9.csv", 99, 45, "cd" * 32)]
    settings = {"target": "y", "half_life": None}
    place = Place(3002, 2, ("caf\udce9.csv, line 3: no",), files, settings)
    return Checkpoint(bank, place, history)


def history() -> ScoreHistory:
    """Three records of a faded bank."""
    X, y, _, _ = rows()
    bank, made = ds.Bank(0.05, half_life=500.0), ScoreHistory("gini", k=2, every=1000)
    for begin in (0, 1000, 2000):
        bank.update(X[begin : begin + 1000], y[begin : begin + 1000])
        made.record(begin + 1000, bank.snapshot())
    return made


MAKERS = {
    "bank_dense": dense,
    "bank_sparse": faded_sparse,
    "bank_sparse_moments": sparse_moments,
    "bank_classes": many_classes,
    "bank_ladder": ladder,
    "bank_sparse_ladder": sparse_ladder,
    "learned": learned,
    "screener": screener,
    "checkpoint": checkpoint,
    "history": history,
}


def versions(name: str) -> list[Path]:
    """The golden files of that name, of every version there was."""
    return sorted(FOLDER.glob(f"v[0-9]_{name}.dsv"))


if __name__ == "__main__":
    for name, make in MAKERS.items():
        path = FOLDER / f"v{VERSION}_{name}.dsv"
        if not path.exists():
            path.write_bytes(make().to_bytes())
