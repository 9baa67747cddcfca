import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse, stats
from sklearn.feature_selection import f_classif
from sklearn.metrics import mutual_info_score

import driftsieve as ds
from driftsieve import offline, scores
from driftsieve.scores import SCORES, blocks
from driftsieve.snapshot import Snapshot


@pytest.fixture(scope="module", params=[2, 3, 7], ids="{} classes".format)
def table(request):
    """A random table: shifted, rounded and noise columns."""
    rng = np.random.default_rng(request.param)
    X, y = rng.normal(size=(400, 12)), rng.integers(0, request.param, 400)
    X[:, :4] += y[:, None] * np.array([1.0, 0.5, 0.1, 0.05])
    X[:, 4:6] = X[:, 4:6].round()
    X[:, 6] = np.abs(X[:, 6]) ** 5
    return X, y, offline.snapshot(X, y)


def contingency(X, y, snap, j):
    """Counts of quantile bin and class, without empty bins."""
    bins = (snap.edges[j][None, :] < X[:, j][:, None]).sum(axis=1)
    return np.array([[np.sum((bins == k) & (y == c)) for c in np.unique(y)] for k in set(bins)])


def test_fisher_is_the_f_test_of_scikit_learn(table):
    X, y, snap = table
    n, n_classes = len(y), snap.n_classes
    F, p = f_classif(X, y)
    got = scores.fisher(snap) * (n - n_classes) / (n_classes - 1)
    np.testing.assert_allclose(got, F, rtol=1e-10)
    np.testing.assert_allclose(scores.fisher_pvalues(snap), p, rtol=1e-8)


def test_chi2_and_mutual_info_are_those_of_scipy_and_scikit_learn(table):
    X, y, snap = table
    for j in range(X.shape[1]):
        counts = contingency(X, y, snap, j)
        want = stats.chi2_contingency(counts, correction=False)
        np.testing.assert_allclose(scores.chi2(snap)[j], want.statistic, rtol=1e-11)
        np.testing.assert_allclose(scores.chi2_pvalues(snap)[j], want.pvalue, rtol=1e-8)
        np.testing.assert_allclose(scores.mutual_info_pvalues(snap)[j], want.pvalue, rtol=1e-8)
        information = mutual_info_score(None, None, contingency=counts)
        np.testing.assert_allclose(scores.mutual_info(snap)[j], information, rtol=1e-10)


def test_t_is_the_largest_of_one_class_against_the_rest_and_p_the_larger_of_two_tests(table):
    X, y, snap = table
    labels = np.unique(y)
    largest, smallest_p = np.zeros(X.shape[1]), np.ones(X.shape[1])
    for c in labels:
        a, b = X[y == c], X[y != c]
        spread = np.sqrt(a.var(axis=0) / len(a) + b.var(axis=0) / len(b))
        largest = np.maximum(largest, np.abs(a.mean(axis=0) - b.mean(axis=0)) / spread)
        welch, pooled = (stats.ttest_ind(a, b, equal_var=equal).pvalue for equal in (False, True))
        p = np.maximum(welch, pooled)
        smallest_p = np.minimum(smallest_p, p * (len(labels) if len(labels) > 2 else 1))
    np.testing.assert_allclose(scores.t(snap), largest, rtol=1e-10)
    np.testing.assert_allclose(scores.t_pvalues(snap), smallest_p, rtol=1e-8)


def test_gini_is_the_smallest_impurity_over_edges_and_no_split(table):
    X, y, snap = table

    def impurity(labels):
        shares = np.unique(labels, return_counts=True)[1] / max(1, len(labels))
        return len(labels) * (1 - np.sum(shares**2)) if len(labels) else 0.0

    for j, got in enumerate(scores.gini(snap)):
        splits = [impurity(y[X[:, j] <= e]) + impurity(y[X[:, j] > e]) for e in snap.edges[j]]
        np.testing.assert_allclose(got, min(impurity(y), *splits) / len(y), rtol=1e-12)


