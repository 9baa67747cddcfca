"""Sparse rows are divided among threads, which never changes a bit of the state."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

import driftsieve as ds

N, P, PER_ROW = 900, 2000, 60  # values for several threads
VALUES = {
    "flags": lambda _, n: np.ones(n),
    "real": lambda rng, n: rng.normal(size=n),
    "mixed": lambda rng, n: np.where(rng.random(n) < 0.9, 1.0, rng.normal(size=n)),
    "zeros": lambda rng, n: rng.integers(-1, 2, n).astype(float),
}
SETTINGS: list[dict[str, Any]] = [
    {"epsilon": 0.05},
    {"epsilon": 0.05, "half_life": 300.0},
    {"epsilon": 0.05, "half_life": 1.0},  # several epochs
    {"quantiles": False},
    {"quantiles": False, "half_life": 300.0},
    {"quantiles": False, "half_life": 1.0},
    {"quantiles": False, "missing": "ignore"},
    {"epsilon": 0.05, "missing": "ignore"},
]


def rows(kind: str, settings: dict[str, Any]) -> tuple[sparse.csr_array, np.ndarray]:
    rng = np.random.default_rng(0)
    columns = [
        np.unique((P * rng.random(2 * PER_ROW) ** 3).astype(np.int32))[:PER_ROW] for _ in range(N)
    ]
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in columns])]).astype(np.int32)
    indices = np.concatenate(columns)
    data = VALUES[kind](rng, len(indices))
    if settings.get("missing") == "ignore":
        data[rng.random(len(data)) < 0.05] = np.nan
    return sparse.csr_array((data, indices, indptr), shape=(N, P)), rng.integers(0, 6, N)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("kind", VALUES)
def test_any_number_of_threads_and_any_batches_give_the_same_state(
    kind: str, settings: dict[str, Any]
) -> None:
    X, y = rows(kind, settings)
    assert X.nnz >= 4 * 2**13  # so that there are several threads
    whole = ds.Bank(n_threads=1, **settings).update(X, y)
    for n_threads, cuts in ((2, []), (5, []), (1, [1, 400, 401]), (3, [450])):
        bank = ds.Bank(n_threads=n_threads, **settings)
        for begin, end in zip([0, *cuts], [*cuts, N], strict=True):
            bank.update(X[begin:end], y[begin:end])
        assert bank.to_bytes() == whole.to_bytes()
        assert bank.nbytes == whole.nbytes


@pytest.mark.parametrize("half_life", [None, 500.0])
@pytest.mark.parametrize("p", [3000, 300_000])  # a group of columns is one page, or several
def test_more_values_than_a_thread_takes_at_a_time_give_the_same_state(
    p: int, half_life: float | None
) -> None:
    rng = np.random.default_rng(1)
    n, per_row = 2000, 300
    columns = [np.unique((p * rng.random(per_row) ** 2).astype(np.int32)) for _ in range(n)]
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in columns])]).astype(np.int32)
    indices = np.concatenate(columns)
    X = sparse.csr_array((rng.normal(size=len(indices)), indices, indptr), shape=(n, p))
    y = rng.integers(0, 3, n)
    assert X.nnz > 2**18
    whole = ds.Bank(epsilon=0.02, half_life=half_life, n_threads=1).update(X, y)
    parts = ds.Bank(epsilon=0.02, half_life=half_life, n_threads=3)
    for begin, end in ((0, 100), (100, 1990), (1990, n)):
        parts.update(X[begin:end], y[begin:end])
    assert parts.to_bytes() == whole.to_bytes()


@pytest.mark.parametrize("fault", ["column", "infinity"])
def test_bad_rows_are_found_by_every_thread(fault: str) -> None:
    settings: dict[str, Any] = {"quantiles": False, "n_threads": 4}
    X, y = rows("real", settings)
    bank = ds.Bank(**settings)
    for place in (3, X.nnz // 2, X.nnz - 3):
        bad = X.copy()
        if fault == "column":
            bad.indices[place] = P + 7
        else:
            bad.data[place] = np.inf
        with pytest.raises(ValueError, match=r".+"):
            bank.update(bad, y)
        assert bank.n_rows == 0
    assert bank.update(X, y).to_bytes() == ds.Bank(**settings).update(X, y).to_bytes()


def test_columns_that_do_not_rise_give_the_same_state_on_any_number_of_threads() -> None:
    X, y = rows("real", {})
    for place in (3, X.nnz // 2, X.nnz - 3):
        X.indices[place - 1 : place + 1] = X.indices[place - 1 : place + 1][::-1].copy()
    X.has_sorted_indices = False
    one, four = (ds.Bank(quantiles=False, n_threads=n).update(X.copy(), y) for n in (1, 4))
    assert one.to_bytes() == four.to_bytes()
