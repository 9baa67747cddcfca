"""scikit-learn's own checks, and its company: pipelines, searches, routed metadata, copies."""

from __future__ import annotations

import copy
import pickle

import joblib
import numpy as np
import sklearn
from screener_rows import EXACT, FRAMES, NAMES
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from driftsieve import FeatureScreener
from driftsieve.scores import SCORES

GRID = [
    *(FeatureScreener(score, k=1) for score in SCORES),
    *(FeatureScreener(score, k=1, output="mask", missing="ignore") for score in SCORES),
    FeatureScreener(percentile=50, n_bins=2, epsilon=0.1),
    FeatureScreener("gini", threshold=1.0),
    # at rate 1: at lower rates the noise of some checks leaves no feature
    *(FeatureScreener("fisher", **{rule: 1.0}) for rule in ("fpr", "fdr", "fwe")),
    FeatureScreener("mutual_info", fdr=1.0),
    FeatureScreener("t", k=1, half_life=20, clock="batch", new_features="grow"),
    FeatureScreener("chi2", k=1, decay=0.99, clock="batch", n_threads=1),
    FeatureScreener(k=1, half_life=20),
]
AGES = "a row that comes twice takes two ticks of the row clock, and what was before it ages"
EFFECTIVE = "p-values count effective rows: one row of weight 2 says less than two rows"


def expected_failures(screener):
    """What scikit-learn expects of its own online estimators too."""
    fades = screener.half_life is not None and screener.clock == "row"
    reason = AGES if fades else EFFECTIVE if screener.fwe is not None else None
    kinds = ("dense", "sparse") if reason else ()
    return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in kinds}


@parametrize_with_checks(GRID, expected_failed_checks=expected_failures)
def test_scikit_learn_checks_pass(estimator, check):
    check(estimator)


def test_pipeline_search_and_column_transformer(rows):
    X, y = rows
    pipeline = make_pipeline(StandardScaler(), FeatureScreener(k=2), LogisticRegression())
    grid = {"featurescreener__k": [1, 2], "featurescreener__score_func": ["t", "mutual_info"]}
    search = GridSearchCV(pipeline, grid, cv=3, n_jobs=2).fit(X, y)
    assert search.best_params_["featurescreener__k"] == 2
    columns = ColumnTransformer(
        [("left", FeatureScreener(k=1), NAMES[:3]), ("right", FeatureScreener(k=1), NAMES[3:])]
    )
    columns.fit(FRAMES["pandas"](X), y)
    assert list(columns.get_feature_names_out()) == ["left__b", "right__e"]


def test_metadata_is_routed(rows):
    X, y = rows
    weight = np.where(np.arange(len(y)) < 300, 1.0, 0.0)
    with sklearn.config_context(enable_metadata_routing=True):
        screener = FeatureScreener(k=2, clock="time", half_life=1e9, **EXACT)
        screener.set_fit_request(sample_weight=True, time=True)
        screener.set_partial_fit_request(sample_weight=True, time=True, classes=True)
        pipeline = make_pipeline(
            screener, LogisticRegression().set_fit_request(sample_weight=False)
        )
        pipeline.fit(X, y, sample_weight=weight, time=np.zeros(len(y)))
    expected = FeatureScreener(**EXACT).fit(X[:300], y[:300]).scores_
    np.testing.assert_allclose(pipeline[0].scores_, expected, rtol=1e-12)


def test_copies_are_equal_and_independent(rows):
    X, y = rows
    screener = FeatureScreener("t", k=2, half_life=90).partial_fit(X, y)
    scores, stored = screener.scores_, screener.to_bytes()
    twins = [pickle.loads(pickle.dumps(screener)), copy.deepcopy(screener), copy.copy(screener)]
    twins += joblib.Parallel(n_jobs=2)(joblib.delayed(copy.copy)(s) for s in [screener])
    twins.append(FeatureScreener.from_bytes(stored))
    for twin in twins:
        np.testing.assert_array_equal(twin.scores_, scores)
        twin.partial_fit(X, y)
        assert twin.bank_.n_rows == 1200
    assert screener.to_bytes() == stored
    assert len({twin.to_bytes() for twin in twins}) == 1
    assert not hasattr(clone(screener), "bank_")
    assert pickle.loads(pickle.dumps(screener))._readings == {}
