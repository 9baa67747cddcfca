"""Labelled rows for the engines, and what one bank in one process makes of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

import driftsieve as ds
from driftsieve.scores import SCORES, rank


@dataclass(frozen=True)
class Rows:
    X: NDArray[np.float64]
    y: NDArray[Any]
    weight: NDArray[np.float64]
    time: NDArray[np.float64]


def rows(seed: int, n: int = 400) -> Rows:
    """Continuous columns, few values, flags, mostly zeros, a constant, nothing but zeros.

    The class "rare" and the non-zeros of the last column are in the last three rows only, and so
    in the last part of ``chunks`` only.
    """
    rng = np.random.default_rng(seed)
    code = rng.integers(0, 3, n)
    X = np.column_stack(
        [
            rng.normal(size=n) + code,
            rng.normal(size=n),
            rng.integers(-2, 3, n) * (code == 1),
            rng.random(n) < 0.05 + 0.2 * (code == 2),
            np.where(rng.random(n) < 0.9, 0.0, rng.lognormal(size=n)),
            np.full(n, 3.0),
            np.zeros(n),
            (np.arange(n) >= n - 3) * (code + 1.0),
        ]
    ).astype(np.float64)
    y = np.array(["ham", "spam", "eggs"])[code]
    y[n - 3 :] = "rare"
    return Rows(X, y, rng.random(n) + 0.5, rng.permutation(n) / 7.0)


def chunks(seed: int, n: int) -> tuple[int, ...]:
    """A random partition of n rows: some parts hold one row, one holds most."""
    rng = np.random.default_rng(seed)
    few = np.unique(rng.integers(0, n // 4, 5))
    return tuple(np.diff([0, *few[few > 0], n - 4, n - 3, n]).tolist())


def assert_scores(
    table: dict[str, Any],
    data: Rows,
    score_func: str,
    *,
    weight: Any = None,
    time: Any = None,
    X: Any = None,
    **settings: Any,
) -> None:
    """The table equals that of one bank of all rows, up to the rounding of sums."""
    X = data.X if X is None else X
    snap = ds.Bank(**settings).update(X, data.y, weight, time).snapshot()
    assert snap.rank_error is not None
    assert_array_equal(snap.rank_error, 0.0)  # else the comparison would not be exact
    entry = SCORES[score_func]
    scores = entry.function(snap)
    none = np.full(len(scores), np.nan)
    assert_allclose(table["score"], scores, rtol=1e-9, atol=1e-12)
    assert_array_equal(table["rank"], rank(scores, entry.larger_is_better))
    pvalues = none if entry.pvalues is None else entry.pvalues(snap)
    assert_allclose(table["pvalue"], pvalues, rtol=1e-7, atol=1e-300)


def assert_within_epsilon(bank: ds.Bank, X: NDArray[np.float64], y: NDArray[Any]) -> None:
    """The guarantee of the bank: the rank of every edge in every class is right within epsilon."""
    snap = bank.snapshot()
    assert snap.bin_weights is not None
    assert snap.edges is not None
    below = snap.bin_weights.cumsum(axis=1)
    for c, label in enumerate(snap.classes):
        mine = X[y == label]
        assert snap.class_weight[c] == len(mine)
        for j, edges in enumerate(snap.edges):
            true = (mine[:, j][:, None] <= edges).sum(axis=0)
            assert np.abs(below[j, :-1, c] - true).max() <= bank.epsilon * len(mine)
