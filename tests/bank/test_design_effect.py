"""Design effects of sparse features, against the formula computed from all rows."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from scipy import sparse

import driftsieve as ds

Floats = NDArray[np.float64]
KEPT = {"both": {}, "moments": {"quantiles": False}, "quantiles": {"moments": False}}
P = 9


def design_effects(X: Floats, y: NDArray[np.int64], w: Floats) -> Floats:
    """By definition: X is dense, with NaN where a value is missing."""
    out = np.ones(X.shape[1])
    for j, column in enumerate(X.T):
        seen, nonzero = ~np.isnan(column), ~np.isnan(column) & (column != 0)
        q = w[nonzero].sum() / w[seen].sum() if seen.any() else 0.0
        if not 0 < q < 1:
            continue
        of_class = [y == c for c in np.unique(y)]
        expected = sum(
            (w[seen & c] ** 2).sum() * w[nonzero & c].sum() / w[seen & c].sum()
            for c in of_class
            if w[seen & c].sum() > 0
        )
        k = (w[nonzero] ** 2).sum() / expected
        out[j] = max(k * (1 - q) + q * (1 - k * q) / (1 - q), 1e-12)
    return out


def rows(seed: int, n: int = 4000, *, missing: bool = False) -> tuple[Floats, NDArray[np.int64]]:
    """Flags, counts and real values, even and new; a column of zeros and one without any."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    values = np.column_stack(
        [
            np.ones((n, 2)),
            np.full(n, -2.5),
            rng.integers(1, 4, n),
            rng.standard_normal((n, 2)),
            np.zeros(n),
            np.ones(n),
            rng.integers(0, 2, n),
        ]
    )
    X = values * (rng.random((n, P)) < [0.3, 0.05, 0.3, 0.3, 0.4, 0.02, 1, 1, 0.5])
    X[: 3 * n // 4, [1, 5]] = 0.0  # new words
    X[:, 0] *= y > 0
    if missing:
        X[rng.random((n, P)) < [0.2, 0.2, 0, 0.5, 0.2, 0.01, 0.2, 0.2, 0.9]] = np.nan
    return X, y


def fed(
    bank: ds.Bank, X: Floats, y: NDArray[np.int64], ends: list[int], weight: Floats | None, t: Any
) -> ds.Bank:
    for begin, end in pairwise(ends):
        part = slice(begin, end)
        bank.update(
            sparse.csr_array(X[part]),
            y[part],
            None if weight is None else weight[part],
            None if t is None else t[part],
        )
    return bank


@pytest.mark.parametrize("kept", KEPT.values(), ids=KEPT)
@pytest.mark.parametrize("clock", ["row", "batch", "time"])
@pytest.mark.parametrize("fades", [True, False], ids=["faded", "plain"])
@pytest.mark.parametrize("missing", ["error", "ignore"])
def test_squared_weights_equal_their_definition_on_every_clock(
    kept: dict[str, bool], clock: Any, fades: bool, missing: Any
) -> None:
    X, y = rows(1, missing=missing == "ignore")
    n, rng = len(y), np.random.default_rng(2)
    weight = rng.exponential(size=n) * (rng.random(n) < 0.9)
    ends = [0, 3, 50, 1000, 2500, 2501, n]
    half_life = (2.0 if clock == "batch" else 500.0) if fades else np.inf
    readings = {
        "row": np.arange(n, dtype=float),
        "batch": np.searchsorted(ends, np.arange(n), side="right").astype(float),
        "time": rng.permutation(n).astype(float),
    }[clock]
    bank = ds.Bank(0.02, clock=clock, half_life=half_life, missing=missing, **kept)
    fed(bank, X, y, ends, weight, readings if clock == "time" else None)
    w = weight * np.exp2((readings - readings.max()) / half_life)
    expected = design_effects(X, y, w)
    found = bank.snapshot().design_effect
    assert_allclose(found, expected, rtol=1e-7)
    assert np.ptp(expected) > 0.1
    again = ds.Bank.from_bytes(bank.to_bytes())
    assert again.to_bytes() == bank.to_bytes()
    assert_array_equal(again.snapshot().design_effect, found)
    assert_array_equal(bank.cut(slice(2, 8)).snapshot().design_effect, found[2:8])


@pytest.mark.parametrize("kept", KEPT.values(), ids=KEPT)
@pytest.mark.parametrize("missing", ["error", "ignore"])
@pytest.mark.parametrize("epsilon", [0.02, 0.2], ids=["pending", "summed up"])
def test_rows_of_weight_1_before_the_first_other_weight_count(
    kept: dict[str, bool], missing: Any, epsilon: float
) -> None:
    X, y = rows(3, missing=missing == "ignore")
    n = len(y)
    weight = np.ones(n)
    weight[3000:] = 5.0
    bank = ds.Bank(epsilon, missing=missing, **kept)
    fed(bank, X, y, [0, 1500, 3000], None, None)
    assert bank.snapshot().design_effect is None
    fed(bank, X, y, [3000, n], weight, None)
    assert_allclose(bank.snapshot().design_effect, design_effects(X, y, weight), rtol=1e-9)


@pytest.mark.parametrize("kept", KEPT.values(), ids=KEPT)
@pytest.mark.parametrize("options", [{"half_life": 700.0}, {}], ids=["faded", "plain"])
def test_merged_parts_equal_the_whole(kept: dict[str, bool], options: dict[str, float]) -> None:
    """One part is of unit weights, and the values that come first differ between the parts."""
    X, y = rows(4, missing=True)
    n = len(y)
    X[2000:] = np.where(X[2000:] == 1.0, 3.0, X[2000:])
    weight = np.ones(n)
    weight[2000:] = np.random.default_rng(5).exponential(size=n - 2000)
    w = weight * np.exp2((np.arange(n) - n + 1) / options.get("half_life", np.inf))
    expected = design_effects(X, y, w)
    parts = []
    for begin, end in pairwise([0, 2000, 3100, n]):
        part = ds.Bank(0.05, missing="ignore", **options, **kept)
        given = None if begin == 0 else weight
        parts.append((begin, fed(part, X, y, [begin, end], given, None)))
    for order in ([0, 1, 2], [2, 0, 1]):
        merged = ds.Bank(0.05, missing="ignore", **options, **kept)
        for begin, part in (parts[i] for i in order):
            merged.merge(part, start=begin if options else None)
        assert_allclose(merged.snapshot().design_effect, expected, rtol=1e-7)


@pytest.mark.parametrize("kept", KEPT.values(), ids=KEPT)
def test_squared_weights_are_correct_over_many_half_lives_and_classes(
    kept: dict[str, bool],
) -> None:
    """Stored weights are scaled every 256 half-lives; classes come one after another."""
    X, y = rows(6, 6000)
    y = np.minimum(y + np.arange(6000) // 500, 9)
    bank = ds.Bank(0.02, half_life=10.0, **kept)
    fed(bank, X, y, [0, 100, 2559, 2561, 6000], None, None)
    w = np.exp2((np.arange(6000.0) - 5999) / 10.0)
    recent = slice(3000, None)
    expected = design_effects(X[recent], y[recent], w[recent])
    assert_allclose(bank.snapshot().design_effect, expected, rtol=1e-6)


@pytest.mark.parametrize("kept", KEPT.values(), ids=KEPT)
def test_any_split_gives_the_same_bits(kept: dict[str, bool]) -> None:
    X, y = rows(7)
    weight = np.where(np.arange(len(y)) < 1000, 1.0, 0.3)
    banks = [
        fed(ds.Bank(0.02, half_life=90.0, **kept), X, y, ends, weight, None)
        for ends in ([0, 4000], [0, 1, 2, 999, 1000, 1001, 3000, 4000])
    ]
    assert banks[0].to_bytes() == banks[1].to_bytes()
    effects = [bank.snapshot().design_effect for bank in banks]
    assert_array_equal(*effects)


@pytest.mark.parametrize("kept", KEPT.values(), ids=KEPT)
@pytest.mark.parametrize("width", [1500, 3_000_000])
def test_design_effects_are_correct_in_wide_banks(kept: dict[str, bool], width: int) -> None:
    """Where columns lie in order of their number, and where they come after the first millions."""
    rng = np.random.default_rng(10)
    n, used = 1200, 1500
    X = sparse.random_array((n, used), density=0.05, rng=rng, format="csr")
    X.data = np.where(rng.random(X.nnz) < 0.7, 1.0, X.data)
    y, columns = rng.integers(0, 2, n), np.linspace(0, width - 1, used).astype(np.int64)
    wide = sparse.csr_array((X.data, columns[X.indices], X.indptr), shape=(n, width))
    bank = ds.Bank(0.02, half_life=4.0, **kept)
    for begin, end in pairwise([0, 300, 1150, n]):  # stored weights are scaled at 1024
        bank.update(wide[begin:end], y[begin:end])
    found = bank.snapshot().design_effect
    assert found is not None
    w = np.exp2((np.arange(n) - n + 1) / 4.0)
    assert_allclose(found[columns], design_effects(X.toarray(), y, w), rtol=1e-6)
    assert (np.delete(found, columns) == 1.0).all()


def test_dense_rows_and_equal_weights_have_no_design_effect() -> None:
    X, y = rows(8, 300)
    assert ds.Bank(half_life=50.0).update(X, y).snapshot().design_effect is None
    assert ds.Bank().update(sparse.csr_array(X), y).snapshot().design_effect is None
    twice = ds.Bank().update(sparse.csr_array(X), y, np.full(300, 2.0))
    assert_allclose(twice.snapshot().design_effect, 1.0, rtol=1e-12)


def test_blocks_of_a_snapshot_carry_them() -> None:
    X, y = rows(9, 300)
    snap = ds.Bank(half_life=50.0).update(sparse.csr_array(X), y).snapshot()
    assert snap.design_effect is not None
    assert_array_equal(snap.columns(2, 4).design_effect, snap.design_effect[2:4])
    joined = ds.Snapshot.concat([snap.columns(0, 3), snap.columns(3, P)])
    assert_array_equal(joined.design_effect, snap.design_effect)
