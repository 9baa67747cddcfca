"""Digits: offsets, huge weights, extremes of float32 and columns that hardly vary lose none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import driftsieve as ds
from driftsieve.scores import SCORES

FORMS = [np.asarray, sparse.csr_array]
MOMENTS = (ds.scores.t, ds.scores.fisher)


def stream(n: int = 20_000) -> tuple[Any, Any]:
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, n)
    return rng.normal(size=(n, 3)) + np.outer(y, [1.0, 0.1, 0.03]), y


@pytest.mark.parametrize("quantiles", [True, False])
@pytest.mark.parametrize("settings", [{}, {"half_life": 500.0}, {"half_life": 1e6}])
@pytest.mark.parametrize("form", FORMS)
def test_an_offset_costs_moments_no_digits(
    form: Callable[..., Any], settings: dict[str, float], quantiles: bool
) -> None:
    """Also where class means hardly differ, though doubles near 1e8 are 1.5e-8 apart."""
    X, y = stream()
    X = np.round(X * 2**20) / 2**20  # so that X + 1e8 holds the same differences
    plain, moved = (
        ds.Bank(0.01, quantiles=quantiles, **settings).update(form(X + offset), y).snapshot()
        for offset in (0.0, 1e8)
    )
    for score in MOMENTS:
        assert_allclose(score(moved), score(plain), rtol=1e-6)
    # rounded once, when it is read
    assert_allclose(moved.mean - 1e8, plain.mean, rtol=0, atol=np.spacing(1e8) * 0.501)
    assert_allclose(moved.var, plain.var, rtol=1e-8)


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize("zero_row", range(21))
def test_sparse_variance_equals_dense(zero_row: int, alone: bool) -> None:
    """The weight of zeros is a difference, which must not keep a rounding error.

    A class has one zero row, among values near 1e8 or alone; the other classes have none.
    """
    i = np.arange(21)
    X, y = (1e8 + i % 3)[:, None], i % 2
    X[zero_row] = 0.0
    if alone:
        y[zero_row] = 2
    exact = ds.offline.snapshot(X, y, sample_weight=0.9 ** (20.0 - i))
    dense, split = (ds.Bank(decay=0.9).update(form(X), y).snapshot() for form in FORMS)
    assert_allclose(split.var, dense.var, rtol=1e-9)
    assert_allclose(split.var, exact.var, rtol=1e-9)
    assert_allclose(split.mean, dense.mean, rtol=1e-13)


@pytest.mark.parametrize("form", FORMS)
def test_weights_of_a_billion_rows_are_exact(form: Callable[..., Any]) -> None:
    """Whole weights up to 2**53 are counted without rounding: the last row shows."""
    X, y = stream(4000)
    weight = np.full(4000, 250_000.0)
    bank = ds.Bank(0.01).update(form(X), y, weight).update(form(X[:1]), y[:1])
    found = bank.snapshot()
    assert found.class_weight.sum() == 1e9 + 1
    assert_array_equal(found.class_weight, np.bincount(y, weight) + (np.arange(2) == y[0]))
    assert_array_equal(found.bin_weights.sum(axis=1).T, found.weight)
    exact = ds.offline.snapshot(np.vstack([X, X[:1]]), [*y, y[0]], sample_weight=[*weight, 1.0])
    for score in MOMENTS:
        assert_allclose(score(found), score(exact), rtol=1e-11)


def test_a_billion_rows_made_by_doubling() -> None:
    """A bank merged with itself thirty times over: counts go beyond what 32 bits hold."""
    X, y = np.array([[1.0], [2.0], [2.0], [5.0]]), [0, 0, 1, 1]
    bank = ds.Bank().update(X, y)
    for _ in range(32):
        bank.merge(ds.Bank.from_bytes(bank.to_bytes()))
    found = bank.snapshot(n_bins=2)
    assert bank.n_rows == 4 * 2**32
    assert_array_equal(found.bin_weights[0], np.array([[2, 1], [0, 1]]) * 2.0**32)
    assert_array_equal(found.mean[:, 0], [1.5, 3.5])
    assert_array_equal(found.var[:, 0], [0.25, 2.25])


@pytest.mark.parametrize("form", FORMS)
def test_negative_zero_equals_zero(form: Callable[..., Any]) -> None:
    X = np.array([[0.0, -0.0, 1.0, -0.0, -1.0, 0.0]]).T
    y = [0, 1, 0, 1, 0, 1]
    found = ds.Bank().update(form(X), y).snapshot(n_bins=3)
    exact = ds.offline.snapshot(np.abs(X) * np.sign(X), y, n_bins=3)
    assert_array_equal(found.edges, exact.edges)
    assert_array_equal(found.bin_weights, exact.bin_weights)


@pytest.mark.parametrize("form", FORMS)
def test_the_extremes_of_float32(form: Callable[..., Any]) -> None:
    info = np.finfo(np.float32)
    values = [info.max, info.min, info.tiny, -info.tiny, info.smallest_subnormal, 0.0, 1.0, -1.0]
    X = np.array([values * 500], dtype=np.float32).T
    y = np.arange(len(X)) * 7 % 3 % 2
    found = ds.Bank(0.01).update(form(X), y).snapshot()
    exact = ds.offline.snapshot(X.astype(np.float64), y)
    assert_array_equal(found.bin_weights, exact.bin_weights)
    assert_array_equal(found.rank_error, 0.0)
    assert_allclose(found.var, exact.var, rtol=1e-12)
    for name, score in SCORES.items():
        assert_allclose(score.function(found), score.function(exact), rtol=1e-9, err_msg=name)


@pytest.mark.parametrize("settings", [{}, {"half_life": 0.7}])
@pytest.mark.parametrize("form", FORMS)
def test_one_row_of_each_class(form: Callable[..., Any], settings: dict[str, float]) -> None:
    X = np.array([[3.0, 1.0, 0.0], [4.0, 1.0, 0.0]])
    found = ds.Bank(**settings).update(form(X), [0, 1]).snapshot()
    assert_array_equal(found.var, 0.0)
    assert_array_equal(ds.scores.t(found), 0.0)  # one row is no evidence
    assert_array_equal(ds.scores.fisher(found), 0.0)


@pytest.mark.parametrize("value", [0.1, 1e8 + 0.1, -7.3, 1e-300, 3e38])
@pytest.mark.parametrize("settings", [{}, {"half_life": 50.0}, {"half_life": 3e5}])
@pytest.mark.parametrize("form", FORMS)
def test_constant_column_scores_0(
    form: Callable[..., Any], settings: dict[str, float], value: float
) -> None:
    """Also where classes are weighed by thirds, over many blocks and merges."""
    n = 9000
    y = np.arange(n) * 31 % 7 % 2
    weight = np.random.default_rng(5).uniform(0, 1 / 3, n)
    X = np.full((n, 1), value)
    bank = ds.Bank(0.1, **settings).update(form(X[:5000]), y[:5000], weight[:5000])
    bank.update(form(X[5000:]), y[5000:], weight[5000:])
    for name, score in SCORES.items():
        worst = 0.0 if score.larger_is_better else score.function(_uninformative(bank))[0]
        assert_allclose(score.function(bank.snapshot()), worst, rtol=1e-9, err_msg=name)


def _uninformative(bank: ds.Bank) -> Any:
    """The classes of the bank, all rows in one bin."""
    weight = bank.snapshot().class_weight
    return ds.offline.snapshot(np.zeros((2, 1)), [0, 1], sample_weight=weight)
