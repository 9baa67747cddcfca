"""Bad input gets a clear error, and changes nothing."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from driftsieve import FeatureScreener
from driftsieve.exceptions import LimitError


def test_reading_before_any_data():
    screener = FeatureScreener()
    for read in ("scores_", "pvalues_", "ranking_", "classes_"):
        with pytest.raises(NotFittedError):
            getattr(screener, read)
    for call in (screener.get_support, screener.get_feature_names_out):
        with pytest.raises(NotFittedError):
            call()
    for output in ("select", "mask"):
        for call in (screener.transform, screener.inverse_transform):
            screener.set_params(output=output)
            with pytest.raises(NotFittedError):
                call([[1.0, 2.0]])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"score_func": "anova"}, "score_func must be one of 't', .* of a Snapshot, got 'anova'"),
        ({"score_func": ["t"]}, r"score_func must be one of 't', .* of a Snapshot, got \['t'\]"),
        ({"k": 2, "fdr": 0.1}, "At most one of k, percentile, .* must be given, got k=2, fdr=0.1"),
        ({"output": "zero"}, 'output must be "select" or "mask", got \'zero\''),
        ({"new_features": "yes"}, 'new_features must be "error" or "grow", got \'yes\''),
        ({"k": -1}, "k must be a whole number of at least 0, got -1"),
        ({"k": 2.5}, "k must be a whole number of at least 0, got 2.5"),
        ({"k": "all"}, "k must be a whole number of at least 0, got 'all'"),
        ({"k": np.nan}, "k must be a whole number of at least 0, got nan"),
        ({"k": np.inf}, "k must be a whole number of at least 0, got inf"),
        ({"percentile": 101}, "percentile must be a number between 0 and 100, got 101"),
        ({"threshold": np.nan}, "threshold must be a number, got nan"),
        ({"fdr": 10}, "fdr must be an error rate between 0 and 1, got 10"),
        (
            {"fwe": 0.1, "score_func": "gini"},
            "p-values for fwe, .* 't', 'fisher', 'mutual_info' and 'chi2'",
        ),
        ({"n_bins": 1}, "n_bins must be a whole number of at least 2, got 1"),
        ({"n_bins": 2.5}, "n_bins must be a whole number of at least 2, got 2.5"),
        ({"epsilon": 0}, "epsilon must be at least 1e-8"),
        (
            {"decay": 0.5, "half_life": 3},
            "decay and half_life must not both be given, got 0.5",
        ),
        ({"clock": "wall"}, 'clock must be "row", "batch" or "time"'),
        ({"missing": "drop"}, 'missing must be "error" or "ignore"'),
        ({"n_threads": 0}, "n_threads must be at least 1"),
    ],
)
def test_invalid_parameters_are_an_error(rows, parameters, message):
    X, y = rows
    for learn in (FeatureScreener(**parameters).fit, FeatureScreener(**parameters).partial_fit):
        with pytest.raises(ValueError, match=message):
            learn(X, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"epsilon": "x"}, "epsilon must be a number, got 'x'"),
        ({"decay": "x"}, "decay must be a number, got 'x'"),
        ({"half_life": {3}}, r'half_life must be a number or a duration such as "12h", got \{3\}'),
        ({"n_threads": 1.5}, "n_threads must be a whole number or None, got 1.5"),
        ({"n_threads": True}, "n_threads must be a whole number or None, got True"),
    ],
)
def test_parameters_of_the_wrong_type(rows, parameters, message):
    with pytest.raises(TypeError, match=message):
        FeatureScreener(**parameters).fit(*rows)
    numbers = {"epsilon": np.float32(0.25), "half_life": np.int64(9), "n_threads": np.int32(1)}
    assert FeatureScreener(**numbers).fit(*rows).bank_.half_life == 9


def test_gini_has_no_pvalues(rows):
    screener = FeatureScreener("gini", k=2).fit(*rows)
    assert screener.pvalues_ is None
    with pytest.raises(ValueError, match="score_func must have p-values for fdr"):
        screener.set_params(k=None, fdr=0.05).get_support()


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda X, _: (X, None), ValueError, "requires y to be passed"),
        (lambda X, y: (X, y[:-1]), ValueError, "inconsistent numbers of samples"),
        (lambda X, y: (X[:, :3], y), ValueError, "X has 3 features, but FeatureScreener is exp"),
        (lambda X, y: (X[0], y[:1]), ValueError, "Expected 2D array, got 1D array"),
        (lambda X, y: (np.where(X > 2, np.inf, X), y), ValueError, "contains infinity"),
        (
            lambda X, y: (X, np.arange(len(y))),
            ValueError,
            "Labels must be strings, as in earlier rows",
        ),
        (lambda X, y: (X * 1j, y), ValueError, "Complex data not supported"),
        (lambda X, y: (np.ma.array(X, mask=X > 2), y), TypeError, "X must not be a masked array"),
        (lambda X, y: (pl.DataFrame(X).lazy(), y), TypeError, r"Pass X.collect\(\)"),
        (lambda X, y: (pd.DataFrame(X).astype(str), y), TypeError, "Column 0 must be numeric"),
    ],
)
def test_bad_input_changes_nothing(rows, change, error, message):
    X, y = rows
    screener = FeatureScreener(k=2).fit(X, y)
    before, attributes = screener.to_bytes(), dict(vars(screener))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X has feature names", UserWarning)
        with pytest.raises(error, match=message):
            screener.partial_fit(*change(X, y))
    assert screener.to_bytes() == before
    assert vars(screener) == attributes
    if "is exp" not in message and "Labels must be strings" not in message:
        with pytest.raises(error, match=message):
            screener.fit(*change(X, y))
        assert screener.to_bytes() == before
        assert vars(screener) == attributes


def test_weights_of_none_are_called_so(rows):
    X, y = rows
    with pytest.raises(TypeError, match="sample_weight must hold numbers, got an array of dtype o"):
        FeatureScreener(k=2).fit(X, y, sample_weight=[None] * len(X))
    with pytest.raises(ValueError, match="at least one non-zero number"):
        FeatureScreener(k=2).fit(X, y, sample_weight=np.zeros(len(X)))


def test_one_class_cannot_be_scored(rows):
    X, _ = rows
    screener = FeatureScreener(k=2).partial_fit(X, np.zeros(len(X), dtype=int))
    for name in ("scores_", "pvalues_", "ranking_"):
        with pytest.raises(ValueError, match=r"at least 2 classes .* only one class: 0"):
            getattr(screener, name)


@pytest.mark.parametrize("on_limit", ["error", "ignore_new"])
@pytest.mark.parametrize(
    ("kind", "new_features"),
    [
        (np.asarray, "error"),
        (np.asarray, "grow"),
        (pd.DataFrame, "grow"),
        (sparse.csr_array, "error"),
    ],
)
def test_no_column_is_left_out_of_rows_that_cannot_grow(rows, on_limit, kind, new_features):
    X, y = rows
    screener = FeatureScreener(k=1, max_features=4, on_limit=on_limit, new_features=new_features)
    screener.fit(kind(X[:, :4]), y)
    before = screener.to_bytes()
    with pytest.raises(LimitError, match=r"at most max_features=4, got 6.*sparse rows only"):
        screener.fit(kind(X), y)
    assert screener.to_bytes() == before


def test_columns_are_left_out_of_sparse_rows_that_may_grow(rows):
    X, y = rows
    screener = FeatureScreener(k=1, max_features=4, on_limit="ignore_new", new_features="grow")
    screener.fit(sparse.csr_array(X), y)
    assert screener.n_features_in_ == 4
    assert screener.transform(sparse.csr_array(X)).shape == (600, 1)


def test_invalid_classes_are_an_error(rows):
    with pytest.raises(
        ValueError, match=r"classes must be labels, got \[0.5, 1\]: Unknown label type"
    ):
        FeatureScreener(k=1).partial_fit(*rows, classes=[0.5, 1])


def test_a_masked_column_of_labels_is_refused(rows):
    X, y = rows
    with pytest.raises(TypeError, match="y must not be a masked array"):
        FeatureScreener(k=1).fit(X, np.ma.array(y[:, None]))


@pytest.mark.parametrize("output", ["select", "mask"])
def test_masked_values_are_an_error_after_fit(rows, output):
    X, y = rows
    screener = FeatureScreener(k=6, output=output).fit(X, y)
    for use in (screener.transform, screener.inverse_transform):
        with pytest.raises(
            TypeError, match=r"X must not be a masked array. Pass X.filled\(np.nan\)"
        ):
            use(np.ma.array(X, mask=X > 2))
        with pytest.raises(TypeError, match=r"got a LazyFrame. Pass X.collect\(\)"):
            use(pl.DataFrame(X).lazy())
