"""Batches unchanged, scaled to [0, 1], and standardised, all without reading later rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from benchmarks.arena.streams import Stream


class Inputs(NamedTuple):
    """A batch for competitors that need unchanged features and for those that need scaled ones."""

    raw: Any
    minmax: Any
    standard: Any
    y: NDArray[np.int64]


def inputs(stream: Stream, whole: bool = False) -> Iterator[Inputs]:
    """Yield the batches, each scaled by the rows before it, and the first by its own.

    ``whole=True`` scales by all rows, later ones as well, as evaluations in the literature do.
    Flags are in [0, 1] as they are.
    """
    minmax = None if stream.is_binary else MinMaxScaler()
    standard = StandardScaler()
    if whole:
        _learn(stream.X, minmax, standard)
    for i, (X, y) in enumerate(stream.batches()):
        if i == 0 and not whole:
            _learn(X, minmax, standard)
        scaled = X if minmax is None else minmax.transform(X)
        yield Inputs(X, scaled, standard.transform(_dense(X)), y)
        if i and not whole:
            _learn(X, minmax, standard)


def _learn(X: Any, minmax: MinMaxScaler | None, standard: StandardScaler) -> None:
    for start in range(0, X.shape[0], 1000):  # dense rows of a sparse stream take much memory
        rows = X[start : start + 1000]
        standard.partial_fit(_dense(rows))
        if minmax is not None:
            minmax.partial_fit(rows)


def _dense(X: Any) -> NDArray[np.float64]:
    return X.toarray() if sparse.issparse(X) else X
