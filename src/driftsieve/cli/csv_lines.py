"""Lines of csv from whole columns, for rankings of millions of features."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from functools import cache

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
    one = b",".join(column[:1].tobytes() for column in columns) + b"\n"
    lines = np.tile(np.frombuffer(one, np.uint8), (n_rows, 1))
    begin = 0
    for column in columns:
        end = begin + column.shape[1]
        if len(column) > 1:
            lines[:, begin:end] = column
        begin = end + 1
    has_pads = (lines == _PAD).any()
    return lines.tobytes().translate(None, bytes([_PAD])) if has_pads else lines.tobytes()


def integers(values: NDArray[np.int64]) -> Cells:
    r"""Return numbers from 0 to 2**32 - 1 as cells.

    >>> integers(np.array([7, 12345])).tobytes()
    b'\xff\xff\xff\xff712345'
    """
    left, width = values.astype(np.uint32), len(str(values.max(initial=0)))
    fours = np.empty((len(values), -(-width // 4)), np.uint32)  # four digits each
    for at in reversed(range(fours.shape[1])):
        more = left // 10_000
        fours[:, at] = _four_digits()[left - 10_000 * more]
        left = more
    cells = fours.view(np.uint8)[:, -width:]
    least = values.min(initial=10**width)
    for n_digits in range(1, width):
        if least < 10**n_digits:
            cells[values < 10**n_digits, -1 - n_digits] = _PAD
    return cells


@cache
def _four_digits() -> NDArray[np.uint32]:
    """Return the four digits of 0 to 9999 as the bytes of a number."""
    return np.array([b"%04d" % i for i in range(10_000)]).view(np.uint32)


def numbers(values: Floats) -> Cells:
    """Return numbers as cells. Many features share a score, which is formatted once."""
    if len(values) and (values.view(np.int64) == values[:1].view(np.int64)).all():
        values = values[:1]
    distinct, place = np.unique(values.view(np.int64), return_inverse=True)
    return _cells([repr(x).encode() for x in distinct.view(np.float64).tolist()])[place]


def names(features: NDArray[np.int64], known: FeatureNames | None) -> Cells:
    """Return the names of features as cells, quoted where csv needs it."""
    if known is None or isinstance(known, NumberedNames):
        digits = integers(features if known is None else features + known.first)
        cells = np.full((len(digits), digits.shape[1] + 1), ord("x"), np.uint8)
        cells[:, 1:] = digits
        return cells
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
