"""Batches, such as as_batches gives, with all they carry."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from screener_rows import FRAMES, NAMES

from driftsieve import Batch, FeatureScreener, as_batches


def test_a_batch_is_learned_with_its_names_weights_and_times(rows):
    X, y = rows
    weight, t = np.linspace(0, 2, 600), np.arange(600.0)
    settings = {"k": 2, "clock": "time", "half_life": 90.0}
    expected = FeatureScreener(**settings).fit(FRAMES["pandas"](X), y, sample_weight=weight, time=t)
    frame = FRAMES["pandas"](X).assign(y=y, w=weight, t=t)
    screener = FeatureScreener(**settings)
    for batch in as_batches(frame, target="y", sample_weight="w", time="t", batch_size=250):
        assert screener.partial_fit(batch) is screener
    assert screener.bank_.to_bytes() == expected.bank_.to_bytes()
    assert list(screener.get_feature_names_out()) == ["b", "e"]


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("output", ["select", "mask"])
def test_a_batch_is_transformed_as_its_rows(rows, kind, output):
    X, y = rows
    X = kind(np.where(np.abs(X) < 0.5, 0, X))
    screener = FeatureScreener(k=2, output=output)
    screener.partial_fit(Batch.of(X, y, feature_names=NAMES))
    batch = Batch.of(X[:9], y[:9], feature_names=NAMES)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        expected = screener.transform(X[:9])
    found = screener.transform(batch)
    if output == "mask":
        assert found.shape == (9, 6)
    assert sparse.issparse(found) == sparse.issparse(X)
    assert abs(found - expected).max() == 0
    if not sparse.issparse(X):
        frame = screener.set_output(transform="pandas").transform(batch)
        assert isinstance(frame, pd.DataFrame)
        assert list(frame) == (["b", "e"] if output == "select" else NAMES)


def test_a_batch_that_does_not_fit_changes_nothing(rows):
    X, y = rows
    screener = FeatureScreener(k=2).partial_fit(FRAMES["pandas"](X), y, classes=["ham", "spam"])
    stored = screener.to_bytes()
    gap = X.copy()
    gap[3, 3] = np.nan
    for batch, message in (
        (Batch.of(X, y, feature_names=NAMES[::-1]), "in their order: column 0 was 'a' and is 'f'"),
        (Batch.of(X[:, :5], y), "X has 5 features, but FeatureScreener is expecting 6"),
        (Batch.of(sparse.csr_array(X[:, :5]), y), "X has 5 features, but FeatureScreener is"),
        (Batch.of(gap, y, missing="ignore"), r"contains NaN at row 3, column 3"),
    ):
        for use in (screener.partial_fit, screener.transform):
            with pytest.raises(ValueError, match=message):
                use(batch)
    for batch, message in (
        (Batch.of(X, np.where(y == "ham", "eggs", y)), r"got \['eggs'\]"),
        (Batch.of(X, y, time=range(600)), 'time must be given with clock="time" only'),
    ):
        with pytest.raises(ValueError, match=message):
            screener.partial_fit(batch)
    with pytest.raises(ValueError, match="requires y to be passed, but the target y is None"):
        screener.partial_fit((X, y))
    alone = r"^y, sample_weight and time must not be given with a Batch, which has its own\.$"
    for more in (
        {"y": y},
        {"classes": ["ham", "spam"]},
        {"sample_weight": np.ones(600)},
        {"time": range(600)},
    ):
        with pytest.raises(TypeError, match=alone):
            screener.partial_fit(Batch.of(X, y, feature_names=NAMES), **more)
    assert screener.to_bytes() == stored


def test_the_first_batch_is_checked_too(rows):
    X, y = rows
    with pytest.raises(ValueError, match="max_features"):
        FeatureScreener(max_features=5).partial_fit(Batch.of(X, y))
    with pytest.raises(ValueError, match="n_bins must be"):
        FeatureScreener(n_bins=1).partial_fit(Batch.of(X, y))


def test_dense_rows_cannot_grow(rows):
    X, y = rows
    growing = FeatureScreener(k=2, new_features="grow").fit(X[:, :4], y)
    for learn in (growing.partial_fit, lambda X, y: growing.partial_fit(Batch.of(X, y))):
        with pytest.raises(
            ValueError, match=r"X has 6 features, but 4 .* sparse from its first row on can grow"
        ):
            learn(sparse.csr_array(X), y)


def test_late_categories_need_new_features_grow():
    rows = [{"sender": sender, "y": y} for sender, y in (("shop", 1), ("friend", 0), ("bank", 0))]
    screener = FeatureScreener("t", k=1)
    screener.partial_fit(next(as_batches(iter(rows[:2]), target="y")))
    stored, later = screener.to_bytes(), next(as_batches(iter(rows), target="y"))
    for use in (screener.partial_fit, screener.transform):
        with pytest.raises(ValueError, match=r"3 features, .* expecting 2 .* new_features='grow'"):
            use(later)
    assert screener.to_bytes() == stored
    screener.set_params(new_features="grow").partial_fit(later)
    assert list(screener.feature_names_in_) == ["sender=shop", "sender=friend", "sender=bank"]


def test_no_hint_where_new_features_would_not_help(rows):
    X, y = rows
    for stream, later in ((X, X), (X, sparse.csr_array(X)), (sparse.csr_array(X), X)):
        screener = FeatureScreener("t", k=1).partial_fit(Batch.of(stream[:, :4], y))
        with pytest.raises(ValueError, match=r"X has 6 features, .* 4 features as input\.$"):
            screener.partial_fit(Batch.of(later, y))
