"""A sparse bank in which absent entries are missing, compared with a dense one with NaN."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from scipy import sparse

import driftsieve as ds
from driftsieve._state.limits import Limits
from driftsieve.river.dict_bank import DictBank
from driftsieve.scores import SCORES

Floats = NDArray[np.float64]
KEPT = {"both": {}, "moments": {"quantiles": False}, "quantiles": {"moments": False}}
P = 8


def rows(seed: int, n: int = 3000) -> tuple[Floats, NDArray[np.int64], Floats]:
    """Flags, zeros, counts, real values, of both signs of zero; most are missing."""
    rng = np.random.default_rng(seed)
    y = np.minimum(rng.integers(0, 3, n), np.arange(n) // 50)  # classes come one by one
    X = np.column_stack(
        [
            rng.integers(0, 2, n),
            np.zeros(n),
            np.where(rng.random(n) < 0.5, -0.0, rng.integers(-1, 3, n)),
            rng.standard_normal((n, 2)) + y[:, None],
            np.ones(n),
            rng.integers(0, 4, n) / 2,
            np.zeros(n),
        ]
    )
    X[rng.random((n, P)) > [0.4, 0.1, 0.3, 0.5, 0.02, 0.1, 0.5, 0]] = np.nan
    X[: n // 2, 5] = np.nan
    X[n // 3 :, 6] = np.nan
    return X, y, rng.exponential(size=n)


def given(X: Floats) -> sparse.csr_array:
    """The entries that are not NaN, including zeros."""
    at = np.nonzero(~np.isnan(X))
    return sparse.csr_array((X[at], at), shape=X.shape)


def bank(absent: bool, **options: Any) -> ds.Bank:
    made = ds.Bank(0.0001, missing="ignore", **options)
    if absent:
        made._core.take_absent_as_missing()
    return made


def assert_same(found: ds.Snapshot, expected: ds.Snapshot) -> None:
    tiny = 1e-13 * expected.W
    for name in ("class_weight", "weight", "weight_squared", "mean", "var", "bin_weights"):
        ours, theirs = getattr(found, name), getattr(expected, name)
        assert (ours is None) == (theirs is None)
        if ours is not None:
            assert_allclose(ours, theirs, rtol=1e-7, atol=tiny, err_msg=name)
    if expected.edges is not None:
        assert_array_equal(found.edges, expected.edges)
    assert found.design_effect is None


@pytest.mark.parametrize("kept", KEPT.values(), ids=KEPT)
@pytest.mark.parametrize("clock", ["row", "batch", "time"])
@pytest.mark.parametrize("fades", [True, False], ids=["faded", "plain"])
@pytest.mark.parametrize("weighted", [True, False], ids=["weighted", "unit"])
def test_sparse_bank_equals_a_dense_bank(
    kept: dict[str, bool], clock: Any, fades: bool, weighted: bool
) -> None:
    X, y, weight = rows(1)
    t = np.random.default_rng(2).permutation(len(y)).astype(float)
    half_life = (3.0 if clock == "batch" else 400.0) if fades else np.inf
    banks = [bank(absent, clock=clock, half_life=half_life, **kept) for absent in (True, False)]
    for begin, end in pairwise([0, 1, 30, 1000, 1001, 2990, len(y)]):
        part = slice(begin, end)
        info = (weight[part] if weighted else None, t[part] if clock == "time" else None)
        banks[0].update(given(X[part]), y[part], *info)
        banks[1].update(X[part], y[part], *info)
        again = ds.Bank.from_bytes(banks[0].to_bytes())
        assert again.to_bytes() == banks[0].to_bytes()
        banks[0] = again
    found, expected = (made.snapshot() for made in banks)
    assert_same(found, expected)
    assert_same(banks[0].cut(slice(2, 7)).snapshot(), banks[1].cut(slice(2, 7)).snapshot())


@pytest.mark.parametrize("kept", KEPT.values(), ids=KEPT)
@pytest.mark.parametrize("half_life", [500.0, np.inf], ids=["faded", "plain"])
def test_merged_parts_equal_the_whole(kept: dict[str, bool], half_life: float) -> None:
    """Also with dense rows, and parts that differ in the values and classes that come first."""
    X, y, weight = rows(3)
    options = {"half_life": half_life, **kept}
    expected = bank(False, **options).update(X, y, weight).snapshot()
    parts = []
    for begin, end in pairwise([0, 40, 1500, 3000]):
        part = slice(begin, end)
        for form in (given, np.asarray):
            made = bank(True, **options).update(form(X[part]), y[part], weight[part])
            parts.append((begin, made))
    for order in ([0, 2, 4], [4, 0, 2], [0, 3, 4], [1, 2, 4]):
        merged = bank(True, **options)
        for begin, part_bank in (parts[i] for i in order):
            merged.merge(part_bank, start=begin if np.isfinite(half_life) else None)
        found = merged.snapshot()
        assert_same(found, expected)


def test_splits_and_dense_rows_give_the_same_bits() -> None:
    X, y, weight = rows(4)
    for kept in KEPT.values():
        whole = bank(True, half_life=200.0, **kept).update(given(X), y, weight)
        split = bank(True, half_life=200.0, **kept)
        for begin, end in pairwise([0, 7, 1000, 3000]):
            part = slice(begin, end)
            form = np.asarray if begin == 1000 else given
            split.update(form(X[part]), y[part], weight[part])
        assert split.to_bytes() == whole.to_bytes()


def test_absent_is_missing_can_be_set_only_before_the_first_row() -> None:
    made = ds.Bank(missing="ignore").update(np.ones((2, 1)), [0, 1])
    with pytest.raises(RuntimeError, match="from the first row on"):
        made._core.take_absent_as_missing()
    with pytest.raises(RuntimeError, match="from the first row on"):
        ds.Bank()._core.take_absent_as_missing()


def test_only_banks_with_the_same_treatment_of_absent_entries_merge() -> None:
    banks = [bank(absent).update(sparse.eye_array(2), [0, 1]) for absent in (True, False)]
    with pytest.raises(ValueError, match="Absent entries must be 0 in both banks"):
        banks[0].merge(banks[1])


@pytest.mark.parametrize("half_life", [300.0, None])
@pytest.mark.parametrize("clock", ["row", "time"])
@pytest.mark.parametrize("score", SCORES)
def test_late_keys_of_river_score_as_columns_of_nan(score: str, clock: Any, half_life: Any) -> None:
    """Scores, p-values and effective sizes, of keys that come late, vanish or are rare."""
    X, y, weight = rows(5, 2000)
    X[:500, 3:] = np.nan
    X[0, :2] = 1.0
    dicts = DictBank(
        absent="missing",
        missing="error",
        clock=clock,
        limits=Limits(),
        epsilon=0.001,
        half_life=half_life,
    )
    for i, x in enumerate(X):
        row = {j: v for j, v in enumerate(x.tolist()) if v == v}
        dicts.update_one(row, int(y[i]), weight[i], float(i) if clock == "time" else None)
    t = np.arange(2000.0) if clock == "time" else None
    whole = bank(False, clock=clock, half_life=half_life).update(X, y, weight, t).snapshot()
    keys = dicts.keys
    assert len(keys) == P - 1  # the last column has no value
    for function in (SCORES[score].function, SCORES[score].pvalues):
        if function is None:
            continue
        found = dicts.read(function, 5, np.nan)
        assert_allclose(found, function(whole)[keys], rtol=1e-7, atol=1e-12)
    squares = dicts.read(lambda snap: snap.weight_squared.sum(axis=0), 5, np.nan)
    assert_allclose(squares, whole.weight_squared.sum(axis=0)[keys], rtol=1e-9)


def test_rare_late_keys_of_river_take_about_what_they_take_with_zeros() -> None:
    rng = np.random.default_rng(6)
    nbytes = {}
    for absent in ("zero", "missing"):
        dicts = DictBank(absent=absent, missing="error", clock="row", limits=Limits())
        for i in range(3000):
            row = {f"k{j}": 1.0 for j in rng.integers(0, 3000, 4)} | {"always": 0.5}
            dicts.update_one(row, i % 2)
        dicts.flush()
        nbytes[absent] = dicts.nbytes
    assert nbytes["missing"] < 2 * nbytes["zero"]
