"""Loaders of the real data sets, given the folder of the `data_dir` fixture: X and labels."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse
from sklearn.datasets import load_svmlight_file

Labels = NDArray[np.int64]
URL_FEATURES = 3_231_961


def madelon(data: Path) -> tuple[NDArray[np.float64], Labels]:
    """2600 x 500, dense: training, then validation rows."""
    parts = [_file(data, f"madelon/madelon_{part}.data.gz") for part in ("train", "valid")]
    X = np.vstack([np.loadtxt(part) for part in parts])
    return X, _labels(data, "madelon")


def dexter(data: Path) -> tuple[sparse.csr_array, Labels]:
    """600 x 20000, sparse counts: training, then validation rows."""
    rows, columns, values = [], [], []
    n_rows = 0
    for part in ("train", "valid"):
        with gzip.open(_file(data, f"dexter/dexter_{part}.data.gz"), "rt") as lines:
            for line in lines:
                for entry in line.split():
                    column, value = entry.split(":")
                    rows.append(n_rows)
                    columns.append(int(column) - 1)
                    values.append(float(value))
                n_rows += 1
    X = sparse.csr_array((values, (rows, columns)), shape=(n_rows, 20_000))
    return X, _labels(data, "dexter")


def dorothea(data: Path) -> tuple[sparse.csr_array, Labels]:
    """1150 x 100000, sparse and binary."""
    return _csr(data, "dorothea"), np.load(_file(data, "dorothea/y.npy")).astype(np.int64)


def spam(data: Path) -> tuple[sparse.csr_array, Labels]:
    """9324 x 39916, sparse, in the order of time, drifting."""
    return _csr(data, "spam"), np.load(_file(data, "spam/y.npy")).astype(np.int64)


def news20_dated(data: Path) -> tuple[sparse.csr_array, Labels, dict[str, NDArray[Any]]]:
    """19996 x 557510, sparse and binary, 20 groups, in the order of `meta["timestamp"]`."""
    with np.load(_file(data, "news20_dated/meta.npz")) as archive:
        meta = dict(archive)
    return _csr(data, "news20_dated"), meta["y"].astype(np.int64), meta


def url_dense(data: Path) -> tuple[NDArray[np.float64], Labels]:
    """3000 x 299, dense, the first day."""
    table = np.loadtxt(_file(data, "url/Day0_dense_3000x299.csv.gz"), delimiter=",")
    return np.ascontiguousarray(table[:, 1:]), table[:, 0].astype(np.int64)


def url_mini(data: Path, day: int) -> tuple[sparse.csr_array, Labels]:
    """Some rows of one day (0 to 5), all 3.2 million sparse columns."""
    path = _file(data, f"url/Day{day}_mini.svm.gz")
    X, y = load_svmlight_file(str(path), n_features=URL_FEATURES, zero_based=False)
    return sparse.csr_array(X), y.astype(np.int64)


def elec2(data: Path) -> tuple[NDArray[np.float64], Labels, tuple[str, ...]]:
    """45312 x 6, dense, in the order of time, drifting; and the names of the columns."""
    path = _file(data, "elec2/elec2.csv.gz")
    with gzip.open(path, "rt") as lines:
        names = tuple(next(lines).strip().split(","))
        table = np.loadtxt(lines, delimiter=",")
    return np.ascontiguousarray(table[:, :-1]), table[:, -1].astype(np.int64), names[:-1]


def _file(data: Path, name: str) -> Path:
    path = data / name
    if not path.exists():
        pytest.skip(f"the data set {name} is not in {data}")
    return path


def _csr(data: Path, name: str) -> sparse.csr_array:
    return sparse.csr_array(sparse.load_npz(_file(data, f"{name}/X_csr.npz")))


def _labels(data: Path, name: str) -> Labels:
    parts = [_file(data, f"{name}/{name}_{part}.labels") for part in ("train", "valid")]
    return np.concatenate([np.loadtxt(part, dtype=np.int64) for part in parts])
