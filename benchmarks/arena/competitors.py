"""The competitors, all with the same interface: learn a batch, then return the chosen columns."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from benchmarks.arena.fires import Fires
from benchmarks.arena.ofs import Ofs
from driftsieve import FeatureScreener
from driftsieve.learners import SparseFSA
from driftsieve.scores import SCORES

HALF_LIVES = (250.0, 1000.0, 5000.0, 20_000.0, math.inf)
NONE = "no selection"
DEFAULT = "ours, mutual_info, learned"
MOST_VALUES_OF_RIVER = 10_000_000
"""River takes about 3 µs a value: half a minute."""

Labels = NDArray[np.int64]
Columns = NDArray[np.intp]


class Selector(Protocol):
    def learn(self, X: Any, y: Labels) -> None: ...

    def chosen(self) -> Columns: ...


@dataclass(frozen=True)
class Competitor:
    """A function that makes a selector for so many features and k, and the input it needs."""

    make: Callable[[int, int], Selector]
    takes: Literal["raw", "minmax", "standard"] = "raw"


class Everything:
    """No selection."""

    def __init__(self, n_features: int, _k: int) -> None:
        self.n_features = n_features

    def learn(self, X: Any, y: Labels) -> None:
        """Do nothing."""

    def chosen(self) -> Columns:
        return np.arange(self.n_features)


class Ours:
    """FeatureScreener on one thread."""

    def __init__(self, k: int, score_func: str, half_life: Any) -> None:
        self.screener = FeatureScreener(score_func, k=k, half_life=half_life, n_threads=1)
        self.n_known = k

    def learn(self, X: Any, y: Labels) -> None:
        self.screener.partial_fit(X, y)

    def chosen(self) -> Columns:
        if not hasattr(self.screener, "bank_"):
            return np.arange(self.n_known)
        with warnings.catch_warnings():  # while there is one class, the first k are chosen
            warnings.filterwarnings("ignore", "Features have no scores")
            return self.screener.get_support(indices=True)


class Annealed:
    """SparseFSA.partial_fit; its features are those with a weight."""

    def __init__(self, _n_features: int, k: int) -> None:
        self.model = SparseFSA(k=k)
        self.k = k

    def learn(self, X: Any, y: Labels) -> None:
        self.model.partial_fit(X, y, classes=[0, 1])

    def chosen(self) -> Columns:
        if not hasattr(self.model, "coef_"):
            return np.arange(self.k)
        return np.flatnonzero(self.model.support_)


class River:
    """SelectKBest of river by the absolute correlation with the label.

    river ranks by the correlation itself, and would never choose a feature that is larger in the
    first class; that would be unfair.
    """

    def __init__(self, n_features: int, k: int) -> None:
        from river import feature_selection, stats

        class AbsoluteCorrelation(stats.PearsonCorr):
            def get(self) -> float:
                return abs(super().get())

        self.names = list(range(n_features))
        self.selector = feature_selection.SelectKBest(AbsoluteCorrelation(), k=k)
        self.k = k

    def learn(self, X: Any, y: Labels) -> None:
        rows = (X if isinstance(X, np.ndarray) else X.toarray()).tolist()
        for row, label in zip(rows, y.tolist(), strict=True):
            self.selector.learn_one(dict(zip(self.names, row, strict=True)), label)

    def chosen(self) -> Columns:
        best = self.selector.leaderboard.most_common(self.k)
        return np.array([column for column, _ in best] or self.names[: self.k])


def guess(score: str, half_life: float) -> str:
    memory = "never forgets" if math.isinf(half_life) else f"half-life {half_life:,.0f}"
    return f"ours, {score}, {memory}"


def learned(score: str) -> str:
    return f"ours, {score}, learned"


PEERS: dict[str, Competitor] = {NONE: Competitor(Everything)} | {
    f"{name}, {takes}": Competitor(make, takes)
    for name, make in {"FIRES": Fires, "OFS": Ofs}.items()
    for takes in ("minmax", "standard")
}
"""Competitors that are also compared with figures of other implementations."""


def competitors(n_values: int) -> dict[str, Competitor]:
    """Return, by name, the competitors that are fast enough for so many values."""
    found = dict(PEERS)
    for takes in ("minmax", "standard"):
        found[f"OFS truncated, {takes}"] = Competitor(lambda p, k: Ofs(p, k, truncate=True), takes)
        found[f"SparseFSA, {takes}"] = Competitor(Annealed, takes)
    if n_values <= MOST_VALUES_OF_RIVER:
        found["river SelectKBest"] = Competitor(River)
    for score in SCORES:
        for half_life in HALF_LIVES:
            found[guess(score, half_life)] = _ours(
                score, None if math.isinf(half_life) else half_life
            )
        found[learned(score)] = _ours(score, "auto")
    return found


def _ours(score: str, half_life: Any) -> Competitor:
    return Competitor(lambda _, k: Ours(k, score, half_life))
