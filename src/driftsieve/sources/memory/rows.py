"""Rows one by one: an iterable of dicts, of (dict, label) pairs or of (values, label) pairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any

import numpy as np

from driftsieve._rows.labels import LabelChecks
from driftsieve._rows.matrix import check_readable
from driftsieve.batch import Batch
from driftsieve.sources.base import Encoded, Options, Rows
from driftsieve.sources.encoding.dicts import DictEncoder
from driftsieve.sources.encoding.row_checks import ROW_ERRORS, cause_of


def read_rows(source: Iterable[Any], options: Options) -> Iterator[Rows]:
    """Yield the rows of an iterable, whose first row decides its kind. Rows are read on demand."""
    items = iter(source)
    end = object()  # a row may be None
    first = next(items, end)
    if first is end:
        return
    encoder = DictEncoder(options) if _holds_dict(first) else PairEncoder(options)
    items = chain([first], items)
    while chunk := list(islice(items, options.batch_size)):
        yield encoder.encode(chunk)


def _holds_dict(item: Any) -> bool:
    if isinstance(item, Mapping):
        return True
    if isinstance(item, tuple | list) and len(item) == 2:
        return isinstance(item[0], Mapping)
    raise TypeError(
        f"Rows must be dicts or (x, y) pairs, got {type(item).__name__}. Pass arrays, sparse "
        "matrices, data frames, file names, or iterables of rows."
    )


class PairEncoder:
    """Encoder of (values, label) pairs, all with the same number of values, as a dense matrix."""

    def __init__(self, options: Options) -> None:
        options.refuse("(values, label) pairs")
        self._width: int | None = None
        self._labels = LabelChecks()
        self._missing = options.missing

    def encode(self, items: list[Any]) -> Rows:
        vectors, labels = [], []
        bad: dict[int, str] = {}
        for offset, item in enumerate(items):
            kind = self._labels.kind
            try:
                x, label = item
                check_readable(x)
                vector = np.asarray(x, dtype=np.float64)
                width = len(vector) if self._width is None and vector.ndim == 1 else self._width
                if vector.shape != (width,):
                    raise ValueError(f"Rows must have {width} values, got shape {vector.shape}.")
                self._labels.check(label)
                if self._width is None:  # a row that is not valid decides nothing
                    Batch.of(vector[np.newaxis], [label], missing=self._missing)
            except ROW_ERRORS as problem:
                self._labels.kind = kind
                bad[offset] = cause_of(problem)
            else:
                self._width = width
                vectors.append(vector)
                labels.append(label)
        if not vectors:
            return Rows(len(items), None, bad)
        y = np.fromiter(labels, dtype=object, count=len(labels))
        return Rows(len(items), Encoded(np.stack(vectors), y), bad)
