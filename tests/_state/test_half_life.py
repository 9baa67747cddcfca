"""Half-lives as durations, for dates, and as numbers, for other times."""

import datetime as dt

import numpy as np
import pandas as pd
import pytest

import driftsieve as ds
from driftsieve._state.settings import half_life_of, stored_half_life, thread_count
from driftsieve.batch import Batch

X = np.array([[0.0], [1.0], [0.5], [2.0]])
Y = [0, 1, 0, 1]
DAYS = pd.date_range("2024-01-01", periods=4, freq="D")
NUMBERS = [86_400.0 * i for i in range(4)]
TWO_DAYS = [
    "2d",
    "48h",
    "1d 24h",
    "2 days",
    " 2D ",
    "2880min",
    "172800s",
    ".5 d 36 hours",
    dt.timedelta(days=2),
    pd.Timedelta("2D"),
    np.timedelta64(2, "D"),
    np.timedelta64(48, "h"),
]


@pytest.mark.parametrize("half_life", TWO_DAYS, ids=repr)
def test_durations_are_seconds_in_every_screener(half_life):
    weights = ds.offline.clock_weights(NUMBERS, clock="time", half_life=172_800)
    np.testing.assert_array_equal(
        ds.offline.clock_weights(NUMBERS, clock="time", half_life=half_life), weights
    )
    plain = ds.Bank(clock="time", half_life=172_800).update(X, Y, time=NUMBERS)
    screener = ds.FeatureScreener(k=1, clock="time", half_life=half_life)
    for t in (DAYS, NUMBERS, [day.to_pydatetime() for day in DAYS]):
        bank = ds.Bank(clock="time", half_life=half_life).update(X, Y, time=t)
        assert bank.half_life == 172_800
        weight = bank.snapshot().class_weight
        np.testing.assert_allclose(weight, plain.snapshot().class_weight, rtol=1e-14)
        assert screener.fit(X, Y, time=t).bank_.half_life == 172_800


@pytest.mark.parametrize("half_life", TWO_DAYS, ids=repr)
def test_a_screener_with_a_duration_is_stored(half_life):
    screener = ds.FeatureScreener(k=1, clock="time", half_life=half_life).fit(X, Y, time=DAYS)
    again = ds.FeatureScreener.from_bytes(screener.to_bytes())
    assert again.half_life == "172800.0s"
    assert again.partial_fit(X, Y, time=DAYS).bank_.n_rows == 8
    assert stored_half_life(half_life) == stored_half_life("2d")


@pytest.mark.parametrize("half_life", [*TWO_DAYS, 2, 2.0], ids=repr)
def test_river_accepts_durations(half_life):
    river = pytest.importorskip("driftsieve.river")
    screener = river.FeatureScreener("t", k=1, clock="time", half_life=half_life)
    times = NUMBERS if isinstance(half_life, int | float) else DAYS
    for row, label, t in zip(X, Y, times, strict=True):
        screener.learn_one({"a": row[0]}, label, time=t)
    screener.learn_many(pd.DataFrame({"a": X[:, 0]}), Y, time=times)
    assert len(screener.scores) == 1


FADING = [{"half_life": 30}, {"half_life": 30.0}, {"half_life": np.int64(30)}, {"decay": 0.9}]


@pytest.mark.parametrize("fading", FADING, ids=repr)
@pytest.mark.parametrize(
    "times", [DAYS, DAYS.tz_localize("America/New_York"), [day.date() for day in DAYS]]
)
def test_numeric_half_life_with_dates_is_an_error(fading, times):
    message = r'half_life must be a duration where times are dates.*half_life="30d"'
    bank = ds.Bank(clock="time", **fading)
    for learn in (
        bank.update,
        ds.FeatureScreener(k=1, clock="time", **fading).fit,
        lambda X, y, time: bank.update(Batch.of(X, y, time=time)),
    ):
        with pytest.raises(ValueError, match=message):
            learn(X, Y, time=times)
    assert bank.n_rows == 0
    river = pytest.importorskip("driftsieve.river")
    screener = river.FeatureScreener("t", k=1, clock="time", **fading)
    with pytest.raises(ValueError, match=message):
        screener.learn_one({"a": 1.0}, 0, time=times[0])
    with pytest.raises(ValueError, match=message):
        screener.learn_many(pd.DataFrame({"a": X[:, 0]}), Y, time=times)
    assert screener.scores == {}


@pytest.mark.parametrize("settings", [{}, {"half_life": np.inf}, {"half_life": None}])
def test_dates_without_fading_need_no_duration(settings):
    assert ds.Bank(clock="time", **settings).update(X, Y, time=DAYS).n_rows == 4


def test_milliseconds_do_not_go_with_durations():
    message = r"Times must be dates or seconds .* got 1.7e\+12, which looks like milliseconds"
    bank = ds.Bank(clock="time", half_life="30d")
    with pytest.raises(ValueError, match=message):
        bank.update(X, Y, time=[1.7e12] * 4)
    river = pytest.importorskip("driftsieve.river")
    with pytest.raises(ValueError, match=message):
        river.FeatureScreener(clock="time", half_life="30d").learn_one({"a": 1.0}, 0, time=1.7e12)
    assert bank.update(X, Y, time=[1.7e9] * 4).n_rows == 4
    assert ds.Bank(clock="time", half_life=30.0).update(X, Y, time=[1.7e12] * 4).n_rows == 4


@pytest.mark.parametrize("clock", ["row", "batch"])
def test_durations_need_the_clock_of_times(clock):
    counted = {"row": "rows", "batch": "batches"}[clock]
    with pytest.raises(ValueError, match=f"half_life must be a number of {counted} with clock="):
        ds.Bank(clock=clock, half_life="30d")


@pytest.mark.parametrize(
    "text", ["", "30", "d", "3 fortnights", "1M", "2y", "-3d", "1d-2h", "1e3s"]
)
def test_invalid_duration_is_an_error(text):
    with pytest.raises(ValueError, match=r'half_life must be a number or a duration, got .*"12h"'):
        half_life_of(None, text, "time")


@pytest.mark.parametrize(
    "duration", ["0s", dt.timedelta(0), dt.timedelta(-1), np.timedelta64("NaT"), float("nan"), 0]
)
def test_half_lives_are_positive(duration):
    with pytest.raises(ValueError, match="half_life must be greater than 0"):
        half_life_of(None, duration, "time")


@pytest.mark.parametrize("decay", [1.0, 0.5])
def test_decay_and_half_life_do_not_go_together(decay):
    message = f"decay and half_life must not both be given, got {decay} and 2d"
    with pytest.raises(ValueError, match=message):
        half_life_of(decay, "2d", "time")


@pytest.mark.parametrize("unit", ["M", "Y"])
def test_months_have_no_fixed_length(unit):
    with pytest.raises(ValueError, match="half_life must be in weeks, days or shorter units"):
        half_life_of(None, np.timedelta64(1, unit), "time")


def test_negative_numbers_of_threads_count_from_all_cores():
    cores = thread_count(None)
    assert thread_count(-1) == cores
    assert thread_count(-2) == max(1, cores - 1)
    assert thread_count(-cores - 5) == 1
    assert ds.Bank(n_threads=-1).update(X, Y).n_rows == 4
    assert ds.FeatureScreener(k=1, n_threads=-1).fit(X, Y).bank_.n_threads == -1


@pytest.mark.parametrize("name", ["half_life", "decay", "epsilon"])
def test_true_is_not_a_number(name):
    with pytest.raises(TypeError, match=f"{name} must be a number"):
        ds.Bank(**{name: True})
