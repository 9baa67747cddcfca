import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse, stats
from sklearn.feature_selection import f_classif
from sklearn.metrics import mutual_info_score

import datasets
from driftsieve import offline, scores
from driftsieve.scores import SCORES
from driftsieve.snapshot import Snapshot

ARRAYS = ("weight", "mean", "var", "bin_weights", "edges", "class_weight", "class_n_eff")


def assert_close(a: Snapshot, b: Snapshot, rtol: float = 1e-11) -> None:
    assert list(a.classes) == list(b.classes)
    for name in ARRAYS:
        np.testing.assert_allclose(
            getattr(a, name), getattr(b, name), rtol=rtol, atol=rtol, err_msg=name
        )
    assert a.n_eff == pytest.approx(b.n_eff, rel=rtol)


def few_values(n):
    """Columns full of ties, zeros included."""
    return arrays(np.float64, (n, 2), elements=st.sampled_from([-1.5, 0.0, 0.1, 0.3, 2.0]))


@st.composite
def weighted_rows(draw, weights):
    n = draw(st.integers(1, 25))
    y = draw(arrays(np.int64, n, elements=st.integers(0, 2)))
    return draw(few_values(n)), y, draw(arrays(np.float64, n, elements=weights))


@given(weighted_rows(st.integers(0, 4).map(float)), st.integers(2, 7))
def test_edges_and_bins_follow_the_definition(rows, n_bins):
    """Directly from the definition, in whole numbers, without sorting or searching."""
    X, y, weight = rows
    snap = offline.snapshot(X, y, n_bins, sample_weight=weight)
    total = weight.sum()
    for j, x in enumerate(X.T):
        if total == 0:
            assert np.isnan(snap.edges[j]).all()
            assert not snap.bin_weights[j].any()
            continue
        edges = [
            min(v for v in x if weight[x <= v].sum() * n_bins >= i * total)
            for i in range(1, n_bins)
        ]
        assert list(snap.edges[j]) == edges
        for k in range(n_bins):
            for c, label in enumerate(snap.classes):
                inside = [sum(e < v for e in edges) == k for v in x] & (y == label)
                assert snap.bin_weights[j, k, c] == weight[inside].sum()


@given(weighted_rows(st.integers(0, 4).map(float)))
def test_integer_weights_are_repeated_rows(rows):
    X, y, weight = rows
    times = weight.astype(int)
    weighted = offline.snapshot(X, y, sample_weight=weight)
    if len(set(y[times > 0])) == len(set(y)):
        repeated = offline.snapshot(np.repeat(X, times, axis=0), np.repeat(y, times))
        for name in ("weight", "bin_weights", "edges", "class_weight"):
            np.testing.assert_array_equal(getattr(weighted, name), getattr(repeated, name))
        for name in ("mean", "var"):
            np.testing.assert_allclose(
                getattr(weighted, name), getattr(repeated, name), rtol=1e-13, atol=1e-15
            )


@given(weighted_rows(st.just(0.0) | st.floats(1e-100, 100)))  # denormal sums have few digits
def test_sparse_rows_give_the_dense_result(rows):
    X, y, weight = rows
    for w in (None, weight):
        dense = offline.snapshot(X, y, sample_weight=w)
        for matrix in (sparse.csr_array(X), sparse.csc_matrix(X), sparse.coo_array(X)):
            assert_close(offline.snapshot(matrix, y, sample_weight=w), dense)


@given(weighted_rows(st.floats(0.01, 1)), st.sampled_from([0.1, 1 / 3, 7.0, 1e-200, 1e140]))
def test_a_common_factor_moves_no_edge(rows, factor):
    X, y, weight = rows
    snap = offline.snapshot(X, y, sample_weight=weight)
    scaled = offline.snapshot(X, y, sample_weight=weight * factor)
    np.testing.assert_array_equal(scaled.edges, snap.edges)
    assert scaled.n_eff == pytest.approx(snap.n_eff, rel=1e-12)


def test_moments_are_those_of_numpy():
    rng = np.random.default_rng(0)
    X, y, weight = rng.normal(size=(200, 3)) + 5, rng.integers(0, 3, 200), rng.random(200)
    snap = offline.snapshot(X, y, sample_weight=weight)
    for c in range(3):
        x, w = X[y == c], weight[y == c]
        mean = np.average(x, axis=0, weights=w)
        var = [np.cov(column, aweights=w, ddof=0) for column in x.T]
        np.testing.assert_allclose(snap.mean[c], mean, rtol=1e-13)
        np.testing.assert_allclose(snap.var[c], var, rtol=1e-12)
        assert snap.class_weight[c] == pytest.approx(w.sum(), rel=1e-14)
        assert snap.class_n_eff[c] == pytest.approx(w.sum() ** 2 / (w**2).sum(), rel=1e-13)
    assert snap.n_eff == pytest.approx(weight.sum() ** 2 / (weight**2).sum(), rel=1e-13)


