"""Lines of csv from whole columns, for rankings of millions of features."""

from __future__ import annotations

import csv
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from driftsieve._rows.names import FeatureNames, NumberedNames
from driftsieve.snapshot import Floats

Cells = NDArray[np.uint8]
"""The UTF-8 bytes of one cell per row, padded with ``_PAD``; one row if all cells are the same."""

_PAD = 0xFF  # never a byte of UTF-8
_MOST_BYTES = 1 << 24  # of the names that are written together


def csv_lines(columns: Sequence[Cells]) -> bytes:
    r"""Return the lines of some rows, given the cells of each column.

    >>> csv_lines([integers(np.array([9, 10])), numbers(np.array([0.5, 1e-9]))])
    b'9,0.5\n10,1e-09\n'
    """
    n_rows = max(map(len, columns))
    ends = [*b"," * (len(columns) - 1), *b"\n"]
    parts = [
        np.broadcast_to(part, (n_rows, part.shape[1]))
        for column, end in zip(columns, ends, strict=True)
        for part in (column, np.array([[end]], np.uint8))
    ]
    return np.concatenate(parts, axis=1).tobytes().translate(None, bytes([_PAD]))


def integers(values: NDArray[np.int64]) -> Cells:
    """Return numbers from 0 to 2**32 - 1 as cells."""
    left = values.astype(np.uint32)
    width = len(str(values.max(initial=0)))
    cells = np.empty((len(values), width), np.uint8)
    cells[:, -1] = left % 10 + ord("0")
    for at in reversed(range(width - 1)):
        left //= 10
        cells[:, at] = np.where(left > 0, left % 10 + ord("0"), _PAD)
    return cells


def numbers(values: Floats) -> Cells:
    """Return numbers as cells. Many features share a score, which is formatted once."""
    distinct, place = np.unique(values.view(np.int64), return_inverse=True)
    return _cells([repr(x).encode() for x in distinct.view(np.float64).tolist()])[place]


def names(features: NDArray[np.int64], known: FeatureNames | None) -> Cells:
    """Return the names of features as cells, quoted where csv needs it."""
    if known is None or isinstance(known, NumberedNames):
        digits = integers(features if known is None else features + known.first)
        return np.insert(digits, 0, ord("x"), axis=1)
    lines = _Lines()
    csv.writer(lines, lineterminator="\n").writerows([known[f], ""] for f in features.tolist())
    return _cells([line.encode()[:-2] for line in lines])


def rows_together(known: FeatureNames | None) -> int:
    """Return how many rows to write together, so that a long name does not widen many of them."""
    longest = max(map(len, known)) if isinstance(known, tuple) and known else 1
    return max(1, min(1 << 16, _MOST_BYTES // (4 * longest)))


class _Lines(list[str]):
    def write(self, line: str) -> None:
        self.append(line)


def _cells(texts: Sequence[bytes]) -> Cells:
    lengths = np.array([len(text) for text in texts])
    width = int(lengths.max(initial=1))
    cells = np.array(texts, f"S{width}").view(np.uint8).reshape(-1, width)
    return np.where(np.arange(width) < lengths[:, None], cells, np.uint8(_PAD))
