"""max_bytes with wide sparse rows: indices in any order, and columns with a late first value."""

import numpy as np
import pytest
from scipy import sparse

import driftsieve as ds
from driftsieve.exceptions import LimitError

WIDTH = 20_000


def rows(rng, n=500, per_row=40):
    """Flags in columns of which most have had no value before."""
    columns = np.sort(rng.integers(0, WIDTH, (n, per_row)), axis=1)
    X = sparse.csr_array(
        (np.ones(n * per_row), columns.ravel(), np.arange(0, n * per_row + 1, per_row)),
        shape=(n, WIDTH),
    )
    X.sum_duplicates()
    X.data[:] = 1.0
    return X, rng.integers(0, 2, n)


def backwards(X):
    """The same rows with the indices of each in falling order."""
    order = np.lexsort((-X.indices, np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))))
    return sparse.csr_array((X.data[order], X.indices[order], X.indptr), shape=X.shape)


@pytest.mark.parametrize("arrange", [lambda X: X, backwards], ids=["sorted", "backwards"])
def test_rows_beyond_max_bytes_are_refused_in_any_order_of_their_indices(arrange):
    X, y = rows(np.random.default_rng(0))
    needed = ds.Bank().update(X, y).nbytes
    bank = ds.Bank(max_bytes=needed / 2)
    with pytest.raises(LimitError, match=r"bytes \(max_bytes\), got .* or more with these rows"):
        bank.update(arrange(X), y)
    assert bank.n_rows == 0
    assert ds.Bank(max_bytes=2 * needed).update(arrange(X), y).n_rows == len(y)


def test_columns_with_late_values_are_left_out_if_they_do_not_fit():
    rng = np.random.default_rng(1)
    X, y = rows(rng, 50)
    bank = ds.Bank(max_bytes=3e5, on_limit="ignore_new").update(X, y)
    seen = np.bincount(X.indices, minlength=WIDTH) > 0
    n_known = int(seen.sum())
    given, kept = ds.Bank().update(X, y), X.nnz
    for _ in range(30):
        X, y = rows(rng, 50)
        bank.update(X, y)
        assert bank.nbytes <= 3e5
        given.update(X, y)
        kept += X.nnz
    assert bank.n_rows == given.n_rows == 31 * 50
    assert bank.ignored["rows"] == bank.ignored["features"] == 0
    snap, whole = bank.snapshot(), given.snapshot()
    assert snap.seen.sum() < 0.9 * whole.seen.sum()
    assert snap.seen.sum() >= n_known
    np.testing.assert_array_equal(snap.mean[:, seen], whole.mean[:, seen])
    not_0 = (snap.mean * snap.class_weight[:, None]).sum()
    assert bank.ignored["values"] == kept - round(not_0) > 0
    again = ds.Bank.from_bytes(bank.to_bytes())
    assert again.ignored == bank.ignored
    assert ds.Bank().merge(again).ignored == bank.ignored


@pytest.mark.parametrize("n_classes", [3, 30])
@pytest.mark.parametrize("options", [{}, {"half_life": 1000.0}])
def test_first_rows_of_many_classes_are_held_to_max_bytes_without_quantiles(n_classes, options):
    """Room for columns is laid out with the first row, and must be for the classes of all rows."""
    rng = np.random.default_rng(3)
    X = sparse.csr_array(([1.0] * 600, rng.integers(0, 300_000, 600), np.arange(0, 601, 2)))
    X = sparse.csr_array((X.data, X.indices, X.indptr), shape=(300, 300_000))
    y = np.arange(300) % n_classes
    limit = 40e6
    bank = ds.Bank(quantiles=False, max_bytes=limit, **options)
    try:
        bank.update(X, y)
    except LimitError:
        assert ds.Bank(quantiles=False, **options).update(X, y).nbytes > limit / 1.5
    assert bank.nbytes <= limit
    parts = ds.Bank(quantiles=False, **options)
    for i in range(300):
        parts.update(X[i : i + 1], y[i : i + 1])
    assert parts.to_bytes() == ds.Bank(quantiles=False, **options).update(X, y).to_bytes()
