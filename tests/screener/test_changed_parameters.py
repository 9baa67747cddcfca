"""Parameters that set_params changes after the first rows."""

from __future__ import annotations

import numpy as np
import pytest
from screener_rows import EXACT

import driftsieve as ds
from driftsieve import FeatureScreener
from driftsieve.exceptions import LimitError


def test_only_parameters_that_read_the_state_may_change(rows):
    X, y = rows
    screener = FeatureScreener("mutual_info", k=2, **EXACT).partial_fit(X, y)
    screener.set_params(score_func="chi2", n_bins=3)
    np.testing.assert_allclose(screener.scores_, ds.offline.scores(X, y, "chi2", 3), rtol=1e-9)
    screener.set_params(score_func="t")
    message = "score_func must be one of .*'chi2'.*, got 't', which needs moments"
    with pytest.raises(ValueError, match=message):
        screener.partial_fit(X, y)
    with pytest.raises(ValueError, match=message):
        screener.transform(X)
    screener.set_params(score_func="gini", half_life=5)
    with pytest.raises(ValueError, match=r"half_life must be inf, as in the first update, got 5.0"):
        screener.partial_fit(X, y)
    assert screener.set_params(half_life=None).partial_fit(X, y).bank_.n_rows == 1200
    assert screener.set_params(score_func="t").fit(X, y).bank_.moments


SETTLED = [
    ({"epsilon": 0.02}, "epsilon must be 0.01, as in the first update, got 0.02. Set it back"),
    ({"half_life": 5}, "half_life must be inf, as in the first update, got 5.0"),
    ({"decay": 0.5}, r"half_life must be inf.*, got 1.0 \(decay=0.5\). Set it back"),
    ({"clock": "time"}, "clock must be 'row', as in the first update, got 'time'"),
    ({"missing": "ignore"}, "missing must be 'error', as in the first update, got 'ignore'"),
    ({"score_func": "t"}, "score_func must be one of .*, got 't', which needs moments"),
    ({"k": -5}, "k must be a whole number of at least 0, got -5"),
    ({"score_func": "gini", "k": None, "fdr": 0.05}, "score_func must have p-values for fdr"),
    ({"fdr": 0.05}, "At most one of k, percentile, .* must be given, got k=2, fdr=0.05"),
    ({"max_classes": 0}, "max_classes must be at least 1, got 0"),
]


@pytest.mark.parametrize(("change", "message"), SETTLED)
def test_no_bytes_are_written_that_could_not_be_read(rows, change, message):
    screener = FeatureScreener(k=2).fit(*rows)
    before, parameters = screener.to_bytes(), screener.get_params()
    screener.set_params(**change)
    for use in (screener.to_bytes, lambda: screener.merge(FeatureScreener().fit(*rows))):
        with pytest.raises(ValueError, match=message):
            use()
    assert screener.set_params(**parameters).to_bytes() == before


def test_no_bytes_of_bad_parameters_are_written_before_any_row():
    with pytest.raises(ValueError, match="k must be a whole number of at least 0, got -5"):
        FeatureScreener(k=-5).to_bytes()


def test_limits_hold_from_the_next_rows_on(rows):
    X, y = rows
    screener = FeatureScreener(k=2).fit(X, y).set_params(max_classes=2)
    with pytest.raises(LimitError, match="at most max_classes=2, got 3"):
        screener.partial_fit(X[:1], ["eggs"])
    screener.set_params(on_limit="ignore_new").partial_fit(X[:1], ["eggs"])
    assert screener.bank_.ignored == {"rows": 1, "features": 0, "values": 0}
    read = FeatureScreener.from_bytes(screener.set_params(max_classes=3).to_bytes())
    for one in (screener, read):
        assert list(one.partial_fit(X[:1], ["eggs"]).classes_) == ["eggs", "ham", "spam"]
    screener.set_params(max_bytes=10, on_limit="error")
    with pytest.raises(LimitError, match="at most 10 bytes"):
        screener.partial_fit(X, y)
    screener.set_params(max_bytes=None, max_features=5)
    other = FeatureScreener(k=2).fit(X, y)
    with pytest.raises(LimitError, match="at most max_features=5, got 6"):
        screener.merge(other)
    assert screener.set_params(max_features=6).merge(other).bank_.n_rows == 1201


def test_changed_n_threads_applies_to_the_next_rows(rows):
    screener = FeatureScreener(k=2, n_threads=2).fit(*rows)
    assert screener.set_params(n_threads=1).partial_fit(*rows).bank_.n_threads == 1
    assert screener.bank_._threads == 1
    with pytest.raises(ValueError, match="n_threads must be at least 1, got 0"):
        screener.set_params(n_threads=0).partial_fit(*rows)
    assert screener.bank_.n_rows == 1200
