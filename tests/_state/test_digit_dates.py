"""Times such as 20200131 are dates in digits, and are not read as 20,200,131 seconds or ticks."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest

import driftsieve as ds

X, Y = np.array([[0.0], [1.0], [0.5]]), [0, 1, 0]
DATES = [20191231, 20200131, 20200201]
MESSAGE = r"time must hold datetimes or numbers, got 20191231\d*, which is a date in digits"


@pytest.mark.parametrize("fading", [{"half_life": "30d"}, {"half_life": 30}, {"decay": 0.9}])
@pytest.mark.parametrize("times", [DATES, [float(t) for t in DATES]])
def test_dates_in_digits_are_refused(fading, times):
    bank = ds.Bank(clock="time", **fading)
    for learn in (bank.update, ds.FeatureScreener(k=1, clock="time", **fading).fit):
        with pytest.raises(ValueError, match=MESSAGE):
            learn(X, Y, time=times)
    assert bank.n_rows == 0
    river = pytest.importorskip("driftsieve.river")
    screener = river.FeatureScreener(k=1, clock="time", **fading)
    with pytest.raises(ValueError, match=MESSAGE):
        screener.learn_one({"a": 1.0}, 0, time=times[0])
    with pytest.raises(ValueError, match=MESSAGE):
        screener.learn_many(pd.DataFrame({"a": X[:, 0]}), Y, time=times)
    assert screener.scores == {}


@pytest.mark.parametrize("times", [[t * 10_000 + 930 for t in DATES], [t * 10**6 for t in DATES]])
def test_dates_in_digits_with_a_time_of_day_are_refused(times):
    with pytest.raises(ValueError, match=MESSAGE):
        ds.Bank(clock="time", half_life=30).update(X, Y, time=times)


@pytest.mark.parametrize(
    ("settings", "times"),
    [
        ({}, DATES),  # nothing fades
        ({"half_life": 30}, [20200131, 20200132, 20200133]),  # no day of a month
        ({"half_life": 30}, [20200131.5, 20200131.75, 20200201]),
        ({"half_life": "30d"}, [1.58e9, 1.59e9, 1.6e9]),
        ({"half_life": 30}, [1.58e12, 1.59e12, 1.6e12]),
        ({"half_life": "30d"}, pd.to_datetime([str(t) for t in DATES])),
    ],
)
def test_other_times_are_accepted(settings, times):
    assert ds.Bank(clock="time", **settings).update(X, Y, time=times).n_rows == 3


def test_times_in_seconds_that_look_like_dates_are_accepted():
    bank = ds.Bank(clock="time", half_life="30d").update(X, Y, time=[0.0, 1.0, 2.0])
    assert bank.update(X, Y, time=DATES).n_rows == 6


@pytest.mark.parametrize("restored", ["bytes", "pickle", "copy", "merged", "cut"])
def test_times_are_checked_after_a_bank_was_stored(restored):
    first = ds.Bank(clock="time", half_life=30).update(X, Y, time=[0, 1, 2])
    bank = {
        "bytes": lambda: ds.Bank.from_bytes(first.to_bytes()),
        "pickle": lambda: pickle.loads(pickle.dumps(first)),
        "copy": lambda: copy.copy(first),
        "merged": lambda: ds.Bank(clock="time", half_life=30).merge(first),
        "cut": lambda: first.cut(slice(0, 1)),
    }[restored]()
    days = pd.to_datetime([str(t) for t in DATES])
    with pytest.raises(ValueError, match="half_life must be a duration where times are dates"):
        bank.update(X, Y, time=days)
    assert bank.update(X, Y, time=[3, 4, 5]).n_rows == 6
    screener = ds.FeatureScreener(k=1, clock="time", half_life="30d").fit(X, Y, time=days)
    again = ds.FeatureScreener.from_bytes(screener.to_bytes())
    with pytest.raises(ValueError, match="looks like milliseconds"):
        again.partial_fit(X, Y, time=[1.58e12, 1.59e12, 1.6e12])
