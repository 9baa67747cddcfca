"""Streams of ever-new keys and categories, at the sources."""

import numpy as np
import pytest

import driftsieve as ds
from driftsieve.exceptions import SourceError


def rows(n):
    """Every row has a key and a category that no row before it had."""
    for i in range(n):
        yield {"y": i % 2, "x": i, f"key {i}": 1.0, "user": f"user {i}"}


@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_one_feature_too_many_is_an_error(on_error):
    batches = ds.as_batches(rows(100), target="y", max_features=20, batch_size=5, on_error=on_error)
    with pytest.raises(SourceError, match=r"at most max_features=20.*drop,"):
        list(batches)


def test_values_of_new_features_are_left_out_and_counted_but_no_row_is():
    batches = ds.as_batches(
        rows(5000), target="y", max_features=20, batch_size=50, on_limit="ignore_new"
    )
    bank = ds.Bank(quantiles=False)
    for batch in batches:
        assert batch.n_features <= 20
        bank.update(batch)
    assert bank.n_rows == batches.rows_read == 5000
    # x, user and the first 10 pairs of key and category, less one: 9 rows bring two features each
    assert bank.n_features == 20
    assert batches.values_ignored == 2 * 5000 - 19
    mean = bank.snapshot().mean[:, bank.feature_names.index("x")]
    assert mean.tolist() == [2499.0, 2500.0]


def test_categories_of_a_table_are_bounded(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x,user,y\n" + "".join(f"{i},u{i},{i % 2}\n" for i in range(300)))
    options = {"target": "y", "categorical": "user", "max_features": 100}
    with pytest.raises(SourceError, match=r"at most max_features=100"):
        list(ds.as_batches(path, **options))
    batches = ds.as_batches(path, **options, on_limit="ignore_new")
    X = next(batches).X
    assert X.shape == (300, 100)
    assert batches.values_ignored == 300 - 99
    np.testing.assert_array_equal(X[:, [0]].toarray().ravel(), np.arange(300))


def test_names_are_bounded_too():
    long = [{"y": i % 2, "text": f"{i} " * 3000} for i in range(50)]
    with pytest.raises(SourceError, match="names must have at most 256 characters"):
        list(ds.as_batches(long, target="y", max_features=1000))


def test_keys_without_values_are_bounded():
    """A key that was None everywhere makes no indicator, but is remembered."""
    nothing = [{"y": i % 2, "x": 1.0, f"key {i}": None} for i in range(500)]
    options = {"target": "y", "missing": "ignore", "max_features": 50, "on_limit": "ignore_new"}
    batches = ds.as_batches(nothing, **options)
    assert sum(batch.n_rows for batch in batches) == 500
    assert batches.values_ignored == 500 - 49
