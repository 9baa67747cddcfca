"""Makes the golden banks of the present version: run once per version, never again after.

python tests/golden/make.py
"""

from pathlib import Path

import numpy as np
from scipy import sparse

import driftsieve as ds
from driftsieve.batch import Batch

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
        return Batch.of(given, y[k], sample_weight=weight[k], t=t[k], feature_names=names)

    first, second = (ds.Bank(0.05, half_life=400.0, clock="time") for _ in range(2))
    first.update_batch(batch(slice(0, 2000)))
    second.update_batch(batch(slice(2000, 2900)))
    first.merge(second)  # hands what is logged to the features
    return first.update_batch(batch(slice(2900, 3000)))


def many_classes() -> ds.Bank:
    """Thirty classes, of which a mini-bin of the first feature has one or two."""
    X, y = class_rows()
    return ds.Bank(0.05).update(X, y)


def class_rows(n: int = 1700) -> tuple[np.ndarray, np.ndarray]:
    """Values and labels for ``many_classes``: a finished block and some rows."""
    i = np.arange(n)
    y = i * 11 % 30
    return np.column_stack([40.0 * y + i * 7 % 31, i * 7919 % 1009 / 8.0]), y


BANKS = {
    "bank_v2_dense.dsv": dense,
    "bank_v2_sparse.dsv": faded_sparse,
    "bank_v2_classes.dsv": many_classes,
}

if __name__ == "__main__":
    for name, make in BANKS.items():
        FOLDER.joinpath(name).write_bytes(make().to_bytes())