def test_a_million_equal_weights_of_a_tenth_move_no_edge():
    """A plain running sum would be off by 1e-11 here, more than EDGE_TOLERANCE."""
    n = 1_000_000
    x = np.random.default_rng(1).permutation(n).astype(np.float64)
    snap = offline.snapshot(x[:, None], x < n / 3, sample_weight=np.full(n, 0.1))
    assert list(snap.edges[0]) == [199_999, 399_999, 599_999, 799_999]
    # n additions, each to 2**-64 of the total, which is five times a bin.
    np.testing.assert_allclose(snap.bin_weights[0].sum(axis=1), n / 50, rtol=5 * n * 2.0**-64)


def test_zero_weight_rows_change_nothing_but_the_list_of_classes():
    X = np.array([[1.0], [2.0], [3.0], [9.0], [-9.0]])
    snap = offline.snapshot(X, list("abacb"), sample_weight=[1, 2, 1, 0, 0])
    assert list(snap.classes) == ["a", "b", "c"]
    assert list(snap.class_weight) == [2, 2, 0]
    assert list(snap.class_n_eff) == [2, 1, 0]
    np.testing.assert_array_equal(snap.edges, [[1, 2, 2, 3]])
    np.testing.assert_array_equal(snap.mean, [[2], [2], [0]])


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_missing_values_do_not_count(form):
    X = form(np.array([[np.nan, 0.0], [1.0, np.nan], [2.0, 3.0], [np.nan, 4.0]]))
    snap = offline.snapshot(X, [0, 1, 1, 0], n_bins=2, missing="ignore")
    np.testing.assert_array_equal(snap.weight, [[0, 2], [2, 1]])
    np.testing.assert_array_equal(snap.mean, [[0, 2], [1.5, 3]])
    np.testing.assert_array_equal(snap.edges, [[1], [3]])
    np.testing.assert_array_equal(snap.class_weight, [2, 2])
    with pytest.raises(ValueError, match="contains NaN"):
        offline.snapshot(X, [0, 1, 1, 0])


def test_float32_and_strided_views_are_taken_as_they_are():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(50, 6)).astype(np.float32), rng.integers(0, 2, 50)
    assert_close(
        offline.snapshot(X[::2, ::-2], y[::2]), offline.snapshot(X[::2, [5, 3, 1]], y[::2])
    )
    assert_close(offline.snapshot(X, y), offline.snapshot(X.astype(np.float64), y))


@pytest.mark.parametrize("name", SCORES)
def test_scores_are_those_of_the_snapshot(name):
    rng = np.random.default_rng(3)
    X, y, weight = rng.normal(size=(50, 3)), rng.integers(0, 2, 50), rng.random(50)
    got = offline.scores(X, y, name, n_bins=4, sample_weight=weight)
    snap = offline.snapshot(X, y, n_bins=4, sample_weight=weight)
    np.testing.assert_array_equal(got, SCORES[name].function(snap))


def test_bad_parameters_are_named():
    with pytest.raises(ValueError, match=r"score_func must be one of 't', .*, got 'anova'"):
        offline.scores([[1.0]], [0], score_func="anova")
    with pytest.raises(ValueError, match="n_bins must be at least 2, got 1"):
        offline.snapshot([[1.0]], [0], n_bins=1)
    with pytest.raises(ValueError, match="must not both be given"):
        offline.clock_weights(3, decay=0.9, half_life=3)
    with pytest.raises(ValueError, match='clock must be "row", "batch" or "time"'):
        offline.clock_weights(3, clock="wall")


def test_clock_weights_follow_each_clock():
    np.testing.assert_allclose(offline.clock_weights(4, decay=0.9), [0.729, 0.81, 0.9, 1])
    # An empty batch is a tick like any other.
    np.testing.assert_allclose(
        offline.clock_weights([1, 2, 0, 1, 0], clock="batch", decay=0.5),
        [1 / 16, 1 / 8, 1 / 8, 1 / 2],
    )
    late = offline.clock_weights([5.0, 3.0, 4.5], clock="time", decay=0.25)
    np.testing.assert_allclose(late, [1, 1 / 16, 1 / 2])
    np.testing.assert_allclose(
        offline.clock_weights(1000, half_life=250)[[999, 749, 499]], [1, 1 / 2, 1 / 4]
    )
    assert offline.clock_weights(0).shape == (0,)
    assert offline.clock_weights([], clock="time").shape == (0,)
    assert list(offline.clock_weights(2)) == [1, 1]


