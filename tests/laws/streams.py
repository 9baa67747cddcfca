"""Random labelled streams and bank settings for the laws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

import driftsieve as ds
from driftsieve import offline
from driftsieve.snapshot import Snapshot

CLOCKS = ("row", "batch", "time")


@dataclass(frozen=True)
class Stream:
    """Rows of mixed columns, labels, weights and times, with the settings to read them by."""

    X: NDArray[np.float64]
    y: NDArray[Any]
    sample_weight: NDArray[np.float64] | None
    time: NDArray[np.float64] | None
    settings: dict[str, Any]

    def bank(self, **changes: Any) -> ds.Bank:
        return ds.Bank(**{**self.settings, **changes})

    def part(self, rows: slice) -> dict[str, Any]:
        """Keyword arguments of `update` for some rows."""
        return {
            "X": self.X[rows],
            "y": self.y[rows],
            "sample_weight": None if self.sample_weight is None else self.sample_weight[rows],
            "time": None if self.time is None else self.time[rows],
        }

    def reference(self, batches: list[int], n_bins: int = 5) -> Snapshot:
        """The offline snapshot with the weights that the clock gives."""
        rows = {"row": len(self.y), "batch": batches, "time": self.time}[self.settings["clock"]]
        weight = offline.clock_weights(
            rows, clock=self.settings["clock"], half_life=self.settings["half_life"]
        )
        if self.sample_weight is not None:
            weight = weight * self.sample_weight
        return offline.snapshot(
            self.X, self.y, n_bins, sample_weight=weight, missing=self.settings["missing"]
        )


@st.composite
def streams(draw: st.DrawFn, max_rows: int = 300, clocks: tuple[str, ...] = CLOCKS) -> Stream:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(0, max_rows))
    n_classes = draw(st.sampled_from([1, 2, 3, 7]))
    clock = draw(st.sampled_from(clocks))
    missing = draw(st.sampled_from(["error", "ignore"]))
    half_life = draw(st.sampled_from([None, 0.7, 20.0, 1e6]))
    labels = draw(st.sampled_from(["integers", "strings", "booleans"]))
    code = rng.integers(0, min(n_classes, 2) if labels == "booleans" else n_classes, n)
    columns = [
        rng.normal(size=n),
        rng.normal(size=n) + code,
        rng.integers(-2, 3, n),  # few values, zero among them
        (rng.random(n) < 0.1).astype(float),  # a flag
        np.where(rng.random(n) < 0.5, 0.0, rng.lognormal(size=n)),
        np.full(n, 3.0),
        np.zeros(n),
        -rng.random(n),
    ]
    X = np.column_stack(columns).astype(np.float32).astype(np.float64)
    if missing == "ignore":
        X[rng.random(X.shape) < 0.1] = np.nan
    y = {
        "integers": code * 10 - 5,
        "strings": np.array([f"class {c}" for c in code], dtype=np.str_),
        "booleans": code == 1,
    }[labels]
    weighted = draw(st.booleans())
    return Stream(
        X=X,
        y=y,
        sample_weight=rng.choice([0.0, 0.5, 1.0, 3.7], n) if weighted else None,
        time=rng.uniform(-100, 100, n) if clock == "time" else None,
        settings={
            "epsilon": draw(st.sampled_from([0.001, 0.05, 0.3])),
            "half_life": half_life,
            "clock": clock,
            "missing": missing,
            "n_threads": draw(st.sampled_from([1, 2, 5])),
        },
    )


def cuts(n: int) -> st.SearchStrategy[list[int]]:
    """Lengths of batches that add up to n; some may be 0."""
    return st.lists(st.integers(0, n), max_size=6).map(
        lambda at: np.diff([0, *sorted(at), n]).tolist()
    )


def pieces(lengths: list[int]) -> list[slice]:
    ends = np.cumsum(lengths).tolist()
    return [slice(end - length, end) for end, length in zip(ends, lengths, strict=True)]
