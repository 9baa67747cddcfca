"""The synthetic drifting stream of the paper: a sliding window of true features."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Correlation = Literal["published", "stated"]


@dataclass(frozen=True)
class DriftStream:
    """A stream of p features, k of which are true; the true ones move up by one every l rows.

    y is 1 where β·x + c + e exceeds c, so c has no influence. The paper's x = νz + e has pairwise
    correlation ν²/(1 + ν²) (``correlation="published"``), not ν/(1 + ν) as its text says, which
    needs x = √ν·z + e (``"stated"``).

    >>> DriftStream(shift_every=250).true_after(100_000)
    slice(399, 499, None)
    >>> DriftStream(shift_every=250, correlation="stated").pairwise_correlation
    0.333...
    """

    shift_every: int
    n_rows: int = 100_000
    n_features: int = 1000
    n_true: int = 100
    nu: float = 0.5
    signal: float = 1.0
    correlation: Correlation = "published"
    seed: int = 0

    def __post_init__(self) -> None:
        last = self.true_after(self.n_rows).stop
        if last > self.n_features:
            raise ValueError(
                f"The true features must be below {self.n_features}, got {last}. Use fewer shifts "
                "or fewer rows."
            )

    @property
    def loading(self) -> float:
        """Weight of the common factor z in every feature."""
        return self.nu if self.correlation == "published" else math.sqrt(self.nu)

    @property
    def pairwise_correlation(self) -> float:
        """Correlation of any two features."""
        return self.loading**2 / (1 + self.loading**2)

    def true_after(self, n_rows: int) -> slice:
        """Return the features that were true in the last of the first n rows."""
        start = (n_rows - 1) // self.shift_every
        return slice(start, start + self.n_true)

    def batches(self, size: int) -> Iterator[tuple[NDArray[np.float32], NDArray[np.int64]]]:
        """Yield the rows in order; every call gives the same rows for one size."""
        rng = np.random.default_rng(self.seed)
        for begin in range(0, self.n_rows, size):
            n = min(size, self.n_rows - begin)
            X = rng.standard_normal((n, self.n_features), dtype=np.float32)
            X += np.float32(self.loading) * rng.standard_normal((n, 1), dtype=np.float32)
            starts = (begin + np.arange(n)) // self.shift_every
            target = rng.standard_normal(n)
            for start in np.unique(starts):
                rows = starts == start
                target[rows] += self.signal * X[rows, start : start + self.n_true].sum(axis=1)
            yield X, (target > 0).astype(np.int64)
