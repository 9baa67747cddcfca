"""Relevance is unbiased: its mean is 0 for features that are independent of the class."""

import numpy as np
import pytest

import driftsieve as ds
from driftsieve.memory.relevance import RELEVANCE, RESPONSE, of_stacked


def noise(kind, n, p, rng):
    X = rng.normal(size=(n, p))
    if kind == "flags":
        return (X > 0.5) * 1.0
    return np.where(rng.random((n, p)) < 0.1, np.nan, X) if kind == "missing" else X


@pytest.mark.parametrize("score", RESPONSE)
@pytest.mark.parametrize("kind", ["normal", "flags", "missing"])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_mean_relevance_of_noise_is_0(score, kind, n_classes, weighted):
    rng = np.random.default_rng(1)
    n, p = 400, 3000
    weight = rng.uniform(0.5, 1.5, n) if weighted else None
    bank = ds.Bank(missing="ignore", n_threads=1)
    bank.update(noise(kind, n, p, rng), rng.integers(0, n_classes, n), sample_weight=weight)
    relevance = RESPONSE[score](bank.snapshot())
    error = relevance.std() / p**0.5
    bias = 0.0 if score != "mutual_info" else 2.0 / n**2  # the next term of its expansion
    assert abs(relevance.mean()) < 4 * error + bias


@pytest.mark.parametrize("score", RELEVANCE)
def test_relevance_is_nearly_unbiased_also_when_faded(score):
    rng = np.random.default_rng(2)
    n, p = 2000, 2000
    bank = ds.Bank(half_life=200, n_threads=1)
    bank.update(rng.normal(size=(n, p)), rng.integers(0, 3, n))
    snapshot = bank.snapshot()
    relevance = RELEVANCE[score](snapshot)
    assert abs(relevance.mean()) * snapshot.n_eff < 0.25


@pytest.mark.parametrize("score", RELEVANCE)
def test_relevance_grows_with_the_signal_and_is_0_for_a_constant(score):
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 1000)
    signal = np.outer(y, [0.0, 0.5, 1.0, 0.0]) + rng.normal(size=(1000, 4))
    signal[:, 3] = 7.0
    relevance = RELEVANCE[score](ds.Bank(n_threads=1).update(signal, y).snapshot())
    assert relevance[2] > relevance[1] > max(0.0, relevance[0])
    assert relevance[3] == 0


@pytest.mark.parametrize("score", RELEVANCE)
def test_a_perfect_feature_has_a_finite_relevance(score):
    y = np.arange(100) % 2
    relevance = RELEVANCE[score](ds.Bank(n_threads=1).update(y[:, None] * 1.0, y).snapshot())
    assert np.isfinite(relevance).all()
    assert relevance[0] > 0.4


@pytest.mark.parametrize("score", RELEVANCE)
@pytest.mark.parametrize("missing", ["error", "ignore"])
def test_stacked_snapshots_have_the_relevances_of_each(score, missing):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(900, 6))
    if missing == "ignore":
        X[rng.random(X.shape) < 0.2] = np.nan
    y = (np.nan_to_num(X[:, 0]) + rng.normal(size=900) > 0).astype(int)
    bank = ds.Bank(half_life=[100, None], missing=missing, n_threads=1).update(X, y)
    snapshots = [*bank.snapshots().values()]
    expected = np.concatenate([RELEVANCE[score](snapshot) for snapshot in snapshots])
    together = of_stacked(RELEVANCE[score], bank._stacked(np.arange(6), 5))
    np.testing.assert_allclose(together, expected, rtol=1e-9, atol=1e-12)
