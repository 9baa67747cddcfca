from __future__ import annotations

import copy
import pickle
import warnings

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectFdr, SelectKBest, f_classif
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import driftsieve as ds
from driftsieve import FeatureScreener, codec, select
from driftsieve.scores import SCORES
from driftsieve.screener import reading

NAMES = list("abcdef")
EXACT = {"epsilon": 0.001}  # the 600 rows below are few enough for no error at all


@pytest.fixture(scope="module")
def rows():
    """600 rows of six features; b, then e, tell the classes apart."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(600, 6))
    return X, np.where(X[:, 1] + 0.5 * X[:, 4] + rng.normal(size=600) > 0, "spam", "ham")


# --- scikit-learn's own checks --------------------------------------------------------------------

GRID = [
    *(FeatureScreener(score, k=1) for score in SCORES),
    *(FeatureScreener(score, k=1, output="mask", missing="ignore") for score in SCORES),
    FeatureScreener(k=50, rule="percentile", n_bins=2, epsilon=0.1),
    FeatureScreener("gini", k=1.0, rule="threshold"),
    # at rate 1: at lower rates the noise of some checks leaves no feature
    *(FeatureScreener("fisher", k=1.0, rule=rule) for rule in ("fpr", "fdr", "fwe")),
    FeatureScreener("mutual_info", k=1.0, rule="fdr"),
    FeatureScreener("t", k=1, half_life=20, clock="batch", new_features="grow"),
    FeatureScreener("chi2", k=1, alpha=0.99, clock="batch", n_threads=1),
    FeatureScreener(k=1, half_life=20),
]
AGES = "a row that comes twice takes two ticks of the sample clock, and what was before it ages"
EFFECTIVE = "p-values count effective rows: one row of weight 2 says less than two rows"


def expected_failures(screener):
    """What scikit-learn expects of its own online estimators too."""
    fades = screener.half_life is not None and screener.clock == "sample"
    reason = AGES if fades else EFFECTIVE if screener.rule == "fwe" else None
    kinds = ("dense", "sparse") if reason else ()
    return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in kinds}


@parametrize_with_checks(GRID, expected_failed_checks=expected_failures)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# --- scores and selection -------------------------------------------------------------------------


@pytest.mark.parametrize("score", SCORES)
def test_scores_are_those_of_the_definition(rows, score):
    X, y = rows
    screener = FeatureScreener(score, k=2, **EXACT).fit(X, y)
    expected = ds.offline.scores(X, y, score)
    np.testing.assert_allclose(screener.scores_, expected, rtol=1e-9)
    assert list(np.argsort(screener.ranking_)[:2]) == [1, 4]
    assert list(screener.get_support(indices=True)) == [1, 4]
    assert list(screener.classes_) == ["ham", "spam"]


def test_fisher_selects_as_scikit_learn_does(rows):
    X, y = rows
    screener = FeatureScreener("fisher", k=3).fit(X, y)
    peer = SelectKBest(f_classif, k=3).fit(X, y)
    np.testing.assert_allclose(screener.pvalues_, peer.pvalues_, rtol=1e-9)
    np.testing.assert_array_equal(screener.transform(X), peer.transform(X))
    kept = FeatureScreener("fisher", rule="fdr", k=0.1).fit(X, y).get_support()
    np.testing.assert_array_equal(kept, SelectFdr(f_classif, alpha=0.1).fit(X, y).get_support())


@pytest.mark.parametrize(
    ("rule", "k", "kept"),
    [
        ("k_best", 2, [1, 4]),
        ("k_best", 0, []),
        ("percentile", 34, [1, 4]),
        ("threshold", 0.0, [0, 1, 2, 3, 4, 5]),
        ("threshold", np.inf, []),
        ("fpr", 1e-6, [1, 4]),
        ("fdr", 1e-6, [1, 4]),
        ("fwe", 1e-6, [1, 4]),
    ],
)
def test_rules(rows, rule, k, kept):
    screener = FeatureScreener("fisher", rule=rule, k=k).fit(*rows)
    assert list(screener.get_support(indices=True)) == kept


@pytest.mark.parametrize("half_life", [None, 500])
def test_false_discoveries_on_noise_are_as_few_as_promised(half_life):
    rng = np.random.default_rng(11)
    families, each, rate = 400, 25, 0.05
    X = rng.normal(size=(3000, families * each)).astype(np.float32)
    y = rng.integers(2, size=len(X))
    # On pure noise any discovery is false: the rate is the share of families that have one.
    limit = rate + 3 * np.sqrt(rate * (1 - rate) / families)
    for scores in (("t", "fisher"), ("mutual_info", "chi2")):
        screener = FeatureScreener(scores[0], half_life=half_life).fit(X, y)
        for score in scores:
            pvalues = screener.set_params(score=score).pvalues_.reshape(families, each)
            found = np.mean([select.fdr(p, rate).any() for p in pvalues])
            assert found <= limit, score


def test_k_beyond_the_features_warns_and_keeps_all(rows):
    X, y = rows
    screener = FeatureScreener(k=7).fit(X, y)
    with pytest.warns(UserWarning, match="k=7 is greater than n_features=6") as caught:
        assert screener.get_support().all()
    assert caught[0].filename == __file__
    np.testing.assert_array_equal(screener.transform(X), X)  # said once, until the next update


def test_nothing_is_scored_until_it_is_read(rows, monkeypatch):
    X, y = rows
    scored = []

    class Spy(ds.Bank):
        def freeze(self, *args, **kwargs):
            scored.append(self.n_rows)
            return super().freeze(*args, **kwargs)

    monkeypatch.setattr(reading, "Bank", Spy)
    screener = (
        FeatureScreener(k=2).partial_fit(X[:300], y[:300]).partial_fit(X[300:400], y[300:400])
    )
    assert scored == []
    screener.transform(X)
    screener.get_support()
    first = screener.scores_, screener.ranking_
    screener.set_params(k=3).transform(X)
    assert scored == [400]
    screener.partial_fit(X[400:], y[400:])
    assert scored == [400]
    assert not np.array_equal(first[0], screener.scores_)
    assert scored == [400, 600]
    with pytest.raises(ValueError, match="read-only"):
        screener.scores_[0] = 0


def test_many_features_are_frozen_block_by_block(rows, monkeypatch):
    screener = FeatureScreener(k=2).fit(*rows)
    whole = screener.scores_
    screener = FeatureScreener(k=2).fit(*rows)
    monkeypatch.setattr(reading, "_BLOCK_CELLS", 25)  # two features of 5 bins and 2 classes
    np.testing.assert_array_equal(screener.scores_, whole)


def test_the_call_score_judges_the_selection_on_other_rows(rows):
    X, y = rows
    screener = FeatureScreener("gini", k=2, half_life=50).fit(X[:300], y[:300])
    expected = -ds.offline.scores(X[300:], y[300:], "gini")[screener.get_support()].mean()
    assert screener.score(X[300:], y[300:]) == pytest.approx(expected)
    assert screener.score == "gini"
    assert pickle.loads(pickle.dumps(screener.score)) == "gini"
    assert FeatureScreener(score=None).score is None


# --- streams --------------------------------------------------------------------------------------


@pytest.mark.parametrize("fading", [{}, {"half_life": 40}, {"alpha": 0.97}])
def test_batches_give_what_one_fit_gives(rows, fading):
    X, y = rows
    weight = np.random.default_rng(0).uniform(size=len(y))
    whole = FeatureScreener(k=2, **EXACT, **fading).fit(X, y, sample_weight=weight)
    parts = FeatureScreener(k=2, **EXACT, **fading)
    for part in np.array_split(np.arange(len(y)), 7):
        parts.partial_fit(X[part], y[part], sample_weight=weight[part])
    assert parts.to_bytes() == whole.to_bytes()
    weight = weight * ds.offline.clock_weights(len(y), **fading)
    expected = ds.offline.scores(X, y, sample_weight=weight)
    np.testing.assert_allclose(whole.scores_, expected, rtol=1e-9)


def test_time_clock_takes_rows_in_any_order(rows):
    X, y = rows
    t = np.arange(len(y), dtype=float)
    late = np.random.default_rng(1).permutation(len(y))
    screener = FeatureScreener("t", k=2, half_life=30, clock="time").fit(
        X[late], y[late], t=t[late]
    )
    weight = ds.offline.clock_weights(t, clock="time", half_life=30)
    expected = ds.offline.scores(X, y, "t", sample_weight=weight)
    np.testing.assert_allclose(screener.scores_, expected, rtol=1e-9)
    with pytest.raises(ValueError, match="pass t"):
        screener.partial_fit(X, y)
    with pytest.raises(ValueError, match='clock="time" only'):
        FeatureScreener().fit(X, y, t=t)


def test_fit_forgets_and_partial_fit_does_not(rows):
    X, y = rows
    screener = FeatureScreener(k=2).fit(X, y)
    once = screener.to_bytes()
    assert screener.fit(X, y).to_bytes() == once
    assert screener.partial_fit(X, y).bank_.n_rows == 1200
    assert screener.fit(X[:, :3], y).n_features_in_ == 3


def test_classes_may_be_declared_and_then_bind(rows):
    X, y = rows
    screener = FeatureScreener(k=2).partial_fit(X, y, classes=["spam", "ham", "new"])
    assert list(screener.classes_) == ["ham", "new", "spam"]
    np.testing.assert_array_equal(screener.scores_, FeatureScreener().fit(X, y).scores_)
    before = screener.to_bytes()
    with pytest.raises(ValueError, match=r"labels \['other'\]"):
        screener.partial_fit(X[:1], ["other"])
    with pytest.raises(ValueError, match="is not the same as on last call to partial_fit"):
        screener.partial_fit(X, y, classes=["spam", "ham"])
    with pytest.raises(ValueError, match=r"labels \['ham'\]"):
        FeatureScreener().partial_fit(X, y).partial_fit(X, y, classes=["spam"])
    assert screener.to_bytes() == before
    screener = FeatureScreener.from_bytes(before)
    assert list(screener.classes_) == ["ham", "new", "spam"]
    with pytest.raises(ValueError, match=r"labels \['other'\]"):
        screener.partial_fit(X[:1], ["other"])


@pytest.mark.parametrize(
    "labels", [[False, True], [3, -7], [1.0, 2.0], ["no", "yes"]], ids=lambda v: type(v[0]).__name__
)
def test_labels_of_any_kind(rows, labels):
    X, y = rows
    given = np.array(labels)[(y == "spam").astype(int)]
    screener = FeatureScreener(k=2).fit(X, given)
    assert set(screener.classes_.tolist()) == set(labels)
    np.testing.assert_allclose(screener.scores_, FeatureScreener().fit(X, y).scores_, rtol=1e-12)


def test_new_classes_may_come_later(rows):
    X, y = rows
    many = np.arange(len(y)) % 3
    screener = FeatureScreener("chi2", **EXACT).partial_fit(X[:100], many[:100] % 2)
    screener.partial_fit(X[100:], many[100:])
    assert list(screener.classes_) == [0, 1, 2]
    expected = ds.offline.scores(X, np.r_[many[:100] % 2, many[100:]], "chi2")
    np.testing.assert_allclose(screener.scores_, expected, rtol=1e-9)


# --- columns --------------------------------------------------------------------------------------


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
    growing = FeatureScreener(k=2, new_features="grow")
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
    with pytest.raises(ValueError, match="X has 6 features, but FeatureScreener is expecting 3"):
        strict.partial_fit(X, y)
    dense = FeatureScreener(k=2, new_features="grow").fit(X.toarray(), y)
    with pytest.raises(ValueError, match="X has 5 features, but FeatureScreener is expecting 6"):
        dense.partial_fit(X.toarray()[:, :5], y)


def test_missing_values_are_left_out(rows):
    X, y = rows
    X = np.where(np.random.default_rng(2).uniform(size=X.shape) < 0.2, np.nan, X)
    screener = FeatureScreener(k=2, missing="ignore", **EXACT).fit(X, y)
    expected = ds.offline.scores(X, y, missing="ignore")
    np.testing.assert_allclose(screener.scores_, expected, rtol=1e-9)
    np.testing.assert_array_equal(screener.transform(X), X[:, screener.get_support()])
    with pytest.raises(ValueError, match=r'Input X contains NaN at row .*Pass missing="ignore"'):
        FeatureScreener().fit(X, y)
    masked = screener.set_params(output="mask").transform(X)
    assert not np.isnan(masked[:, ~screener.get_support()]).any()
    with pytest.raises(ValueError, match="infinity"):
        screener.transform(np.full((1, 6), np.inf))


FRAMES = {
    "pandas": lambda X, names=NAMES: pd.DataFrame(X, columns=names),
    "polars": lambda X, names=NAMES: pl.DataFrame(X, schema=names),
    "pyarrow": lambda X, names=NAMES: pa.table(dict(zip(names, X.T, strict=True))),
}


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
        screener.partial_fit(frame(X[:0]), y[:0])


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize("output", ["select", "mask"])
@pytest.mark.parametrize(
    ("container", "kind"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)]
)
def test_output_as_a_frame(rows, frame, output, container, kind):
    X, y = rows
    screener = FeatureScreener(k=2, output=output).set_output(transform=container)
    result = screener.fit_transform(frame(X), y)
    assert isinstance(result, kind)
    assert list(result.columns) == (["b", "e"] if output == "select" else NAMES)
    np.testing.assert_array_equal(np.asarray(result["e"]), X[:, 4])


def test_names_that_come_late_are_not_taken(rows):
    X, y = rows
    screener = FeatureScreener(k=2).partial_fit(X, y)
    with pytest.warns(UserWarning, match="fitted without feature names"):
        screener.partial_fit(FRAMES["pandas"](X), y)
    assert screener.bank_.feature_names is None
    assert not hasattr(screener, "feature_names_in_")


# --- in the company of scikit-learn ---------------------------------------------------------------


def test_pipeline_search_and_column_transformer(rows):
    X, y = rows
    pipeline = make_pipeline(StandardScaler(), FeatureScreener(k=2), LogisticRegression())
    grid = {"featurescreener__k": [1, 2], "featurescreener__score": ["t", "mutual_info"]}
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
        screener.set_fit_request(sample_weight=True, t=True)
        screener.set_partial_fit_request(sample_weight=True, t=True, classes=True)
        pipeline = make_pipeline(
            screener, LogisticRegression().set_fit_request(sample_weight=False)
        )
        pipeline.fit(X, y, sample_weight=weight, t=np.zeros(len(y)))
    expected = FeatureScreener(**EXACT).fit(X[:300], y[:300]).scores_
    np.testing.assert_allclose(pipeline[0].scores_, expected, rtol=1e-12)


def test_copies_are_equal_and_independent(rows):
    X, y = rows
    screener = FeatureScreener("t", k=2, half_life=90).partial_fit(X, y)
    scores, stored = screener.scores_, screener.to_bytes()
    twins = [pickle.loads(pickle.dumps(screener)), copy.deepcopy(screener)]
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


# --- merge and bytes ------------------------------------------------------------------------------


def test_merge_equals_learning_all(rows):
    X, y = rows
    whole = FeatureScreener(k=2, half_life=50).fit(X, y)
    parts = [
        FeatureScreener(k=2, half_life=50).fit(X[i : i + 200], y[i : i + 200])
        for i in (0, 200, 400)
    ]
    merged = FeatureScreener(k=2, half_life=50)
    for start, part in zip((0, 200, 400), parts, strict=True):
        stored = part.to_bytes()
        merged.merge(part, start=start)
        assert part.to_bytes() == stored
    np.testing.assert_allclose(merged.scores_, whole.scores_, rtol=1e-9)
    assert list(merged.classes_) == ["ham", "spam"]


def test_merge_unites_names_and_declared_classes(rows):
    X, y = rows
    left = FeatureScreener(k=1).partial_fit(
        FRAMES["pandas"](X[:, :4], NAMES[:4]), y, classes=["ham", "spam"]
    )
    right = FeatureScreener(k=1).partial_fit(
        FRAMES["pandas"](X[:, 2:], NAMES[2:]), y, classes=["eggs", "ham", "spam"]
    )
    assert list(left.merge(right).feature_names_in_) == NAMES
    assert left.n_features_in_ == 6
    assert list(left.classes_) == ["eggs", "ham", "spam"]
    open_ended = FeatureScreener(k=1).fit(X, y)
    assert list(FeatureScreener().merge(open_ended).classes_) == ["ham", "spam"]


def test_merge_refuses_what_does_not_fit(rows):
    screener = FeatureScreener().fit(*rows)
    with pytest.raises(TypeError, match="merge takes a FeatureScreener, got Bank"):
        screener.merge(screener.bank_)
    with pytest.raises(NotFittedError):
        screener.merge(FeatureScreener())
    with pytest.raises(ValueError, match=r"epsilon is 0.01 here and 0.1 in the other"):
        screener.merge(FeatureScreener(epsilon=0.1).fit(*rows))


def test_bytes_of_an_unfitted_screener():
    twin = FeatureScreener.from_bytes(FeatureScreener(k=np.int64(3), half_life=2.5).to_bytes())
    assert twin.get_params() == FeatureScreener(k=3, half_life=2.5).get_params()
    with pytest.raises(NotFittedError):
        twin.transform([[1.0]])


@pytest.mark.parametrize(
    "change",
    [
        {"parameters": {"k": 1, "nonsense": 2}},
        {"parameters": {"score": "made up"}},
        {"parameters": {"k": [1]}},
        {"parameters": {"score": []}},
        {"parameters": {"epsilon": "x"}},
        {"parameters": 7},
        {"parameters": {"half_life": 3.0}},  # not that of the bank
        {"parameters": {"score": "t"}},  # needs what the bank has not kept
        {"classes": ["spam"]},  # the bank has others
        {"classes": {"a": 1}},
        {"parameters": None},
    ],
)
def test_bytes_that_are_not_sound_are_refused(rows, change):
    header, payload = codec.unpack(FeatureScreener(k=2).fit(*rows).to_bytes(), "screener")
    FeatureScreener.from_bytes(codec.pack(header, payload))
    with pytest.raises(ValueError, match="malformed"):
        FeatureScreener.from_bytes(codec.pack({**header, **change}, payload))


def test_bytes_of_something_else_are_refused(rows):
    screener = FeatureScreener().fit(*rows)
    with pytest.raises(ValueError, match="'bank', not a Driftsieve screener"):
        FeatureScreener.from_bytes(screener.bank_.to_bytes())
    with pytest.raises(ValueError, match="checksum"):
        FeatureScreener.from_bytes(screener.to_bytes()[:-1])


# --- bad input ------------------------------------------------------------------------------------


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
        ({"score": "anova"}, "score must be one of 't', 'fisher'.* got 'anova'"),
        ({"rule": "best"}, "rule must be one of 'k_best'.* got 'best'"),
        ({"output": "zero"}, "output must be one of 'select', 'mask', got 'zero'"),
        ({"new_features": "yes"}, "new_features must be one of 'error', 'grow', got 'yes'"),
        ({"k": -1}, "k must be a whole number, 0 or more, got -1"),
        ({"k": 2.5}, "k must be a whole number, 0 or more, got 2.5"),
        ({"k": "all"}, "k must be a whole number, 0 or more, got 'all'"),
        ({"k": np.nan}, "k must be a whole number, 0 or more, got nan"),
        ({"k": np.inf}, "k must be a whole number, 0 or more, got inf"),
        ({"rule": "percentile", "k": 101}, "k must be a percentage between 0 and 100, got 101"),
        ({"rule": "threshold", "k": np.nan}, "k must be a number, got nan"),
        ({"rule": "fdr"}, "With rule='fdr', k must be an error rate between 0 and 1, got 10"),
        ({"rule": "fwe", "k": 0.1, "score": "gini"}, "'t', 'fisher', 'mutual_info', 'chi2'"),
        ({"n_bins": 1}, "n_bins must be a whole number of at least 2, got 1"),
        ({"n_bins": 2.5}, "n_bins must be a whole number of at least 2, got 2.5"),
        ({"epsilon": 0}, "epsilon must be between 0 and 0.5"),
        ({"alpha": 0.5, "half_life": 3}, "Give alpha or half_life, not both"),
        ({"clock": "wall"}, 'clock must be "sample", "batch" or "time"'),
        ({"missing": "drop"}, 'missing must be "error" or "ignore"'),
        ({"n_threads": 0}, "n_threads must be at least 1"),
    ],
)
def test_bad_parameters(rows, parameters, message):
    X, y = rows
    for learn in (FeatureScreener(**parameters).fit, FeatureScreener(**parameters).partial_fit):
        with pytest.raises(ValueError, match=message):
            learn(X, y)


def test_gini_has_no_pvalues(rows):
    screener = FeatureScreener("gini", k=2).fit(*rows)
    assert screener.pvalues_ is None
    with pytest.raises(ValueError, match="rule='fdr' needs p-values, which score='gini' does not"):
        screener.set_params(rule="fdr", k=0.05).get_support()


def test_parameters_changed_between_batches(rows):
    X, y = rows
    screener = FeatureScreener("mutual_info", k=2, **EXACT).partial_fit(X, y)
    screener.set_params(score="chi2", n_bins=3)
    np.testing.assert_allclose(screener.scores_, ds.offline.scores(X, y, "chi2", 3), rtol=1e-9)
    screener.set_params(score="t")
    message = "score='t' needs moments, which this screener did not keep.*'chi2'"
    with pytest.raises(ValueError, match=message):
        screener.partial_fit(X, y)
    with pytest.raises(ValueError, match=message):
        screener.transform(X)
    screener.set_params(score="gini", half_life=5)
    with pytest.raises(ValueError, match=r"half_life was inf when the first rows came and is 5.0"):
        screener.partial_fit(X, y)
    assert screener.set_params(half_life=None).partial_fit(X, y).bank_.n_rows == 1200
    assert screener.set_params(score="t").fit(X, y).bank_.moments


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda X, _: (X, None), ValueError, "requires y to be passed"),
        (lambda X, y: (X, y[:-1]), ValueError, "inconsistent numbers of samples"),
        (lambda X, y: (X[:, :3], y), ValueError, "X has 3 features, but FeatureScreener is exp"),
        (lambda X, y: (X[0], y[:1]), ValueError, "Expected 2D array, got 1D array"),
        (lambda X, y: (X[:0], y[:0]), ValueError, "Found array with 0 sample"),
        (lambda X, y: (np.where(X > 2, np.inf, X), y), ValueError, "contains infinity"),
        (lambda X, y: (X, np.arange(len(y))), ValueError, "Labels have been strings"),
        (lambda X, y: (X * 1j, y), ValueError, "Complex data not supported"),
        (lambda X, y: (np.ma.array(X, mask=X > 2), y), TypeError, "X is a masked array"),
        (lambda X, y: (pl.DataFrame(X).lazy(), y), TypeError, r"pass X.collect\(\)"),
        (lambda X, y: (pd.DataFrame(X).astype(str), y), TypeError, "Column 0 is not numeric"),
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
    if "is exp" not in message and "Labels have" not in message:
        with pytest.raises(error, match=message):
            screener.fit(*change(X, y))
        assert screener.to_bytes() == before
        assert vars(screener) == attributes


def test_one_class_cannot_be_scored(rows):
    X, _ = rows
    screener = FeatureScreener(k=2).partial_fit(X, np.zeros(len(X), dtype=int))
    with pytest.raises(ValueError, match=r"at least 2 classes .* only one class: 0"):
        screener.transform(X)
