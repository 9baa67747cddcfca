"""What pruned summaries leave open, and p-values that allow for it and for nothing more."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import LinearConstraint, minimize

from driftsieve import Bank, offline, select
from driftsieve.scores import SCORES
from driftsieve.scores.bins import dependence, inertia, information
from driftsieve.scores.uncertainty import nearest_to_independence

PVALUES = {name: SCORES[name].pvalues for name in ("mutual_info", "chi2")}


def counted(X, y, weight, edges):
    """(p, K, C) weight that truly lies in the bins between the edges."""
    table = np.zeros((X.shape[1], edges.shape[1] + 1, y.max() + 1))
    for j, column in enumerate(X.T):
        np.add.at(table[j], (np.searchsorted(edges[j], column), y), weight)
    return table


STREAMS = [
    {},
    {"half_life": 700},
    {"weighted": True},
    {"sparse": True, "n": 30_000},  # more than wait in the log
    {"n_classes": 7},
    {"missing": "ignore"},
]


def pruned(seed, n=9000, n_classes=2, weighted=False, sparse=False, **settings):
    """A bank that had to join values, its rows, and what they weigh."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, 12)), rng.integers(0, n_classes, n)
    X[:, 0] += 0.3 * y
    X[:, 1] = np.round(X[:, 1], 1)
    X[:, 2] = np.sort(X[:, 2])
    X[:, 3] = np.where(rng.random(n) < 0.6, 0, X[:, 3])
    weight = rng.gamma(0.5, size=n) if weighted else np.ones(n)
    bank = Bank(0.05, moments=False, **settings)
    bank.update(_csr(X) if sparse else X, y, sample_weight=weight if weighted else None)
    half_life = settings.get("half_life")
    return bank, X, y, weight * offline.clock_weights(n, half_life=half_life)


def _csr(X):
    return sparse.csr_array(X)


@pytest.mark.parametrize("stream", STREAMS, ids=str)
def test_true_weights_lie_between_the_counted_and_the_hidden(stream):
    bank, X, y, weight = pruned(1, **stream)
    snap = bank.freeze(6)
    assert (snap.hidden > 0).any()
    slack = 1e-9 * snap.W
    excess = counted(X, y, weight, snap.edges).cumsum(axis=1) - snap.bin_weights.cumsum(axis=1)
    assert_allclose(excess[:, -1], 0, atol=slack)
    assert (excess[:, :-1] >= -slack).all()
    assert (excess[:, :-1] <= snap.hidden + slack).all()
    assert (snap.hidden.sum(axis=2) <= snap.rank_error[:, None] + slack).all()
    assert (snap.hidden <= 0.05 * snap.class_weight + slack).all()


@pytest.mark.parametrize("stream", STREAMS, ids=str)
@pytest.mark.parametrize("name", PVALUES)
def test_a_pvalue_is_at_least_that_of_the_true_table(stream, name):
    bank, X, y, weight = pruned(2, **stream)
    snap = bank.freeze()
    true = replace(snap, bin_weights=counted(X, y, weight, snap.edges), hidden=None)
    found, exact = PVALUES[name](snap), PVALUES[name](true)
    assert (found >= exact * (1 - 1e-4)).all()
    assert (found > exact).any()
    assert found[0] < 1e-4  # which tells the classes apart


def test_exact_banks_hide_nothing_and_lose_nothing():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(1500, 5)), rng.integers(0, 2, 1500)
    snap = Bank(moments=False).update(X, y).freeze()
    assert_array_equal(snap.hidden, 0)
    for pvalues in PVALUES.values():
        assert_allclose(pvalues(snap), pvalues(offline.snapshot(X, y)), rtol=1e-9)


