"""A bad row, frame or parameter gets a clear error, and changes nothing."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

from driftsieve.river import FeatureScreener
from river_rows import learned, rows_of


@pytest.mark.parametrize(
    ("x", "y", "more", "error", "message"),
    [
        ({"a": "text"}, 0, {}, TypeError, r"x\['a'\] must be a number, got 'text'"),
        ({"new": None}, 0, {}, TypeError, r"x\['new'\] must be a number, got None"),
        ({"a": np.inf}, 0, {}, ValueError, r"x\['a'\] must be finite"),
        (
            {"b": 1.0, 7: np.nan},
            0,
            {},
            ValueError,
            r'x\[7\] must not be NaN. Pass missing="ignore"',
        ),
        ({"new": np.nan}, "new", {}, ValueError, r"x\['new'\] must not be NaN"),
        ([("a", 1.0)], 0, {}, TypeError, "x must be a dictionary of features, got list"),
        ({"a": 1.0}, 0, {"w": "heavy"}, TypeError, "w must be a number, got 'heavy'"),
        ({"a": 1.0}, 0, {"time": "now"}, TypeError, "time must be a number, got 'now'"),
        ({"a": 1.0}, 0, {"w": "1"}, TypeError, "w must be a number, got '1'"),
        ({"a": 1.0}, 0, {"time": b"1"}, TypeError, "time must be a number, got b'1'"),
        ({"a": pd.NA}, 0, {}, TypeError, r"x\['a'\] must be a number, got <NA>"),
        ({"a": 1.0}, pd.NA, {}, ValueError, "missing label: <NA>"),
        ({"a": 1.0}, None, {}, ValueError, "missing label: None"),
        ({"a": 1.0}, np.nan, {}, ValueError, "missing label: nan"),
        ({"a": 1.0}, [1], {}, TypeError, r"y must be a hashable label, got \[1\]"),
        ({"new": 1.0}, 0, {"w": -1.0}, ValueError, r"w must be finite and not negative, got -1.0"),
        ({"a": 1.0}, 0, {"w": np.nan}, ValueError, "w must be finite and not negative, got nan"),
        ({"a": 1.0}, 0, {"w": 1e200}, ValueError, "w must be at most 1e140"),
        ({"a": 1.0}, 0, {"time": 3.0}, ValueError, 'time must be given with clock="time" only'),
    ],
)
def test_a_bad_row_changes_nothing(x, y, more, error, message):
    screener = learned(*rows_of(50), absent="zero")
    before = pickle.dumps(screener)
    with pytest.raises(error, match=message):
        screener.learn_one(x, y, **more)
    assert pickle.dumps(screener) == before


@pytest.mark.parametrize(
    ("X", "y", "error", "message"),
    [
        (pd.DataFrame({"n": [1.0, np.nan]}), [0, 1], ValueError, "contains NaN at row 1"),
        (pd.DataFrame({"n": ["u", "v"]}), [0, 1], TypeError, "'n' must be numeric"),
        (pd.DataFrame({"n": [1.0, 2.0]}), [0], ValueError, "inconsistent numbers of samples"),
        (pd.DataFrame({"n": [1.0, 2.0]}), [0, None], ValueError, "missing label: None"),
        (pd.DataFrame({"n": [1.0, 2.0]}), [0, pd.NA], ValueError, "missing label: <NA>"),
        (
            pd.DataFrame({"n": [1.0]}),
            pd.DataFrame({"y": [1]}),
            ValueError,
            "y should be a 1d array",
        ),
    ],
)
def test_a_bad_frame_changes_nothing(X, y, error, message):
    screener = learned(*rows_of(50), absent="missing")
    before = pickle.dumps(screener)
    with pytest.raises(error, match=message):
        screener.learn_many(X, y)
    assert pickle.dumps(screener) == before


def test_invalid_times_are_an_error():
    screener = FeatureScreener(clock="time", half_life=None)
    for t in (None, np.inf, pd.NaT):
        with pytest.raises(
            ValueError, match=r"time must be given|time must be finite, got (inf|nan)"
        ):
            screener.learn_one({"a": 1.0}, 0, time=t)
    fading = FeatureScreener(clock="time", half_life=1e-300)
    fading.learn_one({"a": 1.0}, 0, time=0.0)
    with pytest.raises(ValueError, match="half-lives of 0"):
        fading.learn_one({"a": 1.0}, 1, time=1e9)
    with pytest.raises(ValueError, match="half-lives of 0"):
        fading.learn_many(pd.DataFrame({"b": [1.0]}), ["new"], time=[1e9])
    assert fading.ranking == {"a": 1}
    for wrong, t in ((screener, None), (FeatureScreener(), [1.0])):
        with pytest.raises(ValueError, match='time must be given exactly with clock="time"'):
            wrong.learn_many(pd.DataFrame({"a": [1.0]}), [0], time=t)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"score_func": "anova"}, "score_func must be one of 't'"),
        ({"fdr": 0.1, "score_func": "gini"}, "score_func must have p-values for fdr"),
        ({"k": 2, "fdr": 0.1}, "At most one of k, percentile, .* must be given, got k=2, fdr=0.1"),
        ({"k": -1}, "k must be a whole number"),
        ({"n_bins": 1}, "n_bins must be"),
        ({"absent": "nan"}, 'absent must be "zero" or "missing"'),
        ({"every": 0}, "every must be at least 1"),
        ({"epsilon": 2.0, "absent": "missing"}, "epsilon must be at least 1e-8"),
    ],
)
def test_invalid_parameters_are_an_error(parameters, message):
    with pytest.raises(ValueError, match=message):
        FeatureScreener(**parameters)


@pytest.mark.parametrize("half_life", [pd.NaT, {5, 50}, 5j, b"5"])
def test_half_life_that_is_no_number_is_an_error(half_life):
    with pytest.raises(TypeError, match=r"half_life must be a number or a duration such as"):
        FeatureScreener(half_life=half_life)
