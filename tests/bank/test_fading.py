"""Faded scores equal the weighted offline ones, whatever the clock and however long the stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from scipy import sparse

import driftsieve as ds
from driftsieve.scores import SCORES, rank

INPUTS = [np.asarray, sparse.csr_array]
EXACT = 1e-4  # epsilon at which none of these streams is pruned
Floats = NDArray[np.float64]


def assert_scores(bank: ds.Bank, X: Any, y: Any, weight: Floats) -> None:
    """All five scores and their rankings are those of the weighted rows."""
    ours = bank.snapshot()
    theirs = ds.offline.snapshot(X, y, sample_weight=weight)
    for name, score in SCORES.items():
        got, expected = score.function(ours), score.function(theirs)
        assert_allclose(got, expected, rtol=1e-9, atol=1e-15, err_msg=name)
        order = [rank(values, score.larger_is_better) for values in (got, expected)]
        assert_array_equal(*order, err_msg=name)
    assert_allclose(ours.class_weight, theirs.class_weight, rtol=1e-9)
    assert_allclose([ours.n_eff, *ours.class_n_eff], [theirs.n_eff, *theirs.class_n_eff], rtol=1e-9)


def stream(n: int, seed: int = 0) -> tuple[Floats, NDArray[np.int64]]:
    """Columns that separate two classes, the last two with values at the ends only."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = np.column_stack(
        [
            rng.normal(size=n) + y,
            np.where(rng.random(n) < 0.6, 0.0, rng.exponential(size=n) + 0.3 * y),
            (rng.random(n) < 0.1 + 0.2 * y).astype(float),  # a flag
            rng.integers(-2, 3, n),
            np.where(np.arange(n) >= n - n // 10, rng.normal(size=n) - y, 0.0),  # first seen late
            np.where(np.arange(n) < n // 10, rng.normal(size=n) + y, 0.0),  # no values for long
        ]
    )
    return X, y


@pytest.mark.parametrize("as_input", INPUTS)
@pytest.mark.parametrize("half_life", [0.5, 40.0, 1e5])
@pytest.mark.parametrize("clock", ["row", "batch", "time"])
def test_faded_scores_equal_offline_scores_for_every_clock(
    clock: Any, half_life: float, as_input: Callable[..., Any]
) -> None:
    n = 3000
    X, y = stream(n)
    rng = np.random.default_rng(1)
    sample_weight = rng.uniform(0.5, 2.0, n)
    lengths = np.diff([0, *np.sort(rng.choice(n, 30, replace=False)), n])
    t = np.sort(rng.uniform(-500, 500, n)) if clock == "time" else None
    bank = ds.Bank(EXACT, half_life=half_life, clock=clock)
    for rows in np.split(np.arange(n), np.cumsum(lengths)[:-1]):
        bank.update(as_input(X[rows]), y[rows], sample_weight[rows], None if t is None else t[rows])
    given: Any = {"row": n, "batch": lengths, "time": t}[clock]
    weight = ds.offline.clock_weights(given, clock=clock, half_life=half_life)
    assert_scores(bank, X, y, weight * sample_weight)


@pytest.mark.parametrize("as_input", INPUTS)
def test_a_million_rows_that_are_soon_forgotten(as_input: Callable[..., Any]) -> None:
    """decay = 0.9: the landmark moves 593 times; older rows than the last 7,000 weigh nothing."""
    n, kept = 1_000_000, 7_000
    X, y = stream(n)
    X[-3:-1, 5] = [4.0, -3.0]  # a value at the very end, after 900,000 rows without
    bank = ds.Bank(EXACT, decay=0.9)
    for rows in np.array_split(np.arange(n), 7):
        bank.update(as_input(X[rows]), y[rows])
    assert bank.now == n - 1
    assert_scores(bank, X[-kept:], y[-kept:], 0.9 ** np.arange(kept, dtype=float)[::-1])


@pytest.mark.parametrize("as_input", INPUTS)
def test_a_million_rows_that_are_hardly_forgotten(as_input: Callable[..., Any]) -> None:
    """decay = 0.999999: the first row still weighs 0.37."""
    n = 1_000_000
    X, y = stream(n)
    X = np.round(X, 1)  # few enough values to stay exact
    bank = ds.Bank(0.001, decay=0.999999)
    for rows in np.array_split(np.arange(n), 7):
        bank.update(as_input(X[rows]), y[rows])
    assert_array_equal(bank.snapshot().rank_error, 0.0)
    assert_scores(bank, X, y, 0.999999 ** np.arange(n, dtype=float)[::-1])


@pytest.mark.parametrize("as_input", INPUTS)
def test_rows_can_be_late_and_in_any_order(as_input: Callable[..., Any]) -> None:
    """Over 2,000 half-lives: nearly every batch holds rows older than what a double can weigh."""
    n, half_life = 4000, 3.0
    X, y = stream(n)
    rng = np.random.default_rng(2)
    t = 1.7e9 + rng.uniform(0, 2000 * half_life, n)
    t[-200:] = t.max() - rng.uniform(0, 20 * half_life, 200)  # so that some rows have weight
    weight = ds.offline.clock_weights(t, clock="time", half_life=half_life)
    for order in (np.argsort(t), np.argsort(-t), rng.permutation(n)):
        bank = ds.Bank(EXACT, half_life=half_life, clock="time")
        for rows in np.array_split(order, 9):
            bank.update(as_input(X[rows]), y[rows], time=t[rows])
        assert bank.now == t.max()
        assert_scores(bank, X, y, weight)


@pytest.mark.parametrize("as_input", INPUTS)
@pytest.mark.parametrize("gap", [1000.0, 255.999, 256.0, 1e6])
def test_rows_before_a_gap_of_many_half_lives_no_longer_count(
    gap: float, as_input: Callable[..., Any]
) -> None:
    """Rows before the gap no longer count; features without later values are zero."""
    n, half_life = 2000, 10.0
    X, y = stream(n)
    t = np.arange(n, dtype=np.float64) / 100
    t[n // 2 :] += gap * half_life
    bank = ds.Bank(EXACT, half_life=half_life, clock="time").update(as_input(X), y, time=t)
    weight = ds.offline.clock_weights(t, clock="time", half_life=half_life)
    assert_scores(bank, X, y, weight)
    assert_allclose(bank.snapshot().mean[:, 5], 0.0, atol=1e-70)  # the one without new values


@pytest.mark.parametrize("as_input", INPUTS)
def test_after_a_row_of_the_far_future_the_past_weighs_nothing(
    as_input: Callable[..., Any],
) -> None:
    X, y = stream(1000)
    t = np.arange(1000, dtype=np.float64)
    bank = ds.Bank(EXACT, half_life=10.0, clock="time")
    bank.update(as_input(X[:1]), y[:1], time=[1e6])
    now = bank.snapshot()
    bank.update(as_input(X[1:]), y[1:], time=t[1:])
    assert bank.n_rows == 1000
    for name in ("mean", "var"):
        assert_array_equal(getattr(bank.snapshot(), name)[y[0]], getattr(now, name)[0])
    assert_array_equal(bank.snapshot().class_weight[y[0]], 1.0)


@pytest.mark.parametrize("as_input", INPUTS)
def test_faded_parts_merge_to_the_whole(as_input: Callable[..., Any]) -> None:
    """Chains and trees of merges with start=, over thousands of half-lives."""
    n, half_life, parts = 4000, 1.5, 8
    X, y = stream(n)
    size = n // parts
    banks = [
        ds.Bank(EXACT, half_life=half_life).update(as_input(X[k : k + size]), y[k : k + size])
        for k in range(0, n, size)
    ]
    weight = ds.offline.clock_weights(n, half_life=half_life)
    chain = ds.Bank.from_bytes(banks[0].to_bytes())
    for k, bank in enumerate(banks[1:], start=1):
        chain.merge(bank, start=k * size)
    assert_scores(chain, X, y, weight)
    width = size
    while len(banks) > 1:  # neighbours, then neighbours of neighbours
        banks = [a.merge(b, start=width) for a, b in zip(banks[::2], banks[1::2], strict=True)]
        width *= 2
    assert_scores(banks[0], X, y, weight)
