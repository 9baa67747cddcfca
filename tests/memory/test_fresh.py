"""The fresh rows of a period, counted between fixed edges."""

import numpy as np
import pytest
from scipy import sparse

from driftsieve import Bank, LimitError
from driftsieve.batch import Batch
from driftsieve.memory.fresh import FreshSums

FEATURES = np.array([0, 2, 3, 7])
EDGES = np.array([[-1.0, 0.0, 0.5], [0.0, 0.0, 1.0], [-0.5, 0.5, 0.7], [np.nan] * 3])


def rows(n=300, *, missing=0.0, dtype=np.float64):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(n, 8)) * (rng.random((n, 8)) < 0.6)).astype(dtype)
    X[rng.random(X.shape) < missing] = np.nan
    return X, rng.integers(0, 3, n), rng.uniform(0.5, 2.0, n)


def counted(X, y, weight, bank, size=300):
    fresh = FreshSums.empty(EDGES.T, "chi2", bank)
    for first in range(0, len(y), size):
        part = slice(first, first + size)
        batch = Batch.of(X[part], y[part], sample_weight=weight[part], missing=bank.missing)
        fresh.add(batch, FEATURES, bank._header.labels, np.inf)
    return fresh


def table(X, y, weight, feature, edges):
    """Weight by bin and class, of the rows that have a value."""
    known = ~np.isnan(X[:, feature])
    bins = (X[known, feature, None] > edges).sum(axis=1)
    out = np.zeros((4, 3))
    np.add.at(out, (bins, y[known]), weight[known])
    return out


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray, sparse.csr_array])
def test_bins_and_weights_are_those_of_the_rows(layout, missing, dtype):
    X, y, weight = rows(missing=missing, dtype=dtype)
    bank = Bank(missing="ignore" if missing else "error").update(layout(X), y, weight)
    codes = bank._header.labels.encode(y)[0]
    snap = counted(layout(X), y, weight, bank).snapshot()
    for j, feature in enumerate(FEATURES):
        wanted = table(X, codes, weight, feature, EDGES[j]) / weight.sum()
        np.testing.assert_allclose(snap.bin_weights[j], wanted, atol=1e-14)
        known = ~np.isnan(X[:, feature])
        of_class = np.bincount(codes[known], weight[known], minlength=3)
        np.testing.assert_allclose(snap.weight[:, j] * weight.sum(), of_class)


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_splits_into_batches_give_the_same_bits(layout):
    X, y, weight = rows(missing=0.1)
    bank = Bank(missing="ignore").update(layout(X), y, weight)
    together, apart = (counted(layout(X), y, weight, bank, size) for size in (300, 7))
    for name in ("sums", "totals"):
        np.testing.assert_array_equal(getattr(together, name), getattr(apart, name))


def test_a_new_class_needs_room():
    X, y, weight = rows()
    bank = Bank().update(X[y < 2], y[y < 2], weight[y < 2])
    fresh = FreshSums.empty(EDGES.T, "chi2", bank)
    before = fresh.nbytes
    labels = bank._header.labels.encode(y)[1]
    batch = Batch.of(X, y, sample_weight=weight)
    with pytest.raises(LimitError):
        fresh.add(batch, FEATURES, labels, before)
    assert (fresh.nbytes, fresh.totals.sum()) == (before, 0.0)
    fresh.add(batch, FEATURES, labels, np.inf)
    assert fresh.totals[0].sum() == pytest.approx(weight.sum())


def test_sparse_rows_have_the_design_effect_of_a_bank():
    rng = np.random.default_rng(1)
    X = sparse.csr_array((rng.random((400, 8)) < 0.3) * rng.integers(1, 4, (400, 8)) * 1.0)
    y = rng.integers(0, 3, 400)
    weight = np.where(X[:, [2]].toarray()[:, 0] > 0, 3.0, 1.0)
    bank = Bank().update(X, y, weight)
    found = counted(X, y, weight, bank).snapshot().design_effect
    np.testing.assert_allclose(found, bank.snapshot().design_effect[FEATURES])


@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_moments_are_those_of_a_bank(layout, missing, offset):
    X, y, weight = rows(missing=missing)
    X[:, 2] += offset
    bank = Bank(missing="ignore" if missing else "error").update(layout(X), y, weight)
    wanted = bank.snapshot()
    fresh = FreshSums.empty(wanted.mean[:1, FEATURES], "fisher", bank)
    for part in (slice(0, 10), slice(10, 300)):
        batch = Batch.of(layout(X)[part], y[part], sample_weight=weight[part], missing=bank.missing)
        fresh.add(batch, FEATURES, bank._header.labels, np.inf)
    order = np.argsort(bank._header.labels.array())
    snap = fresh.snapshot()
    np.testing.assert_allclose(snap.mean[order], wanted.mean[:, FEATURES])
    np.testing.assert_allclose(snap.var[order], wanted.var[:, FEATURES], rtol=1e-6)
    np.testing.assert_allclose(snap.weight[order] * weight.sum(), wanted.weight[:, FEATURES])
