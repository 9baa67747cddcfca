"""p-values where weights, classes and counts are uneven: see also tests/calibration."""

import numpy as np
import pytest
from scipy import sparse, stats

import driftsieve as ds
from driftsieve import FeatureScreener, offline
from driftsieve.scores import SCORES, blocks

TESTED = [name for name, score in SCORES.items() if score.pvalues]


def test_effective_size_is_that_of_the_definition():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((300, 2)), rng.choice(3, 300, p=[0.7, 0.2, 0.1])
    X[rng.random(300) < 0.4, 1] = np.nan
    weight = rng.random(300) * np.array([1.0, 5.0, 0.2])[y]
    snap = offline.snapshot(X, y, sample_weight=weight, missing="ignore")
    for j in range(2):
        seen = ~np.isnan(X[:, j])
        w = [weight[seen & (y == c)] for c in range(3)]
        share = np.array([part.sum() for part in w]) / weight[seen].sum()
        size = np.array([part.sum() ** 2 / (part**2).sum() for part in w])
        np.testing.assert_allclose(blocks.class_sizes(snap)[:, j], size, rtol=1e-12)
        n = 2 / (share * (1 - share) / size).sum()
        np.testing.assert_allclose(blocks.evidence(snap).n[j], n, rtol=1e-12)


def test_equal_weights_change_nothing():
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((90, 4)), rng.choice(3, 90, p=[0.6, 0.3, 0.1])
    plain, scaled = (offline.snapshot(X, y, sample_weight=np.full(90, w)) for w in (1.0, 7.0))
    rows = blocks.evidence(plain)
    np.testing.assert_allclose(rows.n, 90, rtol=1e-12)
    np.testing.assert_allclose(rows.freedom, 2, rtol=1e-9)
    for name in TESTED:
        pvalues = SCORES[name].pvalues
        np.testing.assert_allclose(pvalues(scaled), pvalues(plain), rtol=1e-9)


@pytest.mark.parametrize("name", TESTED)
def test_tenfold_weight_on_a_rare_class_makes_no_discoveries(name):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((10_000, 200))
    y = (rng.random(10_000) < 0.01).astype(int)
    snap = ds.Bank().update(X, y, sample_weight=np.where(y == 1, 10.0, 1.0)).snapshot()
    p = SCORES[name].pvalues(snap)
    assert ds.scores.SCORES[name].pvalues is not None
    assert np.count_nonzero(p * 200 < 0.05) == 0
    assert np.count_nonzero(p < 0.05) <= 20


@pytest.mark.parametrize("rule", ["fdr", "fwe"])
@pytest.mark.parametrize("name", TESTED)
def test_a_screener_with_class_weights_selects_no_noise(name, rule):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((10_000, 200))
    y = (rng.random(10_000) < 0.01).astype(int)
    screener = FeatureScreener(name, **{rule: 0.05})
    screener.fit(X, y, sample_weight=np.where(y == 1, 10.0, 1.0))
    assert screener.get_support().sum() <= 2


@pytest.mark.parametrize("name", TESTED)
def test_class_absent_for_five_half_lives_is_still_tested(name):
    """All scores find a shift that a t-test of its rows finds."""
    rng = np.random.default_rng(2)
    half_life, n = 400, 4000
    y = np.where(np.arange(n) < n - 5 * half_life, rng.integers(0, 2, n), 0)
    X = rng.standard_normal((n, 40))
    X[:, :20] += 0.5 * y[:, None]
    p = SCORES[name].pvalues(ds.Bank(half_life=half_life).update(X, y).snapshot())
    assert np.count_nonzero(p[:20] < 0.001) >= 19
    assert np.count_nonzero(p[20:] < 0.001) <= 1


def test_values_known_in_the_last_rows_only_have_their_own_effective_size():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((6000, 500)), rng.integers(0, 2, 6000)
    X[:5900] = np.nan
    for name in TESTED:
        screener = FeatureScreener(name, fpr=0.001, half_life=1000, missing="ignore").fit(X, y)
        assert screener.get_support().sum() <= 4, name


