"""Loaders of the real data sets: X and labels, from the folder DRIFTSIEVE_DATA."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable, Collection, Iterator
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.io import loadmat
from sklearn.datasets import load_svmlight_file

from driftsieve.exceptions import DriftsieveError

Target = NDArray[np.int64]
URL_FEATURES = 3_231_961
_KDD12_ROWS = 16_000


class MissingDataError(DriftsieveError, FileNotFoundError):
    """A data set is not in the folder."""


def madelon(data: Path) -> tuple[NDArray[np.float64], Target]:
    """Load Madelon: 2600 x 500, dense; training, then validation rows."""
    return _dense_challenge(data, "madelon")


def gisette(data: Path) -> tuple[NDArray[np.float64], Target]:
    """Load Gisette: 7000 x 5000, dense; training, then validation rows."""
    return _dense_challenge(data, "gisette")


def dexter(data: Path) -> tuple[sparse.csr_array, Target]:
    """Load Dexter: 600 x 20000, sparse counts; training, then validation rows."""
    rows, columns, values = [], [], []
    n_rows = 0
    for part in ("train", "valid"):
        with _open(_file(data, f"dexter/dexter_{part}.data")) as lines:
            for line in lines:
                for entry in line.split():
                    column, value = entry.split(":")
                    rows.append(n_rows)
                    columns.append(int(column) - 1)
                    values.append(float(value))
                n_rows += 1
    X = sparse.csr_array((values, (rows, columns)), shape=(n_rows, 20_000))
    return X, _challenge_labels(data, "dexter")


def dorothea(data: Path) -> tuple[sparse.csr_array, Target]:
    """Load Dorothea: 1150 x 100000, sparse and binary."""
    if (data / "dorothea/X_csr.npz").exists():
        y = np.load(_file(data, "dorothea/y.npy"))
        return _csr(data, "dorothea"), y.astype(np.int64)
    columns = []
    for part in ("train", "valid"):
        with _open(_file(data, f"dorothea/dorothea_{part}.data")) as lines:
            columns += [np.array(line.split(), dtype=np.int64) - 1 for line in lines]
    indptr = np.cumsum([0, *map(len, columns)])
    indices = np.concatenate(columns)
    X = sparse.csr_array((np.ones(len(indices)), indices, indptr), shape=(len(columns), 100_000))
    return X, _challenge_labels(data, "dorothea")


def spam(data: Path) -> tuple[sparse.csr_array, Target]:
    """Load the spam stream: 9324 x 39916, sparse, ordered by time, drifting."""
    return _csr(data, "spam"), np.load(_file(data, "spam/y.npy")).astype(np.int64)


def news20_dated(data: Path) -> tuple[sparse.csr_array, Target, dict[str, NDArray[Any]]]:
    """Load 20 Newsgroups: 19996 x 557510, sparse and binary, ordered by `meta["timestamp"]`."""
    with np.load(_file(data, "news20_dated/meta.npz")) as archive:
        meta = dict(archive)
    return _csr(data, "news20_dated"), meta["y"].astype(np.int64), meta


def news20_binary(data: Path) -> tuple[sparse.csr_array, Target]:
    """Load 20 Newsgroups with the two balanced classes of Keerthi and DeCoste (2005).

    1 is sci.*, comp.* and misc.forsale, 0 the other ten groups.
    """
    X, y, meta = news20_dated(data)
    first = [str(g).startswith(("sci.", "comp.", "misc.forsale")) for g in meta["groups"]]
    return X, np.array(first, dtype=np.int64)[y]


def url_dense(data: Path) -> tuple[NDArray[np.float64], Target]:
    """Load the first day of the URL stream: 3000 x 299, dense."""
    table = np.loadtxt(_file(data, "url/Day0_dense_3000x299.csv"), delimiter=",")
    return np.ascontiguousarray(table[:, 1:]), table[:, 0].astype(np.int64)


def url_days(data: Path) -> list[tuple[sparse.csr_array, Target]]:
    """Yield each available day of the URL stream, all 3.2 million sparse columns.

    Days are complete, or else some rows of each.
    """
    for pattern in ("Day{}.svm", "Day{}_mini.svm"):
        paths = [path for day in range(121) if (path := _found(data / "url", pattern.format(day)))]
        if paths:
            return [_svmlight(str(path), URL_FEATURES) for path in paths]
    raise _missing("url/Day0.svm", data)


def kdd12(data: Path) -> tuple[sparse.csr_array, Target]:
    """Load the first 16000 rows of KDD Cup 2012, sparse and binary, with the features they have."""
    with _open(_file(data, "kdd12/kdd12")) as lines:
        head = "".join(islice(lines, _KDD12_ROWS)).encode("ascii")
    return _svmlight(BytesIO(head), 54_686_452)


def smk_can_187(data: Path) -> tuple[NDArray[np.float64], Target]:
    """Load SMK-CAN-187: 187 x 19993, dense."""
    return _mat(data, "SMK_CAN_187")


def gli_85(data: Path) -> tuple[NDArray[np.float64], Target]:
    """Load GLI-85: 85 x 22283, dense."""
    return _mat(data, "GLI_85")


def elec2(data: Path) -> tuple[NDArray[np.float64], Target, tuple[str, ...]]:
    """Load Elec2: 45312 x 6, dense, ordered by time, drifting; and the names of the columns."""
    with _open(_file(data, "elec2/elec2.csv")) as lines:
        names = tuple(next(lines).strip().split(","))
        table = np.loadtxt(lines, delimiter=",")
    return np.ascontiguousarray(table[:, :-1]), table[:, -1].astype(np.int64), names[:-1]


def table_stream(data: Path, name: str) -> tuple[NDArray[np.float64], Target]:
    """Return a dense stream of the folder `streams`, in the order of time, the label last."""
    with _open(_file(data, f"streams/{name}.csv")) as lines:
        next(lines)
        table = np.loadtxt(lines, delimiter=",")
    return np.ascontiguousarray(table[:, :-1]), table[:, -1].astype(np.int64)


Compared = tuple[str, Any, Target]
COMPARED: dict[str, Callable[[Path], tuple[Any, ...]]] = {
    "url": url_dense,
    "url_sparse": lambda data: url_days(data)[0],
    "SMK_CAN_187": smk_can_187,
    "GLI_85": gli_85,
    "dexter": dexter,
    "dorothea": dorothea,
    "gisette": gisette,
    "kdd12": kdd12,
    "madelon": madelon,
    "spam": spam,
    "elec2": elec2,
    "news20": news20_binary,
}
"""Data sets of Tables 1 to 5."""


QUICK = ("url", "dexter", "madelon")
"""The small ones."""


def at_hand(data: Path | None, names: Collection[str] = COMPARED) -> Iterator[Compared]:
    """Yield name, X and y of each data set in the folder; at least one must be there.

    Sparse columns without any value are left out, as in the paper.
    """
    folder = folder_of(data)
    found = False
    for name in names:
        try:
            X, y, *_ = COMPARED[name](folder)
        except MissingDataError:
            continue
        found = True
        if sparse.issparse(X):
            X = sparse.csr_array(X[:, np.unique(X.indices)])
        yield name, X, y
    if not found:
        raise MissingDataError(
            f"At least one of {', '.join(names)} must be in {folder}, got none. Run driftsieve "
            "reproduce --fetch."
        )


def folder_of(data: Path | None) -> Path:
    """Return the data folder; raise MissingDataError if it is not given or does not exist."""
    if data is None:
        raise MissingDataError(
            "--data must be the folder of the real data sets, got none. Pass it, or set "
            "DRIFTSIEVE_DATA."
        )
    if not data.is_dir():
        raise MissingDataError(f"The data folder must exist, got {data}.")
    return data


def _dense_challenge(data: Path, name: str) -> tuple[NDArray[np.float64], Target]:
    parts = [_file(data, f"{name}/{name}_{part}.data") for part in ("train", "valid")]
    return np.vstack([np.loadtxt(part, ndmin=2) for part in parts]), _challenge_labels(data, name)


def _challenge_labels(data: Path, name: str) -> Target:
    parts = [_file(data, f"{name}/{name}_{part}.labels") for part in ("train", "valid")]
    return np.concatenate([np.loadtxt(part, dtype=np.int64, ndmin=1) for part in parts])


def _csr(data: Path, name: str) -> sparse.csr_array:
    return sparse.csr_array(sparse.load_npz(_file(data, f"{name}/X_csr.npz")))


def _svmlight(file: str | BytesIO, n_features: int) -> tuple[sparse.csr_array, Target]:
    X, y = load_svmlight_file(file, n_features=n_features, zero_based=False)
    return sparse.csr_array(X), y.astype(np.int64)


def _mat(data: Path, name: str) -> tuple[NDArray[np.float64], Target]:
    archive = loadmat(_file(data, f"{name}/{name}.mat"))
    return archive["X"].astype(np.float64), archive["Y"].ravel().astype(np.int64)


def _found(folder: Path, name: str) -> Path | None:
    """Return the file, or its compressed version."""
    paths = (folder / f"{name}{suffix}" for suffix in ("", ".gz", ".bz2", ".xz"))
    return next((path for path in paths if path.exists()), None)


def _file(data: Path, name: str) -> Path:
    path = _found(data, name)
    if path is None:
        raise _missing(name, data)
    return path


def _missing(name: str, data: Path) -> MissingDataError:
    return MissingDataError(
        f"The data set {name} must be in {data}, got none. Run driftsieve reproduce --fetch."
    )


def _open(path: Path) -> IO[str]:
    opener: Any = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}.get(path.suffix, open)
    file: IO[str] = opener(path, "rt", encoding="ascii")
    return file
