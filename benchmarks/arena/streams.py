"""The streams: labelled rows of two classes in the order of time."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.io import arff

from driftsieve.reproduce.datasets import (
    MissingDataError,
    elec2,
    news20_dated,
    spam,
    table_stream,
)
from driftsieve.reproduce.memory_real import swap100

BATCH = 100
Rows = tuple[Any, NDArray[np.int64]]


@dataclass(frozen=True)
class Stream:
    """Rows, dense float64 or CSR, labels 0 and 1, and how many features are to be selected."""

    name: str
    k: int
    X: Any
    y: NDArray[np.int64]

    @classmethod
    def of(cls, name: str, k: int, X: Any, y: NDArray[np.int64]) -> Stream:
        X = sparse.csr_array(X) if sparse.issparse(X) else X
        return cls(name, k, X.astype(np.float64), y.astype(np.int64))

    @property
    def is_binary(self) -> bool:
        values = self.X.data if sparse.issparse(self.X) else self.X
        return bool(np.isin(values, (0.0, 1.0)).all())

    def batches(self) -> Iterator[Rows]:
        for start in range(0, len(self.y), BATCH):
            rows = slice(start, start + BATCH)
            yield self.X[rows], self.y[rows]

    def head(self, n_rows: int) -> Stream:
        return Stream(self.name, self.k, self.X[:n_rows], self.y[:n_rows])


def _arff(data: Path, name: str) -> Rows:
    """Rows of numbers and of texts of numbers, the label last."""
    path = data / "streams" / f"{name}.arff.gz"
    if not path.exists():
        raise MissingDataError(f"The data set streams/{name}.arff.gz is not in {data}.")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        records, _ = arff.loadarff(lines)
    table = np.array([[float(value) for value in row] for row in records.tolist()])
    return table[:, :-1], table[:, -1].astype(np.int64)


def _spambase(data: Path) -> Rows:
    """In random order: the file has one class after the other."""
    X, y = _arff(data, "spambase")
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order]


def _news20(data: Path) -> Rows:
    """Groups rec.* and sci.* against the others."""
    X, y, meta = news20_dated(data)
    wanted = [str(group).startswith(("rec.", "sci.")) for group in meta["groups"]]
    return X, np.array(wanted, dtype=np.int64)[y]


def _commonest(load: Callable[[Path], Rows], n_columns: int, data: Path) -> Rows:
    """The columns with the most non-zeros, as if they had been known before the first row."""
    X, y = load(data)
    counts = np.bincount(X.indices, minlength=X.shape[1])
    return X[:, np.sort(np.argsort(-counts, kind="stable")[:n_columns])], y


def _swap100(_data: Path | None) -> Rows:
    stream = swap100()
    return stream.X, stream.y


STREAMS: dict[tuple[str, int], Callable[[Any], Rows]] = {
    ("usenet1", 10): partial(_arff, name="usenet1"),
    ("emailing", 10): partial(_arff, name="emailing_list"),
    ("emailing", 91): partial(_arff, name="emailing_list"),
    ("spam500", 50): partial(_commonest, spam, 500),
    ("spam", 100): spam,
    ("news20", 200): partial(_commonest, _news20, 2000),
    ("elec2", 3): lambda data: elec2(data)[:2],
    ("weather", 3): partial(table_stream, name="weather"),
    ("swap100", 10): _swap100,
    ("spambase", 10): _spambase,
    ("phishing", 10): partial(table_stream, name="phishing"),
}


def load(name: str, k: int, data: Path | None) -> Stream:
    """Return a stream; MissingDataError if its data are not in the folder."""
    if data is None and name != "swap100":
        raise MissingDataError("Pass the folder of the data sets as --data or DRIFTSIEVE_DATA.")
    return Stream.of(name, k, *STREAMS[name, k](data))