def test_perfect_separation_is_infinite_and_ranks_first():
    y = np.array([0, 0, 0, 1, 1, 1])
    near = [0.0, 0.1, 0.0, 1.0, 1.1, 1.0]
    X = np.column_stack([near, np.where(y == 1, 0.7, 0.1), [7.3] * 6])
    snap = offline.snapshot(X, y)
    for name in ("t", "fisher"):
        score = SCORES[name].function(snap)
        assert score[1] == np.inf
        assert list(scores.rank(score, larger_is_better=True)) == [2, 1, 3]
        # no less than 1 / C(6, 3): six rows can be assigned to two classes in 20 ways
        assert SCORES[name].pvalues(snap)[1] == pytest.approx(1 / 20, rel=1e-12)
    assert scores.gini(snap)[1] == 0
    assert scores.mutual_info(snap)[1] == pytest.approx(np.log(2), rel=1e-14)
    assert scores.chi2(snap)[1] == pytest.approx(6, rel=1e-14)


def test_one_constant_class_among_several_is_infinite_only_against_constant_others():
    y = np.array([0, 0, 1, 1, 2, 2])
    X = np.array([[0, 0, 5, 5, 5, 5], [0, 0, 5, 5, 6, 6]], dtype=float).T
    assert scores.t(offline.snapshot(X, y))[0] == np.inf
    # The best is class 0 against the rest: |0 - 5.5| / sqrt(0 / 2 + 0.25 / 4).
    assert scores.t(offline.snapshot(X, y))[1] == pytest.approx(5.5 / 0.25, rel=1e-14)
    assert list(scores.fisher(offline.snapshot(X, y))) == [np.inf, np.inf]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_constant_columns_score_exactly_0(n_classes):
    rng = np.random.default_rng(1)
    y = rng.integers(0, n_classes, 999)
    weight = rng.random(999)
    X = np.broadcast_to([0.1, 1e8 + 0.1, -1 / 3, 0.0], (999, 4))
    for w in (None, weight):
        snap = offline.snapshot(X, y, sample_weight=w)
        for name in ("t", "fisher", "mutual_info", "chi2"):
            assert list(SCORES[name].function(snap)) == [0] * 4, name
            assert list(SCORES[name].pvalues(snap)) == [1] * 4, name
        shares = snap.class_weight / snap.W
        np.testing.assert_allclose(scores.gini(snap), 1 - np.sum(shares**2), rtol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_means_equal_up_to_rounding_count_as_equal(n_classes):
    """Without spread, one unit in the last place would otherwise be an infinite score."""
    snap = offline.snapshot(np.zeros((6, 1)), np.arange(6) % n_classes)
    snap = replace(snap, centred_mean=None)  # else it is used, not the mean
    mean = np.full((n_classes, 1), 0.1)
    mean[0] = np.nextafter(0.1, 1)
    noisy = replace(snap, mean=mean)
    apart = replace(snap, mean=mean * np.linspace(1, 1 + 1e-12, n_classes)[:, None])
    for name in ("t", "fisher"):
        assert SCORES[name].function(noisy)[0] == 0
        assert SCORES[name].pvalues(noisy)[0] == 1
    assert scores.fisher(apart)[0] == np.inf
    # With a spread of 100 means of 0.1 are known to no more than about 1e-12.
    wide = np.full((n_classes, 1), 100.0**2)
    blurred = replace(snap, var=wide, mean=np.linspace(0.1, 0.1 + 1e-12, n_classes)[:, None])
    clear = replace(snap, var=wide, mean=np.linspace(0.1, 0.1 + 1e-11, n_classes)[:, None])
    for name in ("t", "fisher"):
        assert SCORES[name].function(blurred)[0] == 0
        assert SCORES[name].function(clear)[0] > 0


def test_an_offset_of_1e8_costs_no_digits():
    rng = np.random.default_rng(2)
    y = rng.integers(0, 3, 5000)
    X = rng.integers(-1000, 1000, (5000, 4)) / 1024 + y[:, None] * [0, 0.01, 0.1, 1]
    X = (X * 1024).round() / 1024  # so that the offset itself rounds nothing
    near, far = offline.snapshot(X, y), offline.snapshot(X + 1e8, y)
    for score in (scores.t, scores.fisher):
        np.testing.assert_allclose(score(far), score(near), rtol=1e-6)


@pytest.mark.parametrize("name", SCORES)
def test_independent_tables_of_counts_score_exactly_0(name):
    row = np.array([3, 1, 7])
    X, y = np.repeat([0.0, 1.0, 5.0], 33)[:, None], np.tile(np.repeat([0, 1, 2], row), 9)
    snap = offline.snapshot(X, y)
    if SCORES[name].pvalues is None:
        pure_chance = 1 - np.sum((row / 11) ** 2)
        assert SCORES[name].function(snap)[0] == pytest.approx(pure_chance, rel=1e-15)
    else:
        assert SCORES[name].function(snap)[0] == 0
        assert SCORES[name].pvalues(snap)[0] == 1


@given(
    arrays(np.int64, (5, 3), elements=st.integers(0, 50)),
    st.floats(1e-6, 1e6),
)
def test_never_negative_and_chi2_is_linear_in_weight(counts, scale):
    assume((counts.sum(axis=0) > 0).sum() >= 2)
    bins, classes = np.indices(counts.shape)
    X, y = bins.ravel()[:, None].astype(float), classes.ravel()
    snap = offline.snapshot(X, y, sample_weight=counts.ravel())
    scaled = offline.snapshot(X, y, sample_weight=counts.ravel() * scale)
    for name, score in SCORES.items():
        value = score.function(snap)
        assert value >= 0
        factor = {"chi2": scale, "t": scale**0.5}.get(name, 1.0)
        # Rounding is relative to the weights, so nearly independent tables agree absolutely.
        tolerance = 1e-11 * factor
        np.testing.assert_allclose(score.function(scaled), value * factor, 1e-9, tolerance)
        if score.pvalues:
            assert 0 <= score.pvalues(snap) <= 1
            np.testing.assert_allclose(score.pvalues(scaled), score.pvalues(snap), 1e-6, 1e-9)


def test_small_information_keeps_its_digits():
    """2 n MI and chi2 agree to first order, even where MI is of the order of rounding."""
    counts = np.array([[10**8, 10**8 + 10], [10**8 + 10, 10**8]])
    snap = offline.snapshot(
        np.array([[0.0], [0.0], [1.0], [1.0]]), [0, 1, 0, 1], 2, sample_weight=counts.ravel()
    )
    want = counts.sum() * (5 / counts.mean()) ** 2
    np.testing.assert_allclose(scores.chi2(snap), want, rtol=1e-6)
    np.testing.assert_allclose(2 * counts.sum() * scores.mutual_info(snap), want, rtol=1e-6)


def test_nearly_pure_sides_keep_their_digits():
    """One row of 1e12 is in the other class: impurity 2 (1 - 1e-12) 1e-12."""
    snap = offline.snapshot([[0.0], [0.0]], [0, 1], sample_weight=[0.1 * (1e12 - 1), 0.1])
    np.testing.assert_allclose(scores.gini(snap), 2e-12 * (1 - 1e-12), rtol=1e-14)


@pytest.mark.parametrize("name", SCORES)
def test_long_faded_classes_give_numbers(name):
    """At 0.9**3000 a class counts as ever; at 0.9**6600, about 1e-302, it no longer does."""
    rng = np.random.default_rng(7)
    X, y = rng.normal(size=(90, 4)), np.repeat([0, 1, 2], 30)
    X[:, 1] = y == 0
    ages = np.repeat([3000, 0, 0], 30)
    score = SCORES[name]
    old = offline.snapshot(X, y, sample_weight=0.9**ages)
    gone = offline.snapshot(X, y, sample_weight=0.9 ** (ages * 2.2))
    never = offline.snapshot(X[30:], y[30:])
    for function in filter(None, (score.function, score.pvalues)):
        assert np.isfinite(function(old)[[0, 2, 3]]).all()
        np.testing.assert_allclose(function(gone), function(never), rtol=1e-12)
    if name == "chi2":  # W for two classes in bins of their own, however little one weighs
        apart = offline.snapshot(X[:60], y[:60], 2, sample_weight=0.9 ** ages[:60])
        assert scores.chi2(apart)[1] / apart.W == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize("name", SCORES)
def test_a_class_without_weight_changes_nothing(name):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(60, 5)), rng.integers(0, 3, 60)
    weight = np.where(y == 1, 0.0, rng.random(60))
    score = SCORES[name]
    with_empty, without = (
        offline.snapshot(X[rows], y[rows], sample_weight=weight[rows])
        for rows in (np.full(60, True), y != 1)
    )
    assert with_empty.n_classes == 3
    np.testing.assert_allclose(score.function(with_empty), score.function(without), rtol=1e-12)
    if score.pvalues:
        np.testing.assert_allclose(score.pvalues(with_empty), score.pvalues(without), rtol=1e-9)


