"""Banks with several half-lives: settings, errors and limits."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import driftsieve as ds

ROWS = {"X": [[0.0, 5.0], [1.0, 5.0], [0.0, 6.0], [1.0, 7.0]], "y": [0, 1, 0, 1]}


def test_half_lives_are_sorted_and_none_is_infinite() -> None:
    bank = ds.Bank(half_life=[1000, None, 500])
    assert bank.half_lives == bank.half_life == (500.0, 1000.0, math.inf)
    assert bank.decay == tuple(2 ** (-1 / h) for h in bank.half_lives)
    assert "half_life=(500.0, 1000.0, inf)" in repr(bank)


def test_list_of_one_equals_the_single_bank() -> None:
    single, listed = (ds.Bank(half_life=h).update(**ROWS) for h in (30, np.array([30])))
    assert listed.half_life == single.half_life == 30.0
    assert listed.to_bytes() == single.to_bytes()
    assert_array_equal(listed.snapshot().mean, single.snapshot(half_life=30).mean)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"half_life": []}, "at least one half-life"),
        ({"half_life": [5, 10, 5.0]}, "each half-life once, got 5 twice"),
        ({"half_life": [None, math.inf]}, "each half-life once, got inf twice"),
        ({"half_life": [5, -1]}, "greater than 0, got -1"),
        ({"half_life": [5, "1d"]}, 'Durations are for clock="time"'),
        ({"half_life": [5, "1d"], "clock": "time"}, "only numbers or only durations"),
        ({"half_life": [5], "decay": 0.5}, "must not both be given"),
        ({"half_life": [5, [6]]}, "half_life must be a number"),
        ({"half_life": b"5"}, "half_life must be a number or a duration"),
    ],
)
def test_bad_lists_are_errors(settings: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        ds.Bank(**settings)


def test_snapshot_names_the_half_lives_there_are() -> None:
    bank = ds.Bank(half_life=[500, None]).update(**ROWS)
    with pytest.raises(ValueError, match=r"several half-lives, got None. Pass one of 500, inf\."):
        bank.snapshot()
    with pytest.raises(ValueError, match=r"half_life must be one of 500, inf, got 600\."):
        bank.snapshot(half_life=600)
    with pytest.raises(ValueError, match=r"half_life must be one of inf, got 3\."):
        ds.Bank().snapshot(half_life=3)


def test_durations_pick_half_lives() -> None:
    bank = ds.Bank(half_life=["12h", timedelta(days=2), None], clock="time")
    times = np.array(["2026-01-01", "2026-01-02", "2026-01-03", "2026-01-04"], dtype="M8[s]")
    bank.update(**ROWS, time=times)
    assert bank.half_lives == (43200.0, 172800.0, math.inf)
    assert bank.snapshot(half_life="2d").W == bank.snapshot(half_life=172800).W
    assert pytest.approx(1 + 0.25 + 0.25**2 + 0.25**3) == bank.snapshot(half_life="12h").W
    with pytest.raises(ValueError, match="looks like milliseconds"):
        bank.update(**ROWS, time=[1e12] * 4)


def test_only_equal_ladders_merge() -> None:
    bank = ds.Bank(half_life=[5, 10]).update(**ROWS)
    for other in (ds.Bank(half_life=5), ds.Bank(half_life=[5, 20])):
        with pytest.raises(ValueError, match="the same half_life to be merged"):
            bank.merge(other)
    with pytest.raises(ValueError, match="start must be given to merge"):
        bank.merge(bank)


def test_bad_rows_leave_all_half_lives_unchanged() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(5000, 3)), rng.integers(0, 2, 5000)
    bank = ds.Bank(half_life=[5, 10], clock="time").update(X, y, time=np.arange(5000.0))
    before = bank.to_bytes()
    X[4999, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        bank.update(X, y, time=np.arange(5000.0))
    # too far away for the shortest half-life alone
    with pytest.raises(ValueError, match="longer half-life"):
        bank.update(X[:1], y[:1], time=[5.5 * 2.0**53 * 256])
    assert bank.to_bytes() == before
    assert bank.is_whole


def test_max_bytes_counts_all_half_lives() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12800, 8)), rng.integers(0, 2, 12800)
    needed = ds.Bank(half_life=[500, None]).update(X, y).nbytes
    ds.Bank(half_life=[500, None], max_bytes=1.1 * needed).update(X, y)
    small = ds.Bank(half_life=[500, None], max_bytes=0.9 * needed)
    with pytest.raises(ds.LimitError, match="max_bytes"):
        small.update(X, y)
    assert small.n_rows == 0
    assert small.set_limits(max_bytes=1.1 * needed).update(X, y).n_rows == 12800
    with pytest.raises(ds.LimitError, match="max_bytes"):
        ds.Bank(half_life=[500, None], max_bytes=0.5 * needed).merge(small)


@pytest.mark.parametrize("change", ["order", "rows"])
def test_bytes_of_other_ladders_are_refused(change: str) -> None:
    from driftsieve._core import Bank as CoreBank

    a, b = (ds.Bank(half_life=h).update(**ROWS) for h in (5, 10))
    parts = [bank._core.to_bytes() for bank in ((b, a) if change == "order" else (a, b))]
    if change == "rows":
        parts[1] = b.update(**ROWS)._core.to_bytes()
    with pytest.raises(ValueError):
        CoreBank.from_bytes(b"".join(parts))
    assert len(CoreBank.from_bytes(a._core.to_bytes()).half_lives) == 1


@pytest.mark.parametrize("quantiles", [True, False])
def test_any_split_gives_the_same_bits_with_late_classes(quantiles: bool) -> None:
    """Also with more classes than one state can have."""
    rng = np.random.default_rng(1)
    n = 16000
    X = np.where(rng.random((n, 3)) < 0.02, np.nan, rng.normal(size=(n, 3)))
    y = rng.integers(0, 1 + np.arange(n) // 2000)

    def bank() -> ds.Bank:
        return ds.Bank(half_life=[50, 900, None], missing="ignore", quantiles=quantiles)

    whole = bank().update(X, y)
    for ends in ([6400], [5000, 7001, 9000], np.arange(250, n, 250)):
        split = bank()
        for rows in np.split(np.arange(n), ends):
            split.update(X[rows], y[rows])
        assert split.to_bytes() == whole.to_bytes()
    for half_life, snap in whole.snapshots().items():
        alone = ds.Bank(half_life=half_life, missing="ignore", quantiles=quantiles)
        alone_snap = alone.update(X, y).snapshot()
        assert_allclose(snap.weight, alone_snap.weight, rtol=1e-10)
        assert_allclose(snap.mean, alone_snap.mean, rtol=1e-9, atol=1e-12)
        assert_allclose(snap.var, alone_snap.var, rtol=1e-9)


@pytest.mark.parametrize("n_half_lives", [2, 3, 5, 8, 9, 16, 17])
def test_any_number_of_half_lives_equals_single_banks(n_half_lives: int) -> None:
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(14000, 3)), rng.integers(0, 3, 14000)
    X[:, 1] = rng.integers(-30, 30, 14000)
    half_lives = [20 * 1.5**i for i in range(n_half_lives - 1)] + [None]
    bank = ds.Bank(half_life=half_lives).update(X, y)
    for half_life, snap in bank.snapshots().items():
        alone = ds.Bank(half_life=half_life).update(X, y).snapshot()
        assert_allclose(snap.mean, alone.mean, rtol=1e-9, atol=1e-12)
        assert_allclose(snap.var, alone.var, rtol=1e-9)
        assert_allclose(snap.bin_weights[1], alone.bin_weights[1], rtol=1e-9)
        assert snap.rank_error[1] == 0.0
        assert (snap.rank_error <= 0.01 * snap.W).all()
        assert (snap.rank_error[[0, 2]] > 0.0).all()
        # an edge moves by a row at least, which weighs up to 1
        assert np.abs(snap.bin_weights - alone.bin_weights).max() <= 0.02 * snap.W + 1.0


def test_an_offset_costs_no_digits_at_any_half_life() -> None:
    """Also where the row that weighs most differs by half-life, so that no shift suits them all."""
    rng = np.random.default_rng(3)
    n = 12800
    y = rng.integers(0, 2, n)
    X = 1e8 + np.where(np.arange(n) < 6400, 1e4, 0.0)[:, None] + rng.normal(size=(n, 2))
    weight = np.where(np.arange(n) % 6400 < 40, 1e9, 1e-9)
    for sample_weight in (None, weight):
        bank = ds.Bank(half_life=[5, 300, None]).update(X, y, sample_weight)
        for half_life, snap in bank.snapshots().items():
            alone = ds.Bank(half_life=half_life).update(X, y, sample_weight).snapshot()
            assert_allclose(snap.var, alone.var, rtol=1e-9)
            ours, theirs = (np.diff(each.centred_mean, axis=0) for each in (snap, alone))
            assert_allclose(ours, theirs, rtol=1e-9, atol=1e-11)


def sparse_rows(n: int, p: int = 70) -> tuple[sparse.csr_array, np.ndarray]:
    """Flags, counts and real values; the first columns are in most rows, the last in few."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(n, p))
    X[:, 1::3] = 1.0
    X[:, 2::3] = rng.poisson(1.0, size=X[:, 2::3].shape)
    X[rng.random((n, p)) > 0.9 ** np.arange(p)] = 0.0
    return sparse.csr_array(X), rng.integers(0, 2, n)


