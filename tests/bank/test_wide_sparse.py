"""Laws of sparse banks that are wide enough for their columns to be put in order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import driftsieve as ds
from driftsieve.snapshot import Snapshot

P = 4000
SETTINGS: list[dict[str, Any]] = [
    {},
    {"quantiles": False, "half_life": 0.5},  # an epoch is 128 rows
    {"moments": False, "half_life": 200.0},
    {"missing": "ignore", "half_life": 0.5},
]


def rows(seed: int, n: int = 600) -> tuple[sparse.csr_array, np.ndarray[Any, Any]]:
    """Low columns are common, high ones rare; flags, numbers, zeros that are stored."""
    rng = np.random.default_rng(seed)
    parts = [np.unique((P * rng.random(40) ** 3).astype(np.int32)) for _ in range(n)]
    indices = np.concatenate(parts)
    indptr = np.cumsum([0, *map(len, parts)]).astype(np.int32)
    data = np.where(indices % 10 > 0, 1.0, rng.integers(-3, 4, len(indices)) * 0.7)
    y = rng.integers(0, 2, n)
    y[n // 2 :] += rng.integers(0, 2, n - n // 2) * 2  # classes that come late
    return sparse.csr_array((data, indices, indptr), shape=(n, P)), y


def with_missing(X: sparse.csr_array, settings: dict[str, Any]) -> sparse.csr_array:
    if settings.get("missing") == "ignore":
        X = X.copy()
        X.data[::7] = np.nan
    return X


def assert_close(ours: Snapshot, theirs: Snapshot) -> None:
    for name in ("class_weight", "weight", "mean", "var", "bin_weights"):
        a, b = getattr(ours, name), getattr(theirs, name)
        assert (a is None) == (b is None)
        if a is not None:
            assert_allclose(a, b, rtol=1e-9, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("settings", SETTINGS)
def test_sparse_bank_equals_a_dense_bank(settings: dict[str, Any]) -> None:
    X, y = rows(1)
    X = with_missing(X, settings)
    ours = ds.Bank(**settings).update(X, y).snapshot()
    assert_close(ours, ds.Bank(**settings).update(X.toarray(), y).snapshot())
    stored = np.unique(X.indices[X.data != 0.0])
    assert ours.seen is not None
    assert_array_equal(np.flatnonzero(ours.seen), stored)


@pytest.mark.parametrize("settings", SETTINGS)
def test_any_split_gives_the_same_bytes_also_through_bytes(settings: dict[str, Any]) -> None:
    X, y = rows(2)
    X = with_missing(X, settings)
    whole = ds.Bank(**settings).update(X, y)
    parts = ds.Bank(**settings)
    for begin, end in ((0, 1), (1, 90), (90, 91), (91, 300), (300, 600)):
        parts = ds.Bank.from_bytes(parts.update(X[begin:end], y[begin:end]).to_bytes())
    assert parts.to_bytes() == whole.to_bytes()


@pytest.mark.parametrize("settings", SETTINGS)
def test_merged_and_cut_banks_equal_the_whole(settings: dict[str, Any]) -> None:
    X, y = rows(3)
    X = with_missing(X, settings)
    whole = ds.Bank(**settings).update(X, y).snapshot()
    first = ds.Bank(**settings).update(X[:250], y[:250])
    first.merge(ds.Bank(**settings).update(X[250:], y[250:]), start=250)
    assert_close(first.snapshot(), whole)
    part = first.cut(slice(500, 2500))
    assert_close(part.snapshot(), first.snapshot(features=slice(500, 2500)))
    assert_close(
        part.update(X[:, 500:2500], y).snapshot(),
        first.update(X, y).snapshot(features=slice(500, 2500)),
    )


def test_rows_may_come_dense_or_wider() -> None:
    X, y = rows(4)
    bank = ds.Bank().update(X[:400], y[:400]).update(X[400:500].toarray(), y[400:500])
    wide = sparse.hstack([X[500:], X[500:]], format="csr")
    bank.update(wide, y[500:])
    whole = np.zeros((600, 2 * P))
    whole[:, :P] = X.toarray()
    whole[500:, P:] = X[500:].toarray()
    assert_close(bank.snapshot(), ds.Bank().update(whole, y).snapshot())
