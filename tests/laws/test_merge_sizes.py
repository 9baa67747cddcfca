"""Banks stay small and within their guarantee after any number and tree of merges.

Every mini-bin that a bank keeps is in its bytes, so the bytes show how long its lists are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import driftsieve as ds
from exact_ranks import rank_errors

EPSILON = 0.05
MOST_MINI_BINS = 25 / EPSILON
HALF_LIFE = 0.3
ROWS = {np.asarray: 1600, sparse.csr_array: 80}  # whole blocks; and epsilon * 80 is whole
PARTS = {np.asarray: 48, sparse.csr_array: 400}

Banks = list[ds.Bank]


def chain(banks: Banks) -> ds.Bank:
    for bank in banks[1:]:
        banks[0].merge(bank)
    return banks[0]


def balanced(banks: Banks) -> ds.Bank:
    while len(banks) > 1:
        banks = [chain(banks[i : i + 2]) for i in range(0, len(banks), 2)]
    return banks[0]


def chain_of_chains(banks: Banks) -> ds.Bank:
    size = round(len(banks) ** 0.5)
    return chain([chain(banks[i : i + size]) for i in range(0, len(banks), size)])


def random_tree(banks: Banks) -> ds.Bank:
    rng = np.random.default_rng(1)
    while len(banks) > 1:
        i, j = sorted(rng.choice(len(banks), 2, replace=False))
        banks[i].merge(banks.pop(j))
    return banks[0]


def bytes_beside_the_list(bank: ds.Bank, kind: Any) -> int:
    """Classes, clock, and the rows or values that wait to be summed up."""
    waiting = bank.n_rows % ROWS[np.asarray] if kind is np.asarray else round(1 / EPSILON) + 12
    return 1500 + 32 * waiting


@pytest.mark.parametrize("weights", ["unit", "weighted", "faded"])
@pytest.mark.parametrize("sizes", ["equal", "unequal"])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("tree", [chain, balanced, chain_of_chains, random_tree])
def test_merged_banks_stay_small_and_within_epsilon(
    tree: Callable[[Banks], ds.Bank], kind: Any, sizes: str, weights: str
) -> None:
    rng = np.random.default_rng(0)
    rows = np.full(PARTS[kind], ROWS[kind])
    if sizes == "unequal":
        rows = (rows * rng.lognormal(-0.5, 1.0, len(rows))).astype(int) + 1
    n = int(rows.sum())
    X, y = rng.normal(size=(n, 1)), rng.integers(0, 2, n)
    w = rng.uniform(0.5, 1.5, n) if weights == "weighted" else None
    t = rng.random(n) if weights == "faded" else None
    settings: dict[str, Any] = {} if t is None else {"half_life": HALF_LIFE, "clock": "time"}
    banks = [
        ds.Bank(EPSILON, **settings).update(
            kind(X[part]),
            y[part],
            None if w is None else w[part],
            time=None if t is None else t[part],
        )
        for part in np.split(np.arange(n), np.cumsum(rows)[:-1])
    ]
    bank = tree(banks)
    of_a_mini_bin = 12 + 2 * 4 if weights == "unit" else 16 + 2 * 8
    mini_bins = (len(bank.to_bytes()) - bytes_beside_the_list(bank, kind)) / of_a_mini_bin
    assert mini_bins <= MOST_MINI_BINS
    weight = np.ones(n) if t is None else np.exp2((t - t.max()) / HALF_LIFE)
    for errors in rank_errors(bank, X, y, weight if w is None else w):
        errors.check(EPSILON)


@pytest.mark.parametrize("rows", [200, 400, 401, 600, 800, 1000])
def test_a_long_chain_is_no_larger_than_a_short_one(rows: int) -> None:
    """Where epsilon * rows is whole, each part could hide all that it may, and leave nothing."""
    rng = np.random.default_rng(0)
    bank, sizes = ds.Bank(0.01), {}
    for merges in range(1, 513):
        X = sparse.csr_array(rng.normal(size=(rows, 1)))
        bank.merge(ds.Bank(0.01).update(X, np.zeros(rows, dtype=int)))
        sizes[merges] = len(bank.to_bytes())
    assert sizes[512] <= 1.5 * sizes[64]
    assert sizes[512] <= 16 * 15 / 0.01


def test_a_merged_bank_continues_learning_within_a_small_limit() -> None:
    """After 2^17 more values the log of a sparse bank is empty again."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2**17, 1)), np.zeros(2**17, dtype=int)
    parts = np.split(np.arange(len(X)), 256)
    bank = balanced([ds.Bank(0.01).update(sparse.csr_array(X[i]), y[i]) for i in parts])
    merged = len(bank.to_bytes())
    bank.update(sparse.csr_array(X + 0.01), y)
    assert len(bank.to_bytes()) <= merged
    for errors in rank_errors(bank, np.vstack([X, X + 0.01]), np.append(y, y), np.ones(2**18)):
        errors.check(0.01)