def test_new_words_in_a_faded_stream_are_not_significant():
    """Rows with a new word weigh more than others: 8 of 1000 at 0.001 otherwise."""
    rng = np.random.default_rng(0)
    n, p = 6000, 4000
    dense = np.zeros((n, p), dtype=np.float32)
    dense[-300:] = rng.random((300, p)) < 0.15
    y = rng.integers(0, 2, n)
    snap = ds.Bank(half_life=1000).update(sparse.csr_array(dense), y).snapshot()
    for name in TESTED:
        assert np.count_nonzero(SCORES[name].pvalues(snap) < 0.001) <= 12, name


@pytest.mark.parametrize("name", TESTED)
def test_rare_flags_and_a_rare_class_make_no_discoveries(name):
    rng = np.random.default_rng(3)
    X = (rng.random((5000, 1000)) < 0.01).astype(float)
    y = (rng.random(5000) < 0.01).astype(int)
    assert FeatureScreener(name, fwe=0.05).fit(X, y).get_support().sum() <= 1


@pytest.mark.parametrize("name", TESTED)
@pytest.mark.parametrize(("n_rows", "n_classes"), [(1000, 200), (1000, 100), (1500, 60)])
def test_many_classes_make_no_discoveries(name, n_rows, n_classes):
    rng = np.random.default_rng(4)
    y = rng.integers(0, n_classes, n_rows)
    for X in (rng.standard_normal((n_rows, 500)), (rng.random((n_rows, 500)) < 0.05).astype(float)):
        for rule in ("fwe", "fdr"):
            screener = FeatureScreener(name, **{rule: 0.05}).fit(X, y)
            assert screener.get_support().sum() <= 2, rule


def test_no_pvalue_is_below_one_in_the_number_of_assignments():
    X = np.repeat([0.0, 1.0], 3)[:, None] + [[0.0, 1e-3]] * 6 * np.arange(6)[:, None]
    snap = offline.snapshot(X, np.repeat([0, 1], 3))
    for name in TESTED:
        assert (SCORES[name].pvalues(snap) >= 1 / 20 - 1e-12).all(), name
    rng = np.random.default_rng(5)
    X = rng.standard_normal((6, 3000)).round()
    p = SCORES["t"].pvalues(offline.snapshot(X, np.repeat([0, 1], 3)))
    assert p.min() >= 1 / 20 - 1e-12


def test_rare_flags_keep_power_near_that_of_an_exact_test():
    """A flag in 8 of 50 rows of a class and in 50 of 4950 others."""
    y = np.repeat([1, 0], [50, 4950])
    X = np.zeros((5000, 1))
    X[:8] = X[50:100] = 1.0
    exact = stats.fisher_exact([[8, 42], [50, 4900]]).pvalue
    for name in ("mutual_info", "chi2", "fisher"):
        p = SCORES[name].pvalues(offline.snapshot(X, y))[0]
        assert exact / 2 < p < 10 * exact, (name, p, exact)


@pytest.mark.parametrize("expected", [0.5, 5.0, 50.0])
def test_very_small_pvalues_of_flags_are_no_smaller_than_the_exact_ones(expected):
    """Among millions of flags the far tail counts: that of chi-square is much too light."""
    n, few = 100_000, 1000
    ones = round(expected / few * n)
    y = np.repeat([1, 0], [few, n - few])
    for found in np.unique(np.linspace(expected + 2, min(few, 6 * expected + 12), 6).astype(int)):
        X = np.zeros((n, 1))
        X[:found] = X[few : few + max(0, ones - found)] = 1.0
        table = [[found, few - found], [ones - min(found, ones), n - few - max(0, ones - found)]]
        exact = stats.fisher_exact(table, alternative="greater").pvalue
        for name in TESTED:
            p = SCORES[name].pvalues(offline.snapshot(sparse.csr_array(X), y))[0]
            assert p >= exact * 0.999, (name, found)


@pytest.mark.parametrize("half_life", [None, 40.0])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_pvalues_of_flags_do_not_depend_on_the_other_features(half_life, n_classes):
    rng = np.random.default_rng(0)
    X = (rng.random((120, 60)) < np.linspace(0.01, 0.2, 60)).astype(float)
    X[:, 30:45] = X[:, :15]  # features with the same table of counts
    snap = ds.Bank(half_life=half_life).update(X, rng.integers(0, n_classes, 120)).snapshot()
    alone = [ds.scores.t_pvalues(snap.pick(np.array([j])))[0] for j in range(60)]
    np.testing.assert_array_equal(ds.scores.t_pvalues(snap), alone)
