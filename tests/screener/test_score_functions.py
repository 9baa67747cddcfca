"""A score_func that is a function of a Snapshot."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from screener_rows import FRAMES
from sklearn.base import clone

import driftsieve as ds
from driftsieve import FeatureScreener, Snapshot
from driftsieve.scores import reader


def last_first(snap):
    """Larger for later features, whatever is in them."""
    assert isinstance(snap, Snapshot)
    return snap.first_feature + np.arange(snap.n_features)


def gap(snap):
    """How far apart the means of two classes are."""
    return np.abs(snap.mean[0] - snap.mean[1])


def test_features_are_ranked_by_the_function(rows):
    screener = FeatureScreener(last_first, k=2).fit(*rows)
    np.testing.assert_array_equal(screener.scores_, np.arange(6.0))
    np.testing.assert_array_equal(screener.ranking_, [6, 5, 4, 3, 2, 1])
    np.testing.assert_array_equal(screener.get_support(indices=True), [4, 5])
    np.testing.assert_array_equal(screener.transform(rows[0]), rows[0][:, [4, 5]])


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, FRAMES["pandas"]])
def test_the_snapshot_has_moments_and_quantiles_of_all_rows(rows, form):
    X, y = rows
    screener = FeatureScreener(gap, k=2)
    for i in range(0, 600, 200):
        screener.partial_fit(form(X[i : i + 200]), y[i : i + 200])
    expected = np.abs(X[y == "ham"].mean(axis=0) - X[y == "spam"].mean(axis=0))
    np.testing.assert_allclose(screener.scores_, expected, rtol=1e-9)
    np.testing.assert_array_equal(screener.get_support(indices=True), [1, 4])
    for name, function in (("t", ds.scores.t), ("chi2", ds.scores.chi2)):
        by_function = screener.set_params(score_func=function).scores_
        np.testing.assert_array_equal(screener.set_params(score_func=name).scores_, by_function)


def test_a_function_gets_a_snapshot_with_n_bins(rows):
    screener = FeatureScreener(lambda snap: np.full(snap.n_features, snap.n_bins), n_bins=7, k=2)
    np.testing.assert_array_equal(screener.fit(*rows).scores_, np.full(6, 7.0))


def test_wide_rows_are_scored_block_by_block(rows, monkeypatch):
    monkeypatch.setattr(reader, "_NUMBERS", 40)  # two features of 5 bins and 2 classes
    screener = FeatureScreener(last_first, k=1).fit(*rows)
    np.testing.assert_array_equal(screener.scores_, np.arange(6.0))


def test_there_are_no_pvalues(rows):
    screener = FeatureScreener(gap, k=2).fit(*rows)
    assert screener.pvalues_ is None
    for rule in ("fpr", "fdr", "fwe"):
        message = f"^score_func must have p-values for {rule}"
        with pytest.raises(ValueError, match=message):
            FeatureScreener(gap, **{rule: 0.05}).fit(*rows)
    assert FeatureScreener(gap, threshold=0.5).fit(*rows).get_support(indices=True).tolist() == [
        1,
        4,
    ]
    assert FeatureScreener(gap, percentile=50).fit(*rows).get_support().sum() == 3


def test_a_function_is_not_stored(rows):
    screener = FeatureScreener(gap, k=2)
    message = r"^score_func must be a name to be stored, got a function\.$"
    with pytest.raises(ValueError, match=message):
        screener.to_bytes()
    with pytest.raises(ValueError, match=message):
        screener.fit(*rows).to_bytes()
    stored = screener.set_params(score_func="t").to_bytes()
    again = FeatureScreener.from_bytes(stored).set_params(score_func=gap)
    np.testing.assert_array_equal(
        again.scores_, screener.set_params(score_func=gap).scores_
    )  # the bank has kept the sums it needs


def test_a_bank_of_a_named_score_keeps_only_what_it_needs(rows):
    screener = FeatureScreener("t", k=2).fit(*rows).set_params(score_func=gap)
    with pytest.raises(ValueError, match="which needs quantiles"):
        screener.get_support()


@pytest.mark.parametrize(
    ("wrong", "shape"),
    [(lambda _: 1.0, r"\(\)"), (lambda _: [1.0, 2.0], r"\(2,\)"), (lambda s: s.mean, r"\(2, 6\)")],
)
def test_a_function_gives_one_number_per_feature(rows, wrong, shape):
    screener = FeatureScreener(wrong, k=2).fit(*rows)
    message = rf"score_func must return one number for each of 6 features, got shape {shape}\."
    with pytest.raises(ValueError, match=message):
        screener.get_support()


def test_functions_are_cloned_and_merged(rows):
    X, y = rows
    whole = FeatureScreener(gap, k=2).fit(X, y)
    left, right = (clone(whole).fit(X[part], y[part]) for part in (slice(300), slice(300, 600)))
    np.testing.assert_allclose(left.merge(right).scores_, whole.scores_, rtol=1e-9)
