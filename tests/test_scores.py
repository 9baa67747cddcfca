import numpy as np
import pytest
from scipy import stats
from sklearn.feature_selection import f_classif
from sklearn.metrics import mutual_info_score

from driftsieve import offline, scores


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
    got = scores.fisher_score(snap) * (n - n_classes) / (n_classes - 1)
    np.testing.assert_allclose(got, F, rtol=1e-10)
    np.testing.assert_allclose(scores.fisher_pvalues(snap), p, rtol=1e-8)


def test_chi2_and_mutual_info_are_those_of_scipy_and_scikit_learn(table):
    X, y, snap = table
    for j in range(X.shape[1]):
        counts = contingency(X, y, snap, j)
        want = stats.chi2_contingency(counts, correction=False)
        g_test = stats.chi2_contingency(counts, correction=False, lambda_="log-likelihood")
        np.testing.assert_allclose(scores.chi2(snap)[j], want.statistic, rtol=1e-11)
        np.testing.assert_allclose(scores.chi2_pvalues(snap)[j], want.pvalue, rtol=1e-8)
        np.testing.assert_allclose(scores.mutual_info_pvalues(snap)[j], g_test.pvalue, rtol=1e-8)
        information = mutual_info_score(None, None, contingency=counts)
        np.testing.assert_allclose(scores.mutual_info(snap)[j], information, rtol=1e-10)


def test_t_is_the_largest_of_one_class_against_the_rest_and_p_is_welch(table):
    X, y, snap = table
    labels = np.unique(y)
    largest, smallest_p = np.zeros(X.shape[1]), np.ones(X.shape[1])
    for c in labels:
        a, b = X[y == c], X[y != c]
        spread = np.sqrt(a.var(axis=0) / len(a) + b.var(axis=0) / len(b))
        largest = np.maximum(largest, np.abs(a.mean(axis=0) - b.mean(axis=0)) / spread)
        p = stats.ttest_ind(a, b, equal_var=False).pvalue
        smallest_p = np.minimum(smallest_p, p * (len(labels) if len(labels) > 2 else 1))
    np.testing.assert_allclose(scores.t_score(snap), largest, rtol=1e-10)
    np.testing.assert_allclose(scores.t_pvalues(snap), smallest_p, rtol=1e-8)