@pytest.mark.parametrize("name", SCORES)
def test_missing_values_count_for_their_feature_only(name):
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(90, 3)), rng.integers(0, 3, 90)
    X[:, 0] += y
    X[rng.random(90) < 0.3, 0] = np.nan
    X[y == 2, 1] = np.nan
    snap = offline.snapshot(X, y, missing="ignore")
    score = SCORES[name]
    for j in range(3):
        seen = ~np.isnan(X[:, j])
        alone = offline.snapshot(X[seen][:, [j]], y[seen])
        want, share = score.function(alone)[0], seen.mean()
        if name in ("mutual_info", "fisher"):
            want *= share
        if name == "gini":
            prior, there = (1 - ((np.bincount(c) / len(c)) ** 2).sum() for c in (y, y[seen]))
            want = prior - share * (there - want)
        np.testing.assert_allclose(score.function(snap)[j], want, rtol=1e-12)
        if score.pvalues:
            np.testing.assert_allclose(score.pvalues(snap)[j], score.pvalues(alone)[0], rtol=1e-9)


def test_features_that_count_for_fewer_than_two_classes_rank_last():
    y = np.array([0, 0, 0, 1, 1, 1])
    X = np.array([[np.nan] * 6, [1, 2, 3] + [np.nan] * 3, [1, 2, 3, 3, 4, 5]]).T
    snap = offline.snapshot(X, y, missing="ignore")
    for name, score in SCORES.items():
        value = score.function(snap)
        assert list(value[:2]) == ([0.5, 0.5] if name == "gini" else [0, 0])
        assert list(scores.rank(value, score.larger_is_better)) == [2, 3, 1]
        if score.pvalues:
            assert list(score.pvalues(snap)[:2]) == [1, 1]


