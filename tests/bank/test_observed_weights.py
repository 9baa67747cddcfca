"""Sums of squared weights of the rows in which a feature was observed, against their definition."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from scipy import sparse

import driftsieve as ds

KEPT = {
    "both": {},
    "moments": {"quantiles": False},
    "quantiles": {"moments": False},
}
HALF_LIVES = {"row": 300.0, "batch": 2.0, "time": 300.0}


class Rows(NamedTuple):
    """A stream with missing values: a few, most, all but old ones, all, and flags."""

    X: NDArray[np.float64]
    y: NDArray[np.int64]
    weight: NDArray[np.float64] | None
    time: NDArray[np.float64]

    @classmethod
    def random(cls, seed: int, n: int = 3500, *, weighted: bool = True) -> Rows:
        rng = np.random.default_rng(seed)
        X = np.round(rng.standard_normal((n, 7)), 1)
        X[:, 4:] = rng.random((n, 3)) < 0.3
        missing = rng.random((n, 7)) < [0, 0.2, 0.95, 0.5, 0.2, 0.95, 1]
        missing[n // 2 :, 3] = True
        X[missing] = np.nan
        weight = rng.exponential(size=n) * (rng.random(n) < 0.9) if weighted else None
        return cls(X, rng.integers(0, 3, n), weight, rng.permutation(n).astype(float))

    def part(self, begin: int, end: int) -> Rows:
        return Rows(*(field if field is None else field[begin:end] for field in self))

    def batch(self, clock: str, as_input: Any) -> dict[str, Any]:
        time = {"time": self.time} if clock == "time" else {}
        return {"X": as_input(self.X), "y": self.y, "sample_weight": self.weight, **time}

    def squared(self, readings: NDArray[np.float64], half_life: float) -> NDArray[np.float64]:
        """By class and feature, seen from the latest of these clock readings."""
        w = np.exp2((readings - readings.max()) / half_life)
        if self.weight is not None:
            w = w * self.weight
        return by_class(self.y, w**2, self.X)


def by_class(y: NDArray[np.int64], squares: NDArray[np.float64], X: Any) -> NDArray[np.float64]:
    return np.array([(squares * (y == c)) @ ~np.isnan(X) for c in np.unique(y)])


def made(clock: str, half_life: float, **kept: Any) -> ds.Bank:
    return ds.Bank(0.02, clock=clock, half_life=half_life, missing="ignore", **kept)


@pytest.mark.parametrize("as_input", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("kept", KEPT.values(), ids=KEPT)
@pytest.mark.parametrize("clock", HALF_LIVES)
@pytest.mark.parametrize("fades", [True, False], ids=["faded", "plain"])
@pytest.mark.parametrize("weighted", [True, False], ids=["weighted", "unit"])
def test_squared_weights_equal_their_definition_after_splits_bytes_and_cuts(
    as_input: Any, kept: dict[str, bool], clock: str, fades: bool, weighted: bool
) -> None:
    rows = Rows.random(1, weighted=weighted)
    half_life = HALF_LIVES[clock] if fades else np.inf
    ends = [0, 1, 40, 900, 1700, 1701, 3300, len(rows.y)]
    bank = made(clock, half_life, **kept)
    for begin, end in pairwise(ends):
        bank.update(**rows.part(begin, end).batch(clock, as_input))
        bank = ds.Bank.from_bytes(bank.to_bytes())
    n = len(rows.y)
    readings = {
        "row": np.arange(n, dtype=float),
        "batch": np.searchsorted(ends, np.arange(n), side="right").astype(float),
        "time": rows.time,
    }[clock]
    expected = rows.squared(readings, half_life)
    found = bank.snapshot()
    assert found.weight_squared is not None
    assert_allclose(found.weight_squared, expected, rtol=1e-9)
    assert_array_equal(found.weight_squared[:, 6], 0.0)
    assert_array_equal(
        bank.cut(slice(2, 5)).snapshot().weight_squared, found.weight_squared[:, 2:5]
    )


@pytest.mark.parametrize("as_input", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("kept", KEPT.values(), ids=KEPT)
@pytest.mark.parametrize("clock", ["row", "time"])
def test_merged_parts_equal_the_whole(as_input: Any, kept: dict[str, bool], clock: str) -> None:
    rows = Rows.random(2, 9000)  # sample clock: 30 half-lives
    bank = made(clock, 300.0, **kept)
    for begin, end in pairwise([0, 700, 4200, 9000]):
        part = made(clock, 300.0, **kept).update(**rows.part(begin, end).batch(clock, as_input))
        bank.merge(part, start=begin if clock == "row" else None)
    readings = rows.time if clock == "time" else np.arange(9000.0)
    observed = rows.squared(readings, 300.0)
    found = bank.snapshot().weight_squared
    assert_allclose(found, observed, rtol=1e-9, atol=1e-12 * observed.max())


@pytest.mark.parametrize("kept", KEPT.values(), ids=KEPT)
@pytest.mark.parametrize("n", [120, 4000], ids=["open rows", "blocks"])
def test_a_column_that_a_dense_bank_does_not_have_is_missing_there(
    kept: dict[str, bool], n: int
) -> None:
    """That is so on either side of a merge."""
    rows, half_life = Rows.random(3, 2 * n), 500.0
    columns = [[0, 1, 3, 4], [4, 1, 2, 5]]
    banks = []
    for begin, names in zip((0, n), columns, strict=True):
        part = rows.part(begin, begin + n)
        batch = ds.Batch.of(
            part.X[:, names],
            part.y,
            sample_weight=part.weight,
            time=np.arange(begin, begin + n),
            missing="ignore",
            feature_names=[f"x{j}" for j in names],
        )
        banks.append(made("time", half_life, **kept).update(batch))
    whole = rows.X.copy()
    for j in range(7):
        for k in range(2):
            if j not in columns[k]:
                whole[k * n : k * n + n, j] = np.nan
    expected = rows._replace(X=whole).squared(np.arange(2.0 * n), half_life)
    for bank, other in (banks, banks[::-1]):
        merged = ds.Bank.from_bytes(bank.to_bytes()).merge(other)
        found = merged.snapshot()
        order = [int(name[1:]) for name in merged.feature_names or ()]
        assert_allclose(found.weight_squared, expected[:, order], rtol=1e-9)
        assert_array_equal(found.weight > 0, expected[:, order] > 0)


@pytest.mark.parametrize("kept", KEPT.values(), ids=KEPT)
def test_a_column_that_a_sparse_bank_does_not_have_was_0_there(kept: dict[str, bool]) -> None:
    rows = Rows.random(4, 2000)
    names = [f"x{j}" for j in range(7)]
    first, second = (made("time", np.inf, **kept) for _ in range(2))
    for bank, part, width, as_input in (
        (first, rows.part(0, 1000), 4, sparse.csr_array),
        (second, rows.part(1000, 2000), 7, np.asarray),
    ):
        batch = ds.Batch.of(
            as_input(part.X[:, :width]),
            part.y,
            sample_weight=part.weight,
            time=part.time,
            missing="ignore",
            feature_names=names[:width],
        )
        bank.update(batch)
    whole = rows.X.copy()
    whole[:1000, 4:] = 0.0
    expected = rows._replace(X=whole).squared(rows.time, np.inf)
    for bank, other in ((first, second), (second, first)):
        merged = ds.Bank.from_bytes(bank.to_bytes()).merge(other)
        assert_allclose(merged.snapshot().weight_squared, expected, rtol=1e-9)


@pytest.mark.parametrize("as_input", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("kept", KEPT.values(), ids=KEPT)
def test_squared_weights_are_never_underestimated_by_rounding(
    as_input: Any, kept: dict[str, bool]
) -> None:
    """The feature was last observed 100 half-lives ago: its effective size is not overstated."""
    n, half_life = 6000, 50.0
    X = np.random.default_rng(5).standard_normal((n, 2))
    X[1000:, 0] = np.nan
    y = np.arange(n) % 2
    bank = made("row", half_life, **kept)
    for begin in range(0, n, 500):
        bank.update(as_input(X[begin : begin + 500]), y[begin : begin + 500])
    found = bank.snapshot()
    truth = by_class(y, np.exp2((np.arange(n) - n + 1) / half_life) ** 2, X)
    assert found.weight_squared is not None
    assert (found.weight_squared[:, 0] >= truth[:, 0]).all()
    assert (found.weight_squared[:, 0] <= 1e-12).all()
    assert_allclose(found.weight_squared[:, 1], truth[:, 1], rtol=1e-9)


def test_squared_weights_are_none_without_missing_values() -> None:
    assert ds.Bank().update(np.ones((4, 2)), [0, 1, 0, 1]).snapshot().weight_squared is None


def test_blocks_of_a_snapshot_carry_them() -> None:
    rows = Rows.random(6, 500)
    snap = made("row", 100.0).update(rows.X, rows.y).snapshot()
    assert snap.weight_squared is not None
    assert_array_equal(snap.columns(2, 4).weight_squared, snap.weight_squared[:, 2:4])
    joined = ds.Snapshot.concat([snap.columns(0, 3), snap.columns(3, 7)])
    assert_array_equal(joined.weight_squared, snap.weight_squared)