def solved(table, hidden, statistic):
    """The least of a statistic within the bounds, by a general solver."""
    n_bins, n_classes = table.shape

    def of_moves(moves):
        path = table.cumsum(axis=0)
        path[:-1] += moves.reshape(hidden.shape)
        cells = np.diff(path, axis=0, prepend=0).clip(1e-12)
        return float(statistic(dependence(cells[..., None]))[0])

    steps = np.kron(np.diff(np.eye(n_bins + 1), axis=0)[:, 1:-1], np.eye(n_classes))
    best = minimize(
        of_moves,
        (hidden * np.linspace(0.2, 0.8, n_bins - 1)[:, None]).ravel(),
        method="SLSQP",
        bounds=[(0, h) for h in hidden.ravel()],
        constraints=LinearConstraint(steps, -table.ravel(), np.inf),
        options={"maxiter": 500, "ftol": 1e-13},
    )
    return best.fun


@pytest.mark.parametrize("kind", ["any", "one class exact", "empty cell", "rare class"])
@pytest.mark.parametrize(("n_bins", "n_classes"), [(2, 2), (5, 2), (4, 3), (9, 2)])
@np.errstate(divide="ignore", invalid="ignore")  # as the scores have it
def test_nearest_table_is_what_a_general_solver_finds(n_bins, n_classes, kind):
    rng = np.random.default_rng(n_bins)
    for _ in range(3):
        size = rng.uniform(0.1, 1, n_classes)
        if kind == "rare class":
            size[0] = 0.01
        table = rng.dirichlet(np.full(n_bins, 20.0), n_classes).T * size
        hidden = rng.uniform(0, 0.2 / n_bins, (n_bins - 1, n_classes)) * size
        if kind == "one class exact":
            hidden[:, 0] = 0
        elif kind == "empty cell":
            table[-1, 1] = 0
        found = nearest_to_independence(table[..., None], hidden[..., None])
        moved = (found[..., 0] - table).cumsum(axis=0)
        assert (moved[:-1] >= -1e-12).all()
        assert (moved[:-1] <= hidden + 1e-12).all()
        assert_allclose(moved[-1], 0, atol=1e-12)
        for statistic, precision in ((information, 2e-3), (inertia, 0.05)):
            least = statistic(dependence(found))[0]
            assert least <= statistic(dependence(table[..., None]))[0] + 1e-15
            expected = solved(table, hidden, statistic)
            assert least == pytest.approx(expected, abs=1e-6, rel=precision)


@np.errstate(divide="ignore", invalid="ignore")
def test_bins_that_may_be_empty_are_joined():
    table = np.array([[40.0, 60.0], [0, 0], [1, 2], [50, 30], [2, 1]])[..., None]
    hidden = np.array([[2.0, 1], [2, 1], [2, 1], [2, 1]])[..., None]
    found = nearest_to_independence(table, hidden)
    joined = np.array([[40.0, 60.0], [53, 33]])
    assert_array_equal(found[2:], 0)
    expected = nearest_to_independence(joined[..., None], hidden[:1])
    assert_allclose(found[:2], expected, atol=1e-6)
    assert_array_equal(
        nearest_to_independence(table, hidden * 100), [[[93], [93]]] + [[[0], [0]]] * 4
    )


@pytest.mark.parametrize("name", PVALUES)
@pytest.mark.parametrize(("n", "half_life", "shift"), [(30_000, None, 0.1), (20_000, 2000, 0.25)])
def test_weak_dependence_is_found_after_pruning_and_noise_is_not(name, n, half_life, shift):
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, n)
    X = rng.normal(size=(n, 60))
    X[:, :20] += shift * y[:, None]
    bank = Bank(moments=False, half_life=half_life).update(X, y)
    snap = bank.freeze()
    assert snap.rank_error.min() > 0.005 * snap.W  # far from exact
    kept = select.fdr(PVALUES[name](snap), 0.05)
    assert kept[:20].sum() >= 19
    assert not kept[20:].any()


def test_noise_would_be_found_without_allowance():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(60_000, 60)), rng.integers(0, 2, 60_000)
    snap = Bank(moments=False).update(X, y).freeze()
    assert np.mean(PVALUES["chi2"](replace(snap, hidden=None)) < 0.05) > 0.2
    assert np.mean(PVALUES["chi2"](snap) < 0.05) <= 0.05