def test_one_row_of_a_class_is_no_evidence():
    for X, y in (([[0.0], [1.0], [2.0]], [0, 0, 1]), ([[0.0], [1.0]], [0, 1])):
        snap = offline.snapshot(X, y)
        for name in ("t", "fisher"):
            assert SCORES[name].function(snap)[0] == 0
            assert SCORES[name].pvalues(snap)[0] == 1
    two_each = offline.snapshot([[0.0], [0.0], [1.0], [1.0]], [0, 0, 1, 1])
    assert scores.t(two_each)[0] == np.inf


@pytest.mark.parametrize("faded", [False, True], ids=["unit weights", "half-life 150"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", [name for name, score in SCORES.items() if score.pvalues])
def test_pvalues_are_uniform_on_noise(name, n_classes, faded):
    rng = np.random.default_rng(5)
    n, p = 1000, 1500
    X, y = rng.normal(size=(n, p)), rng.integers(0, n_classes, n)
    weight = offline.clock_weights(n, half_life=150) if faded else None
    pvalues = SCORES[name].pvalues(offline.snapshot(X, y, sample_weight=weight))
    # Bonferroni only bounds the number of small p-values: its test is one-sided.
    side = "greater" if name == "t" and n_classes > 2 else "two-sided"
    assert stats.kstest(pvalues, "uniform", alternative=side).pvalue > 1e-3


@pytest.mark.parametrize("name", SCORES)
def test_blocks_of_features_change_nothing(name, table, monkeypatch):
    *_, snap = table
    score = SCORES[name]
    whole = score.function(snap)
    monkeypatch.setattr(blocks, "_BLOCK_CELLS", 5 * snap.n_classes * 5)
    np.testing.assert_array_equal(score.function(snap), whole)
    np.testing.assert_array_equal(
        score.function(Snapshot.concat([snap.columns(0, 7), snap.columns(7, 12)])), whole
    )
    assert score.function(snap.columns(3, 3)).shape == (0,)


@pytest.mark.parametrize("name", SCORES)
def test_a_million_features_need_little_memory(name):
    p, n_bins, n_classes = 1_000_000, 5, 2
    cells = np.random.default_rng(6).integers(0, 9, (p, n_bins, n_classes)).astype(np.float64)
    class_weight = cells[0].sum(axis=0) + 1
    weight = np.broadcast_to(class_weight[:, None], (n_classes, p))
    snap = Snapshot(
        classes=np.arange(n_classes), class_weight=class_weight, class_n_eff=class_weight,
        n_eff=class_weight.sum(), n_features=p, feature_names=None, first_feature=0, weight=weight,
        mean=cells[:, 0].T, var=cells[:, 1].T, bin_weights=cells,
        edges=np.broadcast_to(np.arange(4.0), (p, 4)), rank_error=np.zeros(p),
    )  # fmt: skip
    tracemalloc.start()
    try:
        SCORES[name].function(snap)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < cells.nbytes / 2


@pytest.mark.parametrize("name", SCORES)
def test_unscorable_snapshot_is_an_error(name):
    score = SCORES[name]
    functions = [f for f in (score.function, score.pvalues) if f]
    for function in functions:
        with pytest.raises(ValueError, match="got only one class: 'ham'"):
            function(offline.snapshot([[1.0], [2.0]], ["ham", "ham"]))
        with pytest.raises(ValueError, match="got only one class: 'ham'"):
            function(offline.snapshot([[1.0], [2.0]], ["ham", "spam"], sample_weight=[1, 0]))
        with pytest.raises(ValueError, match="got no class"):
            function(offline.snapshot(np.empty((0, 2)), []))
        snap = offline.snapshot([[1.0], [2.0]], ["ham", "spam"])
        bare = replace(snap, mean=None, var=None, bin_weights=None, edges=None, rank_error=None)
        with pytest.raises(ValueError, match=rf"have {score.needs} for .* {score.needs}=True"):
            function(bare)


def test_rank_gives_ties_to_the_lower_index():
    values = np.array([0.2, 0.5, 0.2, np.inf, 0.5])
    assert list(scores.rank(values, larger_is_better=True)) == [4, 2, 5, 1, 3]
    assert list(scores.rank(values, larger_is_better=False)) == [1, 3, 2, 5, 4]
    assert scores.rank(values, larger_is_better=True).dtype == np.int64


def test_rank_is_not_decided_by_rounding():
    score = np.array([1 / 3, 0.1 + 0.2, 0.3, (1 / 3) * (1 + 4e-16), 0.3 * (1 + 1e-8)])
    assert list(scores.rank(score, larger_is_better=True)) == [1, 4, 5, 2, 3]
    assert list(scores.rank(score, larger_is_better=False)) == [4, 1, 2, 5, 3]
    assert list(scores.rank(np.array([0.0, 5e-324, 1.7e308, np.inf]), True)) == [4, 3, 2, 1]


@pytest.mark.parametrize("missing", ["error", "ignore"])
@pytest.mark.parametrize("half_life", [None, 30.0])
def test_features_never_seen_have_the_scores_of_zeros(missing, half_life):
    rng = np.random.default_rng(3)
    X = sparse.random_array((60, 500), density=0.004, format="csr", random_state=rng)
    X.data[0] = np.nan if missing == "ignore" else 2.0
    bank = ds.Bank(missing=missing, half_life=half_life).update(X, rng.integers(0, 3, 60))
    snap = bank.snapshot()
    assert snap.seen is not None
    np.testing.assert_array_equal(snap.seen, np.bincount(X.indices, minlength=500) > 0)
    assert 2 * snap.seen.sum() < 500
    for score in ds.scores.SCORES.values():
        for function in filter(None, (score.function, score.pvalues)):
            np.testing.assert_array_equal(function(snap), function(replace(snap, seen=None)))


def test_no_feature_seen_at_all():
    snap = ds.Bank().update(sparse.csr_array((4, 9)), [0, 1, 0, 1]).snapshot()
    np.testing.assert_array_equal(ds.scores.mutual_info(snap), np.zeros(9))


def test_scores_accept_a_bank_and_a_snapshot():
    rng = np.random.default_rng(8)
    bank = ds.Bank().update(rng.normal(size=(60, 4)), rng.integers(0, 2, 60))
    for score in SCORES.values():
        for function in filter(None, (score.function, score.pvalues)):
            np.testing.assert_array_equal(function(bank), function(bank.snapshot()))
    with pytest.raises(TypeError, match=r"snap must be a Snapshot or a Bank, got list\."):
        scores.t([1.0])
