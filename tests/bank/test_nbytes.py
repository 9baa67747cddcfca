"""Bank.nbytes is the growth of the process."""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import driftsieve as ds

PROGRAM = Path(__file__).with_name("memory_growth.py")


@pytest.mark.parametrize(
    ("rows", "n_batches", "options"),
    [
        ("dense", 40, {"epsilon": 0.001}),
        ("dense", 40, {"epsilon": 0.001, "half_life": 3000.0}),
        ("dense", 1, {"epsilon": 0.001}),
        ("sparse", 60, {}),
        ("sparse", 60, {"epsilon": 0.001}),
        ("sparse", 60, {"half_life": 3000.0}),
        ("sparse", 60, {"quantiles": False}),
    ],
    ids=str,
)
def test_nbytes_is_within_a_tenth_of_the_growth_of_the_process(
    rows: str, n_batches: int, options: dict[str, Any]
) -> None:
    if not hasattr(ctypes.CDLL(None), "malloc_trim"):
        pytest.skip("only the C library of GNU tells freed memory from memory in use")
    command = [sys.executable, str(PROGRAM), rows, str(n_batches), json.dumps(options)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["nbytes"] > 4e6  # so that it is the bank that is measured
    assert abs(found["grew"] - found["nbytes"]) <= 0.1 * found["grew"], found


FIXED = 2000  # size of an empty bank


@pytest.mark.parametrize("n_classes", [1, 2, 4])
def test_dense_moments_memory_is_as_documented(n_classes: int) -> None:
    X = np.random.default_rng(0).normal(size=(512, 1000))  # two blocks: no row is kept
    bank = ds.Bank(quantiles=False).update(X, np.arange(512) % n_classes)
    assert bank.nbytes == pytest.approx(1000 * (152 + 48 * n_classes), abs=FIXED)


def test_rows_of_an_open_block_take_eight_bytes_a_value() -> None:
    X = np.random.default_rng(0).normal(size=(300, 1000))
    bank = ds.Bank(epsilon=0.001).update(X, np.arange(300) % 2)
    assert bank.nbytes == pytest.approx(1000 * (152 + 8 * 300), abs=FIXED)


@pytest.mark.parametrize(("half_life", "cell"), [(None, 2), (1e5, 8)])
def test_cell_memory_is_as_documented(half_life: float | None, cell: int) -> None:
    epsilon, p = 0.01, 50
    bank = ds.Bank(epsilon, half_life=half_life)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20 * 1600, p))  # whole blocks: no row is kept
    bank.update(X, np.arange(len(X)) % 2)
    fewest, most = (p * (152 + 2 * 48 + 1100 + 2 * cell * d) for d in (5 / epsilon, 10 / epsilon))
    assert fewest <= bank.nbytes <= most + p * 32 * 2 / epsilon


def test_dense_summaries_memory_is_as_documented() -> None:
    """Of five classes, since there are no cells then."""
    epsilon, p = 0.01, 50
    X = np.random.default_rng(0).normal(size=(20 * 1600, p))
    bank = ds.Bank(epsilon).update(X, np.arange(len(X)) % 5)
    fewest, most = (p * (152 + 8 * 48 + (12 + 4 * 5) * e) for e in (2 / epsilon, 2.8 / epsilon))
    assert fewest <= bank.nbytes <= most


def test_only_classes_with_weight_take_memory() -> None:
    """A mini-bin of ten classes: value, hidden mass, and ten weights, each with its place."""
    n, p = 1600, 50
    X = np.random.default_rng(0).normal(size=(n, p))
    nbytes = ds.Bank(0.0005).update(np.repeat(X, 10, axis=0), np.arange(10 * n) % 100).nbytes
    room_for_classes = 128
    assert nbytes == pytest.approx(p * (152 + 48 * room_for_classes + n * (12 + 10 * 8)), abs=FIXED)


def test_a_column_never_seen_takes_four_bytes() -> None:
    def size(p: int) -> int:
        X = sparse.csr_array(([1.0, 1.0], ([0, 1], [5, 7])), shape=(2, p))
        return ds.Bank().update(X, [0, 1]).nbytes

    assert size(300_000) - size(100_000) == 4 * 200_000


@pytest.mark.parametrize(("n_classes", "room"), [(2, 2), (3, 4)])
@pytest.mark.parametrize("missing", ["error", "ignore"])
def test_sparse_bank_without_quantiles_memory_is_as_documented(
    n_classes: int, room: int, missing: Any
) -> None:
    p, others = 10_000, 300
    X = sparse.eye_array(600, p, format="csr")
    X.data[:others] = 2.5
    nbytes = ds.Bank(quantiles=False, missing=missing).update(X, np.arange(600) % n_classes).nbytes
    of_others = others * room * (32 + 24 * (missing == "ignore"))
    assert nbytes == pytest.approx(p * (4.2 + 8 * room) + of_others, abs=FIXED, rel=0.01)


def test_without_quantiles_the_last_of_many_columns_take_four_bytes_each() -> None:
    def size(p: int) -> int:
        X = sparse.csr_array(([1.0, 1.0], ([0, 1], [5, p - 1])), shape=(2, p))
        return ds.Bank(quantiles=False).update(X, [0, 1]).nbytes

    assert size(2**21 + 200_000) - size(2**21 + 100_000) == 4 * 100_000


def test_a_flag_takes_32_bytes() -> None:
    n = 62 * 64  # whole pages
    X = sparse.eye_array(n, 10**5, format="csr")
    nbytes = ds.Bank().update(X, np.arange(n) % 2).nbytes
    assert n * 32 <= nbytes - 4 * 10**5 <= n * 32 + FIXED


@pytest.mark.parametrize(("half_life", "each"), [(None, 16), (1e5, 24)])
def test_a_waiting_value_takes_16_or_24_bytes(half_life: float | None, each: int) -> None:
    n = 256  # a power of two, and fewer than 4 / epsilon
    X = sparse.csr_array(np.random.default_rng(0).normal(size=(n + 1, 64)))
    nbytes = ds.Bank(0.01, half_life=half_life).update(X, np.arange(n + 1) % 2).nbytes
    assert nbytes == pytest.approx(64 * (32 + 4 + 4 + each * n), abs=FIXED)


@pytest.mark.parametrize("folds", [30, 60])
def test_shrinking_weights_do_not_grow_the_summaries(folds: int) -> None:
    """Their weights fade below the last digit of the mass that a mini-bin may hide."""
    n = 1_000_000
    x = n - np.arange(n, dtype=float)
    bank = ds.Bank(0.01).update(
        x[:, None], np.zeros(n, dtype=int), np.exp(-np.linspace(0, folds, n))
    )
    assert bank.nbytes <= 1.5 * 70 / 0.01 * (16 + 8)  # rows may hide two thirds of epsilon
