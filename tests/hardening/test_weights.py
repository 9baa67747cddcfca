"""Weights of many sizes in one feature: light rows are neither lost nor invented."""

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

import driftsieve as ds


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("weight", [1.0, 1e18])
def test_a_bank_whose_rows_differ_much_in_weight_can_be_stored(seed, weight):
    """Where a column straddles 0, cells and mini-bins of all kinds of weight end just below it."""
    rng = np.random.default_rng(seed)
    bank = ds.Bank(0.05, half_life=10) if weight == 1.0 else ds.Bank(0.05)
    for k in range(8):
        X = np.where(rng.random((1600, 16)) < 0.04, rng.normal(size=(1600, 16)), 0.0)
        y = np.minimum(rng.integers(0, 9, 1600), k // 2)  # new classes keep coming
        bank.update(X, y, sample_weight=np.full(1600, weight ** min(k, 6)))
    assert copy.deepcopy(bank).to_bytes() == bank.to_bytes()


def test_rows_with_weights_and_then_rows_without_are_as_if_all_had_weights():
    rng, n = np.random.default_rng(0), 1600
    far = np.where(rng.random((n, 1)) < 0.01, 1e3, 0.0)  # taken out of the cells of the others
    X = np.r_[rng.uniform(size=(n, 1)), far + rng.uniform(10, 11, size=(n, 1))]
    y, weight = rng.integers(0, 4, 2 * n), np.full(n, 0.9)
    bank = ds.Bank().update(X[:n], y[:n], sample_weight=weight).update(X[n:], y[n:])
    snap = bank.snapshot(1000)
    assert_allclose(snap.bin_weights[0].sum(axis=0), snap.class_weight, rtol=1e-12)
    below = snap.bin_weights[0][: np.searchsorted(snap.edges[0], 5.0)].sum()
    assert abs(below - weight.sum()) <= snap.rank_error[0]


@pytest.mark.parametrize("heavier", [1e10, 1e16, 1e25])
def test_the_budget_is_a_share_of_the_rows_that_are_there(heavier):
    rng, n = np.random.default_rng(0), 16_000
    X, y, weight = rng.normal(size=(n, 1)), rng.integers(0, 2, n), rng.uniform(0.5, 1.5, n)
    missing = rng.random(n) < 0.3
    X[missing] = np.nan
    weight[missing] *= heavier
    bank = ds.Bank(missing="ignore").update(X, y, sample_weight=weight)
    assert bank.snapshot().rank_error[0] <= 0.01 * weight[~missing].sum()
    assert bank.nbytes < 20_000  # so it was pruned


@pytest.mark.parametrize("silent", [10, 40, 57, 58, 80])
def test_a_merged_feature_that_was_missing_for_many_half_lives_keeps_the_budget(silent):
    half_life = 1600
    for seed in range(6):
        rng = np.random.default_rng(seed)
        banks = []
        for _ in range(3):
            X = rng.normal(size=(2 * half_life + silent * half_life, 1))
            X[2 * half_life :] = np.nan
            y, t = rng.integers(0, 2, len(X)), np.arange(len(X))
            bank = ds.Bank(missing="ignore", clock="time", half_life=half_life)
            banks.append(bank.update(X, y, time=t))
        snap = banks[0].merge(banks[1]).merge(banks[2]).snapshot()
        # the bins have the rows themselves, while the class weights are a difference
        assert snap.rank_error[0] <= 0.01 * snap.bin_weights[0].sum() * (1 + 1e-9)


@pytest.mark.parametrize("options", [{}, {"moments": False}, {"quantiles": False}])
def test_zeros_without_weight_leave_no_trace_in_a_sparse_bank(options):
    """The same for rows that have faded away."""
    rng = np.random.default_rng(0)
    for _ in range(30):
        y = rng.integers(0, 2, 40)
        X = sparse.csr_array(np.where(y == 1, -1.0, -2.0)[:, None])
        weight, zeros = rng.uniform(0.1, 1, 40), sparse.csr_array((2, 1))
        plain = ds.Bank(**options).update(X, y, sample_weight=weight)
        light = ds.Bank(**options).update(zeros, [0, 1], sample_weight=[0.0, 0.0])
        faded = ds.Bank(**options, clock="time", half_life=1.0).update(zeros, [0, 1], time=[0, 0])
        light.update(X, y, sample_weight=weight)
        faded.update(X, y, sample_weight=weight, time=np.full(40, 200.0))
        for score in ds.scores.SCORES.values():
            if not getattr(plain, score.needs):
                continue
            expected = score.function(plain.snapshot())
            assert_allclose(score.function(light.snapshot()), expected, rtol=1e-9)
            assert_allclose(score.function(faded.snapshot()), expected, rtol=1e-9)


def test_a_class_of_one_row_cannot_be_tested_whatever_it_weighs():
    rng = np.random.default_rng(0)
    for n in range(30, 60):
        X, y = rng.normal(size=(n, 3)), np.arange(n) == n // 2
        for options in ({"half_life": 50}, {}):
            bank = ds.Bank(**options).update(X, y, sample_weight=np.full(n, n / 7))
            assert ds.scores.t_pvalues(bank.snapshot()).tolist() == [1.0] * 3


def test_one_row_per_class_cannot_be_tested_with_any_weights():
    rng = np.random.default_rng(0)
    for n in range(2, 40):
        X, y = rng.normal(size=(n, 3)), np.arange(n)
        for weight in (1.0, 0.7, 4.81):
            snap = ds.Bank().update(X, y, sample_weight=np.full(n, weight)).snapshot()
            assert ds.scores.fisher_pvalues(snap).tolist() == [1.0] * 3


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_rounding_moves_no_edge_of_many_values(form):
    n, rng = 200_000, np.random.default_rng(0)
    X, y = rng.permutation(n)[:, None] + 1.0, rng.integers(0, 2, n)
    snap = ds.Bank(1e-7).update(form(X), y, sample_weight=np.full(n, 0.1)).snapshot()
    assert snap.edges.tolist() == [[40_000, 80_000, 120_000, 160_000]]