def assert_like_alone(bank: ds.Bank, banks: dict[float, ds.Bank]) -> None:
    for half_life, snap in bank.snapshots().items():
        alone = banks[half_life].snapshot()
        assert_array_equal(snap.seen, alone.seen)
        assert_allclose(snap.weight, alone.weight, rtol=1e-9, atol=1e-12)
        assert_allclose(snap.var, alone.var, rtol=1e-9, atol=1e-12)
        assert (snap.rank_error <= 0.01 * snap.W).all()
        exact = (snap.rank_error == 0.0) & (alone.rank_error == 0.0)
        assert exact[1::3].all()  # flags
        assert_allclose(snap.bin_weights[exact], alone.bin_weights[exact], rtol=1e-9, atol=1e-11)
        assert np.abs(snap.bin_weights - alone.bin_weights).max() <= 0.02 * snap.W + 1.0
        if alone.design_effect is None:
            assert snap.design_effect is None
        else:
            assert_allclose(snap.design_effect, alone.design_effect, rtol=1e-8)


@pytest.mark.parametrize("half_lives", [[50, 100, 1000, None], [7, 14, 30, 60]])
@pytest.mark.parametrize("first_weight", [None, 0, 1000])
def test_sparse_half_lives_equal_single_banks(half_lives: Any, first_weight: int | None) -> None:
    """Includes rows that differ in weight later, and two merged banks."""
    n = 6000
    X, y = sparse_rows(n)
    weight = None if first_weight is None else np.where(np.arange(n) < first_weight, 1.0, 0.5)

    def fed(half_life: Any, rows: slice, **options: Any) -> ds.Bank:
        part = None if weight is None else weight[rows]
        return ds.Bank(half_life=half_life, **options).update(X[rows], y[rows], part)

    whole = fed(half_lives, slice(n))
    alone = {h: fed(h, slice(n)) for h in whole.half_lives}
    assert_like_alone(whole, alone)
    merged = fed(half_lives, slice(2500)).merge(fed(half_lives, slice(2500, n)), start=2500)
    assert_like_alone(merged, alone)
    assert_like_alone(ds.Bank.from_bytes(merged.to_bytes()), alone)
    split = ds.Bank(half_life=half_lives, n_threads=2)
    for rows in np.split(np.arange(n), [1, 999, 1001, 1003, 4000]):
        split.update(X[rows], y[rows], None if weight is None else weight[rows])
    assert split.to_bytes() == whole.to_bytes()


