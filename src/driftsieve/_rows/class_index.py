"""ClassIndex: the numbers of class labels in the core."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftsieve._rows.labels import KINDS, check_text, large_integers, other_kind

_FEW_ROWS = 32
_FEW_LABELS = 8  # comparing all rows with each of so few labels is faster than sorting the rows
_TYPES = {"booleans": bool, "integers": int, "strings": str}


class ClassIndex:
    """Labels, numbered in the order of first appearance; all of one kind."""

    def __init__(self, values: list[Any] | None = None, kind: str | None = None) -> None:
        self.values: list[Any] = values or []
        self.kind = kind
        self.numbers = {value: i for i, value in enumerate(self.values)}
        self._are_numbers = kind == "integers" and self.values == list(range(len(self.values)))

    def __len__(self) -> int:
        return len(self.values)

    def encode(self, y: NDArray[Any]) -> tuple[NDArray[np.uint32], ClassIndex]:
        """Return numbers for ``y``, and a ClassIndex with its labels. This one is not changed."""
        kind = KINDS[y.dtype.kind]
        if len(y) and self.kind is not None and kind != self.kind:
            raise ValueError(f"{other_kind(self.kind, kind)}. Convert y to {self.kind}.")
        if len(y) < _FEW_ROWS:  # need not be sorted
            found, inverse, first = y.tolist(), None, None
        else:
            # The first rows usually have all labels, and then no row needs sorting.
            grown = self.encode(y[: len(y) // _FEW_ROWS])[1]
            known = grown._numbers(y)
            if known is not None:
                return known, grown
            unique, first, inverse = np.unique(y, return_index=True, return_inverse=True)
            found = unique.tolist()
        grown = self
        if not all(value in self.numbers for value in found):
            # In the order of the rows, not sorted, so that the split into batches has no effect.
            rows = found if first is None else [found[i] for i in np.argsort(first)]
            new = [value for value in dict.fromkeys(rows) if value not in self.numbers]
            grown = ClassIndex(self.values + new, kind)
            grown._check(new)
        numbers = np.array([grown.numbers[value] for value in found], dtype=np.uint32)
        return (numbers if inverse is None else numbers[inverse]), grown

    def _numbers(self, y: NDArray[Any]) -> NDArray[np.uint32] | None:
        """Return numbers for many rows if all labels are known and few, otherwise None."""
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
        """Raise ValueError for labels that do not fit one array, or that cannot be stored."""
        if self.kind == "strings":
            check_text(new, "Labels")
        elif self.kind == "integers":
            large_integers(self.values)

    @classmethod
    def restored(cls, values: Any, kind: Any) -> ClassIndex:
        """Restore the index of labels; raise ValueError if they are not valid."""
        sound = isinstance(values, list) and len(values) == len(set(map(repr, values)))
        if sound and values:
            of_kind = _TYPES.get(kind) if isinstance(kind, str) else None
            sound = of_kind is not None and all(type(value) is of_kind for value in values)
        if sound and kind == "strings":  # numpy treats a NUL at the end as padding
            sound = not any(value.endswith("\0") for value in values)
        if not sound:
            raise ValueError("The labels must be valid and fit their kind.")
        index = cls(values, kind)
        if values:
            index._check(values)
        return index

    def union(self, other: ClassIndex) -> tuple[NDArray[np.uint32], ClassIndex]:
        """Return numbers for the labels of ``other``, and a ClassIndex with both sets of labels."""
        return self.encode(other.array()) if other.values else (np.empty(0, np.uint32), self)

    def first(self, n: int) -> ClassIndex:
        """Return the first ``n`` labels, by number."""
        return self if n >= len(self) else ClassIndex(self.values[:n], self.kind if n else None)

    def array(self) -> NDArray[Any]:
        """Return the labels by number."""
        if self.kind == "integers" and self.values:
            return large_integers(self.values)
        return np.array(self.values, dtype=None if self.values else np.int64)

    def sorted(self) -> tuple[NDArray[Any], NDArray[np.uint32]]:
        """Return the labels sorted as by ``np.unique``, and the position of each number."""
        labels = self.array()
        order = np.argsort(labels, kind="stable")
        place = np.empty(len(order), dtype=np.uint32)
        place[order] = np.arange(len(order), dtype=np.uint32)
        return labels[order], place
