"""Synthetic streams that drift in different ways, with known true features."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

ColumnNumbers = NDArray[np.int64]
N_SWAPS = 750

KINDS = {
    "slide 250": "the window of true features slides by one every 250 rows",
    "slide 500": "the same, every 500 rows",
    "slide 1000": "the same, every 1,000 rows",
    "slide 2000": "the same, every 2,000 rows",
    "leaps": "all true features are replaced after a quarter and after half of the rows",
    "late leaps": "all true features are replaced after one and two thirds of the rows",
    "no drift": "the true features stay",
    "mixed": "half of the true features stay, the others slide by one every 250 rows",
    "swaps": "every 128 rows a random true feature is replaced by a random other one",
}


@dataclass(frozen=True)
class MemoryStream:
    """Normal rows with a common factor, as in the paper's figure 2, and a way to drift."""

    kind: str
    n_rows: int = 96_000
    n_features: int = 1000
    n_true: int = 100
    seed: int = 0

    def true_at(self, row: int) -> ColumnNumbers:
        """Return the features that are true in a row."""
        n, p, k = self.n_rows, self.n_features, self.n_true
        if self.kind.startswith("slide"):
            step = row * 96_000 // n // int(self.kind.split()[1])
            return (step + np.arange(k)) % p
        if self.kind == "no drift":
            return np.arange(k)
        if self.kind == "swaps":
            return self._swapped[row * N_SWAPS // n]
        if self.kind == "mixed":
            step = row * 96_000 // n // 250
            return np.concatenate(
                [np.arange(k // 2), k // 2 + (step + np.arange(k // 2)) % (p - k // 2)]
            )
        leaps = (n // 4, n // 2) if self.kind == "leaps" else (n // 3, 2 * n // 3)
        passed = sum(row >= leap for leap in leaps)
        order = np.random.default_rng(self.seed).permutation(p)
        return order[passed * k : (passed + 1) * k]

    @cached_property
    def _swapped(self) -> list[ColumnNumbers]:
        rng = np.random.default_rng([self.seed, 2])
        order = rng.permutation(self.n_features)
        found = []
        for _ in range(N_SWAPS):
            found.append(order[: self.n_true].copy())
            old, new = rng.integers(self.n_true), rng.integers(self.n_true, self.n_features)
            order[[old, new]] = order[[new, old]]
        return found

    def batches(self, size: int) -> Iterator[tuple[NDArray[np.float32], NDArray[np.int64]]]:
        """Return the rows in order."""
        rng = np.random.default_rng([self.seed, 1])
        for begin in range(0, self.n_rows, size):
            n = min(size, self.n_rows - begin)
            X = rng.standard_normal((n, self.n_features), dtype=np.float32)
            X += np.float32(0.5) * rng.standard_normal((n, 1), dtype=np.float32)
            target = rng.standard_normal(n)
            for i in range(0, n, 50):  # the true features move at multiples of 50 rows
                rows = slice(i, min(i + 50, n))
                target[rows] += X[rows][:, self.true_at(begin + i)].sum(axis=1)
            yield X, (target > 0).astype(np.int64)