def test_sparse_rows_in_any_order_and_with_values_missing() -> None:
    n = 3000
    X, y = sparse_rows(n)
    X.data[::37] = np.nan
    time = np.random.default_rng(5).permutation(n) * 10.0
    options: dict[str, Any] = {"clock": "time", "missing": "ignore"}
    bank = ds.Bank(half_life=[40, 800, None], **options).update(X, y, time=time)
    alone = {h: ds.Bank(half_life=h, **options) for h in bank.half_lives}
    for single in alone.values():
        single.update(X, y, time=time)
    assert_like_alone(bank, alone)


def test_any_split_of_sparse_rows_gives_the_same_bits_whenever_classes_come() -> None:
    """Includes streams with more classes later than share one state."""
    n = 4000
    X, _ = sparse_rows(n, 200)
    y = np.random.default_rng(6).integers(0, 1 + np.arange(n) // 500)
    whole = ds.Bank(half_life=[50, 900, None]).update(X, y)
    for ends in ([2500], [1000, 2003, 2600], np.arange(250, n, 250)):
        split = ds.Bank(half_life=[50, 900, None], n_threads=2)
        for rows in np.split(np.arange(n), ends):
            split.update(X[rows], y[rows])
        assert split.to_bytes() == whole.to_bytes()
    alone = {h: ds.Bank(half_life=h).update(X, y) for h in whole.half_lives}
    assert_like_alone(whole, alone)


@pytest.mark.parametrize("n", [1, 2, 5, 6, 20])
def test_flags_of_merged_banks(n: int) -> None:
    """Whether a flag has a record, in either bank, or gets it by the merge."""
    X = sparse.csr_array([[1.0, 0.0, 2.0], [0.0, 1.0, 2.0]] * n)
    y, half_lives = np.array([0, 1] * n), [*(2.0**i for i in range(8)), None]
    for ends in (1, 3, 11, 2 * n - 1):
        parts = [slice(ends), slice(ends, 2 * n)]
        merged, later = (ds.Bank(half_life=half_lives).update(X[r], y[r]) for r in parts)
        merged = ds.Bank.from_bytes(merged.merge(later, start=ends).to_bytes())
        assert_like_alone(merged, {h: ds.Bank(half_life=h).update(X, y) for h in merged.half_lives})


def test_cut_of_sparse_half_lives_without_rows() -> None:
    bank = ds.Bank(half_life=[5, None]).update(sparse.csr_array((0, 3)), [])
    assert bank.cut(slice(1, 3)).n_features == 2


def test_sparse_half_lives_take_little_more_than_one() -> None:
    rng = np.random.default_rng(7)
    values = sparse.random_array((4000, 3000), density=0.005, rng=rng, format="csr")
    flags = values.copy()
    flags.data[:] = 1.0
    y = rng.integers(0, 2, 4000)
    ladder = [250.0 * 2**i for i in range(8)] + [None]
    for X, most in ((values, 1.2), (flags, 5.0)):
        one = ds.Bank(half_life=4000).update(X, y).nbytes
        assert ds.Bank(half_life=ladder).update(X, y).nbytes < most * one


@pytest.mark.parametrize("is_flag", [False, True])
def test_max_bytes_of_sparse_half_lives(is_flag: bool) -> None:
    rng = np.random.default_rng(8)
    X = sparse.random_array((4000, 2000), density=0.01, rng=rng, format="csr")
    if is_flag:
        X.data[:] = 1.0
    y = rng.integers(0, 2, 4000)
    ladder = [250, 500, 1000, None]
    needed = ds.Bank(half_life=ladder).update(X, y).nbytes
    ds.Bank(half_life=ladder, max_bytes=1.5 * needed).update(X, y)
    small = ds.Bank(half_life=ladder, max_bytes=0.9 * needed)
    with pytest.raises(ds.LimitError, match="max_bytes"):
        small.update(X, y)
    assert small.n_rows == 0
    parts = ds.Bank(half_life=ladder, max_bytes=1.5 * needed)
    for rows in np.split(np.arange(4000), 8):
        parts.update(X[rows], y[rows])
    assert parts.n_rows == 4000