@pytest.mark.parametrize("name", ["madelon", "dexter", "dorothea", "url_dense", "spam"])
def test_real_data_agree_with_scipy_and_scikit_learn(name, data_dir):
    X, y = getattr(datasets, name)(data_dir)
    # Every feature of a small set, the busiest and a spread of the others of a wide one.
    busy = np.argsort(-np.asarray((X != 0).sum(axis=0)), kind="stable")
    columns = np.unique(np.concatenate([busy[:150], np.linspace(0, len(busy) - 1, 150, dtype=int)]))
    snap = offline.snapshot(X[:, columns], y)
    dense = X[:, columns].toarray() if sparse.issparse(X) else X[:, columns]
    dense = dense.astype(np.float64)
    a, b = dense[y == snap.classes[0]], dense[y == snap.classes[1]]
    varies = np.array([np.ptp(a, axis=0) > 0, np.ptp(b, axis=0) > 0])
    some, both = varies.any(axis=0), varies.all(axis=0)
    # F does not change with an offset, but f_classif, which adds raw squares, loses digits to it.
    F, p_F = f_classif(dense[:, some] - dense[:, some].mean(axis=0), y)
    np.testing.assert_allclose(scores.fisher(snap)[some] * (len(y) - 2), F, rtol=1e-8)
    # With enough rows beside the commonest value in each class the tests are those of the books;
    # elsewhere (rare flags, outliers in a small class) p may be larger.
    expected = (dense != stats.mode(dense).mode).mean(axis=0) * min(len(a), len(b))
    is_flag = (np.diff(np.sort(dense, axis=0), axis=0) != 0).sum(axis=0) < 2
    is_even = min(len(a), len(b)) > len(y) / 4
    plain = both & np.where(is_flag, expected >= 100, (expected >= 8) & is_even)
    p_fisher, p_t = scores.fisher_pvalues(snap), scores.t_pvalues(snap)
    np.testing.assert_allclose(p_fisher[plain], p_F[plain[some]], rtol=1e-6)
    assert (p_fisher[some] >= p_F * (1 - 1e-6)).all()
    tests = [stats.ttest_ind(a[:, both], b[:, both], equal_var=equal) for equal in (False, True)]
    want = np.maximum(*(test.pvalue for test in tests))
    np.testing.assert_allclose(p_t[plain], want[plain[both]], rtol=1e-6)
    assert (p_t[both] >= want * (1 - 1e-6)).all()
    want = np.where(a[0] == b[0], 0, np.inf)[~some]
    np.testing.assert_array_equal(scores.fisher(snap)[~some], want)
    np.testing.assert_array_equal(scores.t(snap)[~some], want)

    chi2, information = scores.chi2(snap), scores.mutual_info(snap)
    for j in range(len(columns)):
        # The smallest rank r with r * K >= i * n, in whole numbers.
        ranked = np.sort(dense[:, j])
        edges = [ranked[-(-i * len(y) // 5) - 1] for i in range(1, 5)]
        assert list(snap.edges[j]) == edges
        bins = np.digitize(dense[:, j], edges, right=True)
        counts = stats.contingency.crosstab(bins, y).count
        assert chi2[j] == pytest.approx(
            stats.chi2_contingency(counts, correction=False).statistic, rel=1e-10, abs=1e-12
        )
        assert information[j] == pytest.approx(mutual_info_score(bins, y), rel=1e-9, abs=1e-14)


@pytest.mark.parametrize("name", ["dexter", "spam"])
def test_whole_sparse_sets_are_scored(name, data_dir):
    X, y = getattr(datasets, name)(data_dir)
    snap = offline.snapshot(X, y)
    np.testing.assert_allclose(snap.bin_weights.sum(axis=1), snap.weight.T, rtol=1e-12)
    np.testing.assert_allclose(snap.weight.sum(axis=0), len(y), rtol=1e-12)
    for score in SCORES.values():
        value = score.function(snap)
        assert not np.isnan(value).any()
        assert (value >= 0).all()


def test_the_loaders_read_the_content_of_the_files(data_dir):
    assert datasets.elec2(data_dir)[0].shape == (45312, 6)
    assert datasets.elec2(data_dir)[2][:2] == ("period", "nswprice")
    X, y = datasets.url_mini(data_dir, 0)
    assert X.shape == (200, datasets.URL_FEATURES)
    assert set(y) == {-1, 1}
    X, y, meta = datasets.news20_dated(data_dir)
    assert X.shape == (len(y), 557510)
    assert (np.diff(meta["timestamp"]) >= 0).all()
    assert len(meta["groups"]) == len(set(y)) == 20
