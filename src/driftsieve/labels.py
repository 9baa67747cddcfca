"""Class labels and the numbers that stand for them in the core."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftsieve.row_error import RowError

_FEW_ROWS = 32
_FEW_LABELS = 8  # to compare all rows with each of them takes less than to sort the rows
_KINDS = {"b": "booleans", "i": "integers", "u": "integers", "U": "strings"}


class Labels:
    """Labels numbered in the order they are first seen; all of one kind."""

    def __init__(self, values: list[Any] | None = None, kind: str | None = None) -> None:
        self.values: list[Any] = values or []
        self.kind = kind
        self.numbers = {value: i for i, value in enumerate(self.values)}
        self._are_numbers = kind == "integers" and self.values == list(range(len(self.values)))

    def __len__(self) -> int:
        return len(self.values)

    def encode(self, y: NDArray[Any]) -> tuple[NDArray[np.uint32], Labels]:
        """Numbers for ``y``, and the labels there are with it; this object is not changed."""
        kind = _KINDS[y.dtype.kind]
        if len(y) and self.kind is not None and kind != self.kind:
            raise ValueError(
                f"Labels have been {self.kind} so far, got {kind}: convert y to {self.kind}."
            )
        if len(y) < _FEW_ROWS:  # no need to sort them
            found, inverse, first = y.tolist(), None, None
        else:
            # mostly the first rows have all labels there are, and then none need be sorted
            grown = self.encode(y[: len(y) // _FEW_ROWS])[1]
            known = grown._numbers(y)
            if known is not None:
                return known, grown
            unique, first, inverse = np.unique(y, return_index=True, return_inverse=True)
            found = unique.tolist()
        grown = self
        if not all(value in self.numbers for value in found):
            # In the order of the rows, not sorted: where batches were cut must not show.
            rows = found if first is None else [found[i] for i in np.argsort(first)]
            new = [value for value in dict.fromkeys(rows) if value not in self.numbers]
            grown = Labels(self.values + new, kind)
            grown._check(new)
        numbers = np.array([grown.numbers[value] for value in found], dtype=np.uint32)
        return (numbers if inverse is None else numbers[inverse]), grown

    def _numbers(self, y: NDArray[Any]) -> NDArray[np.uint32] | None:
        """Numbers for many rows, if none has another label and no row need be looked up."""
        if self._are_numbers and y.min() >= 0 and y.max() < len(self):
            return y.astype(np.uint32)
        if not 0 < len(self) <= _FEW_LABELS:
            return None
        numbers, n_found = np.zeros(len(y), np.uint32), 0
        for number, value in enumerate(self.values):
            here = y == value
            numbers += here * np.uint32(number)
            n_found += int(np.count_nonzero(here))
        return numbers if n_found == len(y) else None

    def _check(self, new: list[Any]) -> None:
        """Refuse what could be neither put into one array nor stored."""
        if self.kind == "strings":
            check_text(new, "Labels")
        elif self.kind == "integers":
            integers(self.values)

    def union(self, other: Labels) -> tuple[NDArray[np.uint32], Labels]:
        """Numbers for the labels of ``other``, and the labels there are with them."""
        return self.encode(other.array()) if other.values else (np.empty(0, np.uint32), self)

    def first(self, n: int) -> Labels:
        """The first ``n`` of them, by number."""
        return self if n >= len(self) else Labels(self.values[:n], self.kind if n else None)

    def array(self) -> NDArray[Any]:
        """The labels by number."""
        if self.kind == "integers" and self.values:
            return integers(self.values)
        return np.array(self.values, dtype=None if self.values else np.int64)

    def sorted(self) -> tuple[NDArray[Any], NDArray[np.uint32]]:
        """The labels as ``np.unique`` sorts them, and the place of each number among them."""
        labels = self.array()
        order = np.argsort(labels, kind="stable")
        place = np.empty(len(order), dtype=np.uint32)
        place[order] = np.arange(len(order), dtype=np.uint32)
        return labels[order], place


def labels_of(y: Any) -> NDArray[Any]:
    """One array of integers, booleans or strings; an error naming the row where y is none."""
    refuse_masked(y, "y")
    # numpy would turn the number of ["a", 1] into a string: look at the objects themselves.
    labels = np.asarray(y, dtype=object) if isinstance(y, list | tuple) else np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"y should be a 1d array, got an array of shape {labels.shape} instead.")
    if labels.dtype.kind in "OT":
        labels = _labels_of_objects(labels.tolist())
    kind = labels.dtype.kind
    if kind == "f":
        return _integral(labels)
    if kind == "c":
        raise ValueError(f"Complex data not supported: y has dtype {labels.dtype}.")
    if kind not in "iubU":
        raise TypeError(
            f"Labels must be integers, booleans or strings, got y of dtype {labels.dtype}."
        )
    return labels


def _labels_of_objects(values: list[Any]) -> NDArray[Any]:
    """Objects as one array of strings or of numbers; anything else is an error naming its row."""
    types = set(map(type, values))
    if all(issubclass(kind, str) for kind in types):
        return np.asarray(values, dtype=np.str_)
    if types == {int, float}:  # numpy would round the integers that floats cannot hold
        values = [int(v) if v == v // 1 and abs(v) < 2**63 else v for v in values]
        types = set(map(type, values))
    if types == {int}:
        return integers(values)
    if set(map(_kind, types)) in ({"booleans"}, {"numbers"}):
        return np.asarray(values)
    for row, value in enumerate(values):
        if value is None or type(value).__name__ in ("NAType", "NaTType") or value != value:
            raise RowError(f"Input y contains a missing label: {value}", row)
    wanted = _kind(type(values[0]))
    others = (i for i, value in enumerate(values) if _kind(type(value)) != wanted)
    row = 0 if wanted is None else next(others)
    raise TypeError(
        "Labels must be all integers, all booleans or all strings, got "
        f"{values[row]!r} of type {type(values[row]).__name__} at row {row}."
    )


def _kind(of: type) -> str | None:
    if issubclass(of, str):
        return "strings"
    if issubclass(of, bool | np.bool_):
        return "booleans"
    return "numbers" if issubclass(of, int | float | np.integer | np.floating) else None


def _integral(labels: NDArray[Any]) -> NDArray[np.int64]:
    labels = labels.astype(np.promote_types(labels.dtype, np.float64), copy=False)
    bad = ~np.isfinite(labels)
    if bad.any():
        row = int(bad.argmax())
        kind = "NaN" if np.isnan(labels[row]) else "infinity"
        raise RowError(f"Input y contains {kind}", row)
    bad = (labels != np.floor(labels)) | (np.abs(labels) >= 2.0**63)
    if bad.any():
        row = int(bad.argmax())
        raise RowError(
            "Unknown label type: continuous. Maybe you are trying to fit a classifier, which "
            "expects discrete classes on a regression target with continuous values "
            f"(here {float(labels[row])}",
            row,
            ").",
        )
    return labels.astype(np.int64)


def refuse_masked(values: Any, what: str) -> None:
    """TypeError for a masked array: numpy would forget the mask."""
    if np.ma.isMaskedArray(values):
        raise TypeError(f"{what} is a masked array: leave out the rows in which it is masked.")


def integers(labels: list[int]) -> NDArray[Any]:
    """The labels as they are: numpy would make some floats, or objects, where there are large ones.

    >>> integers([2**64 - 1, 0])
    array([18446744073709551615,                    0], dtype=uint64)
    """
    low, high = min(labels), max(labels)
    if -(2**63) <= low <= high < 2**63:
        return np.array(labels, dtype=np.int64)
    if 0 <= low <= high < 2**64:
        return np.array(labels, dtype=np.uint64)
    raise ValueError(
        f"No type of integers holds all labels from {low} to {high}: number the classes anew, or "
        "pass strings."
    )


def check_text(texts: Iterable[str], what: str) -> None:
    """Refuse half of a surrogate pair, which is no text and could not be stored."""
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError as problem:
            raise ValueError(
                f"{what} must be valid Unicode, got {text!r}, whose character {problem.start} is "
                "half of a surrogate pair."
            ) from problem
