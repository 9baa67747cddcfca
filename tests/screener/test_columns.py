"""Sparse, masked, growing, missing and named columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from screener_rows import EXACT, FRAMES, NAMES

import driftsieve as ds
from driftsieve import FeatureScreener


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array])
@pytest.mark.parametrize("output", ["select", "mask"])
def test_sparse_is_transformed_as_dense(rows, kind, output):
    X, y = rows
    X = np.where(np.abs(X) < 0.5, 0, X)
    dense = FeatureScreener(k=2, output=output).fit(X, y)
    thin = FeatureScreener(k=2, output=output).fit(kind(X), y)
    result = thin.transform(kind(X))
    assert sparse.issparse(result)
    assert result.format == "csr"
    np.testing.assert_array_equal(result.toarray(), dense.transform(X))
    if output == "mask":
        assert result.nnz == np.count_nonzero(X[:, [1, 4]])
    back = thin.inverse_transform(result).toarray()
    np.testing.assert_array_equal(back, dense.inverse_transform(dense.transform(X)))


def test_mask_keeps_the_width(rows):
    X, y = rows
    screener = FeatureScreener(k=2, output="mask").fit(pd.DataFrame(X, columns=NAMES), y)
    masked = screener.transform(pd.DataFrame(X, columns=NAMES))
    np.testing.assert_array_equal(masked[:, [1, 4]], X[:, [1, 4]])
    assert not masked[:, [0, 2, 3, 5]].any()
    assert list(screener.get_feature_names_out()) == NAMES
    np.testing.assert_array_equal(
        screener.inverse_transform(pd.DataFrame(masked, columns=NAMES)), masked
    )
    screener.set_params(output="select")
    assert list(screener.get_feature_names_out()) == ["b", "e"]


def test_columns_may_be_added_to_a_sparse_stream(rows):
    X, y = rows
    X = sparse.csr_array(X)
    growing = FeatureScreener(k=2, new_features="grow", epsilon=0.001)
    growing.partial_fit(X[:200, :3], y[:200]).partial_fit(X[200:], y[200:])
    growing.partial_fit(X[:50, :2], y[:50])
    assert growing.n_features_in_ == 6
    padded = sparse.vstack([X[:200], X[200:], X[:50]]).toarray()
    padded[:200, 3:] = 0
    padded[600:, 2:] = 0
    expected = ds.offline.scores(padded, np.concatenate([y, y[:50]]))
    np.testing.assert_allclose(growing.scores_, expected, rtol=1e-9)
    assert growing.transform(X[:, :3]).shape == (600, 2)
    wider = sparse.hstack([X, X]).tocsr()
    assert (growing.transform(wider) != growing.transform(X)).nnz == 0
    assert wider.shape == (600, 12)  # the caller's own is not cut

    strict = FeatureScreener(k=2).partial_fit(X[:200, :3], y[:200])
    for use in (lambda X: strict.partial_fit(X, y), strict.transform):
        with pytest.raises(ValueError, match=r"X has 6 .* 3 features as input: with new_f"):
            use(X)
    assert strict.set_params(new_features="grow").partial_fit(X, y).n_features_in_ == 6
    dense = FeatureScreener(k=2, new_features="grow").fit(X.toarray(), y)
    with pytest.raises(ValueError, match="X has 5 features, but FeatureScreener is expecting 6"):
        dense.partial_fit(X.toarray()[:, :5], y)
    with pytest.raises(ValueError, match=r"expecting 6 features as input: .* sparse rows only"):
        dense.partial_fit(wider.toarray(), y)


def test_missing_values_are_left_out(rows):
    X, y = rows
    X = np.where(np.random.default_rng(2).uniform(size=X.shape) < 0.2, np.nan, X)
    screener = FeatureScreener(k=2, missing="ignore", **EXACT).fit(X, y)
    expected = ds.offline.scores(X, y, missing="ignore")
    np.testing.assert_allclose(screener.scores_, expected, rtol=1e-9)
    np.testing.assert_array_equal(screener.transform(X), X[:, screener.get_support()])
    with pytest.raises(ValueError, match=r'Input X contains NaN at row .*Pass missing="ignore"'):
        FeatureScreener().fit(X, y)
    for output in ("select", "mask"):
        strict = FeatureScreener(k=2, output=output).fit(np.nan_to_num(X), y)
        with pytest.raises(ValueError, match=r'^Input X contains NaN. Pass missing="ignore"'):
            strict.transform(X)
    masked = screener.set_params(output="mask").transform(X)
    assert not np.isnan(masked[:, ~screener.get_support()]).any()
    with pytest.raises(ValueError, match="infinity"):
        screener.transform(np.full((1, 6), np.inf))


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_frames_carry_their_names(rows, frame):
    X, y = rows
    screener = FeatureScreener(k=2).partial_fit(frame(X), y)
    np.testing.assert_array_equal(screener.scores_, FeatureScreener().fit(X, y).scores_)
    assert list(screener.feature_names_in_) == NAMES
    assert screener.bank_.feature_names == tuple(NAMES)
    assert list(screener.get_feature_names_out()) == ["b", "e"]
    np.testing.assert_array_equal(screener.transform(frame(X)), X[:, [1, 4]])
    with pytest.raises(ValueError, match="feature names should match"):
        screener.partial_fit(frame(X, NAMES[::-1]), y)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        screener.partial_fit(X, y)
    with pytest.raises(ValueError, match=r"Found array with 0 sample\(s\)"):
        screener.fit(frame(X[:0]), y[:0])


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize("output", ["select", "mask"])
@pytest.mark.parametrize(
    ("container", "kind"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)]
)
def test_output_is_a_frame_of_the_set_library(rows, frame, output, container, kind):
    X, y = rows
    screener = FeatureScreener(k=2, output=output).set_output(transform=container)
    result = screener.fit_transform(frame(X), y)
    assert isinstance(result, kind)
    assert list(result.columns) == (["b", "e"] if output == "select" else NAMES)
    np.testing.assert_array_equal(np.asarray(result["e"]), X[:, 4])


def test_names_after_unnamed_rows_warn_and_are_ignored(rows):
    X, y = rows
    screener = FeatureScreener(k=2).partial_fit(X, y)
    with pytest.warns(UserWarning, match="fitted without feature names"):
        screener.partial_fit(FRAMES["pandas"](X), y)
    assert screener.bank_.feature_names is None
    assert not hasattr(screener, "feature_names_in_")
