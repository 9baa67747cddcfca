"""Merges of banks that learn how long to remember, with times whose unit may not be known yet."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from driftsieve.exceptions import LimitError
from driftsieve.memory import LearnedBank

from .memory_rows import leaping

N = 3000
X, Y = leaping(N, p=3)
HOURS = np.datetime64("2024-01-01") + np.arange(N) * np.timedelta64(1, "h")
SECONDS = 3600.0 * np.arange(N)


def bank_of(begin, end, times=HOURS, **settings):
    rows = slice(begin, end)
    return LearnedBank(clock="time", **settings).update(X[rows], Y[rows], time=times[rows])


@pytest.mark.parametrize("times", [HOURS, SECONDS], ids=["dates", "numbers"])
@pytest.mark.parametrize("ends", [(100, N), (N - 100, N), (100, 200), (0, N), (N, N)], ids=str)
def test_parts_have_the_rows_of_the_whole_whether_they_wait_or_not(times, ends):
    middle, end = ends
    merged = bank_of(0, middle, times).merge(bank_of(middle, end, times))
    whole = bank_of(0, end, times)
    assert merged.n_rows == end
    assert merged.half_lives == pytest.approx(whole.half_lives)
    for half_life, other in zip(merged.half_lives, whole.half_lives, strict=True):
        found = merged.snapshot(half_life=half_life).class_weight
        expected = whole.snapshot(half_life=other).class_weight
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)
    merged.update(X[:5], Y[:5], time=times[:5])


def test_a_bank_with_waiting_rows_can_be_merged_with_itself():
    bank = bank_of(0, 100)
    assert bank.merge(bank).n_rows == 200


@pytest.mark.parametrize("n", [100, 1000])
def test_other_columns_are_missing_in_dense_rows_that_wait(n):
    parts = [
        LearnedBank(clock="time", missing="ignore").update(
            pd.DataFrame(X[:n, :2], columns=["both", name]), Y[:n], time=HOURS[:n]
        )
        for name in "ab"
    ]
    merged = parts[0].merge(parts[1])
    assert merged.feature_names == ("both", "a", "b")
    weight = merged.snapshot(half_life=np.inf).weight.sum(axis=0)
    assert weight.tolist() == [2 * n, n, n]


def test_half_lives_of_other_times_do_not_merge():
    bank = bank_of(0, 1000, SECONDS)
    before = bank.to_bytes()
    with pytest.raises(ValueError, match=r"must be a list .* from 900000 and from 9e\+06"):
        bank.merge(bank_of(0, 1000, 10 * SECONDS))
    with pytest.raises(
        ValueError, match=r"same half_life to be merged, got 'auto' and \(60.0, inf\)"
    ):
        bank.merge(bank_of(0, 1000, SECONDS, half_life=[60.0, None]))
    assert bank.to_bytes() == before


def test_a_refused_merge_of_rows_that_wait_changes_nothing():
    bank = bank_of(0, 100, max_classes=2)
    other = bank_of(100, 150).update(X[150:200], Y[150:200] + 5, time=HOURS[150:200])
    before = bank.to_bytes()
    with pytest.raises(LimitError, match="got 4"):
        bank.merge(other)
    assert bank.to_bytes() == before
    assert bank.n_rows == 100


@pytest.mark.parametrize("on_limit", ["error", "ignore_new"])
def test_accepted_rows_are_not_refused_when_the_unit_of_times_is_known(on_limit):
    """The rows that wait count, and so do nine half-lives before they are known."""
    rows = sparse.csr_array(X)
    most = LearnedBank(clock="time").update(rows[:499], Y[:499], time=HOURS[:499]).nbytes
    bank = LearnedBank(clock="time", max_bytes=1.5 * most, on_limit=on_limit)
    bank.update(rows[:499], Y[:499], time=HOURS[:499])
    assert np.isfinite(bank.scores()).all()
    bank.update(rows[499:500], Y[499:500], time=HOURS[499:500])
    assert bank.n_rows == 500
    assert bank.nbytes <= bank.max_bytes
    state = bank.to_bytes()
    with pytest.raises(LimitError, match="max_bytes"):
        bank.update(rows, Y, time=HOURS)
    assert bank.to_bytes() == state
    too_small = LearnedBank(clock="time", max_bytes=0.9 * most, on_limit=on_limit)
    with pytest.raises(LimitError, match="max_bytes"):
        too_small.update(rows[:499], Y[:499], time=HOURS[:499])
    assert too_small.n_rows == 0


def test_dates_in_digits_are_refused():
    digits = np.repeat([20240131.0, 20240201.0], N // 2)
    bank = LearnedBank(clock="time")
    for rows in (slice(0, 10), slice(0, N)):
        with pytest.raises(ValueError, match="20240131, which is a date in digits"):
            bank.update(X[rows], Y[rows], time=digits[rows])
    assert bank.n_rows == 0


def test_dates_within_a_microsecond():
    times = np.datetime64("2024-01-01", "ns") + np.arange(N)
    bank = LearnedBank(clock="time").update(X, Y, time=times)
    assert bank.half_lives[0] == pytest.approx(250e-6, rel=0.01)
