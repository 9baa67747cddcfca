"""Limits: a clear error before memory is used up, or new features and classes are ignored."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import driftsieve as ds
from driftsieve._state.intake import Intake
from driftsieve._state.limits import Limits, default_bytes
from driftsieve.exceptions import LimitError

RNG = np.random.default_rng(8)


def csr(n_rows, width, per_row, rng=RNG):
    columns = rng.integers(0, width, n_rows * per_row)
    rows = np.repeat(np.arange(n_rows), per_row)
    return sparse.csr_array((rng.normal(size=len(rows)), (rows, columns)), shape=(n_rows, width))


def test_one_column_too_many_is_an_error_that_changes_nothing():
    bank = ds.Bank(max_features=5).update(csr(20, 5, 2), np.arange(20) % 2)
    before = bank.to_bytes()
    with pytest.raises(LimitError, match=r"at most max_features=5, got 6\. Raise max_features"):
        bank.update(csr(3, 6, 2), [0, 1, 0])
    assert bank.to_bytes() == before


def test_one_class_too_many_is_an_error_that_changes_nothing():
    bank = ds.Bank(max_classes=3).update(np.eye(3), ["a", "b", "c"])
    before = bank.to_bytes()
    with pytest.raises(LimitError, match="at most max_classes=3, got 4"):
        bank.update(np.eye(3), ["a", "d", "c"])
    assert bank.to_bytes() == before


def test_an_index_of_two_billion_is_refused_by_default():
    """One line of an svmlight file could otherwise require eight gigabytes."""
    wide = sparse.csr_array(([1.0], ([0], [2_000_000_000])), shape=(1, 2_000_000_001))
    bank = ds.Bank()
    with pytest.raises(LimitError, match="at most max_features=10000000"):
        bank.update(wide, [1])
    assert bank.n_rows == bank.n_features == 0


@pytest.mark.parametrize("batch_size", [1, 7, 100])
def test_new_classes_are_left_out_and_counted(batch_size):
    X, y = RNG.normal(size=(100, 3)), np.arange(100) % 25
    bank = ds.Bank(max_classes=10, on_limit="ignore_new")
    for i in range(0, 100, batch_size):
        bank.update(X[i : i + batch_size], y[i : i + batch_size])
        assert bank.n_rows + bank.ignored["rows"] == min(100, i + batch_size)
    assert bank.classes.tolist() == list(range(10))
    only = ds.Bank(max_classes=10, on_limit="ignore_new").update(X[y < 10], y[y < 10])
    np.testing.assert_array_equal(bank.snapshot().bin_weights, only.snapshot().bin_weights)
    assert bank.ignored == {"rows": 60, "features": 0, "values": 0}


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
def test_columns_beyond_the_limit_are_left_out_and_counted(convert):
    X, y = RNG.normal(size=(50, 8)), np.arange(50) % 2
    bank = ds.Bank(max_features=5, on_limit="ignore_new")
    bank.update(convert(X[:20]), y[:20]).update(convert(X[20:]), y[20:])
    whole = ds.Bank().update(convert(X[:, :5]), y)
    assert bank.n_features == 5
    assert bank.ignored == {"rows": 0, "features": 3, "values": 0}
    np.testing.assert_array_equal(bank.snapshot().mean, whole.snapshot().mean)
    with pytest.raises(ValueError, match="4 features, but 8 features were expected"):
        ds.Bank(max_features=5, on_limit="ignore_new").update(X, y).update(X[:, :4], y)


def test_counts_of_ignored_values_are_stored_and_merged():
    X, y = RNG.normal(size=(30, 4)), np.arange(30) % 3
    banks = [ds.Bank(max_features=3, max_classes=2, on_limit="ignore_new") for _ in range(2)]
    for bank in banks:
        bank.update(X, y)
    again = ds.Bank.from_bytes(banks[0].to_bytes())
    assert again.ignored == {"rows": 10, "features": 1, "values": 0}
    assert (again.max_features, again.max_classes, again.on_limit) == (3, 2, "ignore_new")
    merged = again.merge(banks[1])
    assert merged.n_rows == 40
    assert merged.ignored == {"rows": 20, "features": 1, "values": 0}
    assert merged.update(X, y).ignored == {"rows": 30, "features": 1, "values": 0}


def test_merging_beyond_a_limit_is_an_error_with_ignore_new():
    bank = ds.Bank(max_classes=2, on_limit="ignore_new").update(np.eye(2), [0, 1])
    before = bank.to_bytes()
    with pytest.raises(LimitError, match="got 3"):
        bank.merge(ds.Bank().update(np.eye(2), [1, 2]))
    small = ds.Bank(max_bytes=2e5).update(csr(10, 30, 2), np.arange(10) % 2)
    with pytest.raises(LimitError, match=r"at most 200,000 bytes"):
        small.merge(ds.Bank().update(csr(3000, 300, 60), np.arange(3000) % 2))
    assert bank.to_bytes() == before


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("n_classes", [2, 40])
@pytest.mark.parametrize("epsilon", [0.1, 0.01])
@pytest.mark.parametrize(
    "options", [{}, {"half_life": 300}, {"quantiles": False}, {"moments": False}]
)
def test_the_state_is_never_larger_than_the_bound(is_sparse, n_classes, epsilon, options):
    """The bound without reading the rows, kept over many batches or measured again."""
    rng = np.random.default_rng([n_classes, is_sparse])
    bank = ds.Bank(epsilon, **options)
    for k in range(25):
        n = int(rng.choice([1, 3, 100, 1500]))
        width = 12 + (20 * k if is_sparse else 0)
        X = csr(n, width, 6, rng) if is_sparse else rng.normal(size=(n, width))
        weight = rng.random(n) if k > 18 else None
        batch = ds.Batch.of(X, rng.integers(0, min(n_classes, 2 + k), n), sample_weight=weight)
        intake = Intake.of(batch, bank._header.labels)
        kept = intake.bytes_with(bank._core, 1, math.inf, be_sure=True)
        fresh = ds.Bank.from_bytes(bank.to_bytes())
        measured = intake.bytes_with(fresh._core, 1, math.inf, be_sure=True)
        bank.update(batch)
        assert bank.nbytes <= kept
        assert fresh.update(batch).nbytes <= measured


@pytest.mark.parametrize("rows", [(1500, 10), (3, 1599), (1338, 1338), (2665, 3)])
@pytest.mark.parametrize("labels", [(0, 0), (0, 3)])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("names", [(range(5), range(5, 105)), (range(20), range(20))])
@pytest.mark.parametrize(
    "options", [{}, {"epsilon": 0.003}, {"epsilon": 0.003, "half_life": 300}, {"quantiles": False}]
)
def test_a_merge_that_exceeds_max_bytes_is_refused(rows, labels, weighted, names, options):
    """Rows that wait get NaN in columns that they never had, or fill a block. Lists may be longer
    than they need to be, by how they grew, so that sizes agree to a few percent only.
    """
    rng = np.random.default_rng(0)

    def bank(n, first_label, columns):
        y = first_label + np.arange(n) % 3
        X = pd.DataFrame(rng.normal(size=(n, len(columns))), columns=[f"x{j}" for j in columns])
        weight = rng.random(n) if weighted else None
        return ds.Bank(missing="ignore", **options).update(X, y, sample_weight=weight)

    for order in (1, -1):
        ours, theirs = (bank(*one) for one in [*zip(rows, labels, names, strict=True)][::order])
        after = ds.Bank.from_bytes(ours.to_bytes()).merge(theirs, start=0).nbytes
        with pytest.raises(LimitError):
            ours.set_limits(max_bytes=0.95 * after).merge(theirs, start=0)
        assert ours.set_limits(max_bytes=1.2 * after).merge(theirs, start=0).nbytes <= 1.2 * after


def test_a_merge_that_makes_waiting_rows_wide_is_refused():
    frame = pd.DataFrame(RNG.normal(size=(1500, 405))).rename(columns=str)
    bank = ds.Bank(max_bytes=1e6, missing="ignore")
    bank.update(frame.iloc[:, :5], np.arange(1500) % 2)
    other = ds.Bank(missing="ignore").update(frame.iloc[:10, 5:], np.arange(10) % 2)
    before = bank.to_bytes()
    with pytest.raises(LimitError, match=r"at most 1,000,000 bytes"):
        bank.merge(other)
    assert bank.to_bytes() == before


@pytest.mark.parametrize("is_sparse", [False, True])
def test_max_bytes_is_respected_and_nearly_used(is_sparse):
    """Rows are refused before the state is too large, but not while it is small."""
    bank = ds.Bank(0.001, max_bytes=40e6)

    def fill():
        for _ in range(2000):
            y = RNG.integers(0, 3, 500)
            bank.update(csr(500, 2000, 8) if is_sparse else RNG.normal(size=(500, 400)), y)
            assert bank.nbytes <= 40e6

    with pytest.raises(LimitError, match=r"at most 40,000,000 bytes"):
        fill()
    assert bank.nbytes > 40e6 / 2


def test_a_stream_of_new_features_continues_within_its_limit():
    bank = ds.Bank(max_bytes=20e6, on_limit="ignore_new", half_life=1000)
    n_rows, width = 0, 1000
    for _ in range(300):
        y = RNG.integers(0, 2, 200)
        X = csr(200, 1000, 5)
        X = sparse.csr_array((X.data, X.indices + width - 1000, X.indptr), shape=(200, width))
        bank.update(X, y)
        width += 1000
        n_rows += 200
        assert bank.n_rows + bank.ignored["rows"] == n_rows
        assert bank.nbytes <= 20e6
    assert bank.ignored["features"] == width - 1000 - bank.n_features > 0
    assert bank.n_features > 10_000


def test_a_stream_of_new_labels_continues_within_its_limit():
    bank = ds.Bank(on_limit="ignore_new")
    for k in range(30):
        bank.update(RNG.normal(size=(1000, 4)), [f"user {1000 * k + i}" for i in range(1000)])
    assert len(bank.classes) == bank.max_classes == 1000
    assert bank.n_rows + bank.ignored["rows"] == 30_000
    assert bank.ignored["rows"] == 29_000


def test_the_batch_clock_ticks_for_batches_left_out():
    bank = ds.Bank(max_classes=2, on_limit="ignore_new", clock="batch", half_life=1)
    bank.update(np.eye(2), [0, 1]).update(np.eye(2), [2, 3]).update(np.eye(2)[:1], [0])
    assert bank.now == 2.0
    assert bank.snapshot().class_weight.tolist() == [1.25, 0.25]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"max_features": 0}, ValueError, "max_features must be at least 1"),
        ({"max_classes": 2.5}, TypeError, "max_classes must be a number"),
        ({"max_bytes": math.nan}, ValueError, "max_bytes must be at least 1"),
        ({"on_limit": "evict"}, ValueError, "on_limit must be"),
    ],
)
def test_invalid_limits_are_an_error(arguments, error, message):
    with pytest.raises(error, match=message):
        ds.Bank(**arguments)


def test_a_screener_passes_its_limits_on():
    X, y = csr(60, 20, 5), np.arange(60) % 3
    with pytest.raises(LimitError, match="at most max_features=10"):
        ds.FeatureScreener(max_features=10).fit(X, y)
    limits = {"max_features": 10, "max_classes": 2, "on_limit": "ignore_new"}
    screener = ds.FeatureScreener(k=3, new_features="grow", **limits)
    screener.partial_fit(X, y).partial_fit(X, y)
    assert screener.bank_.ignored == {"rows": 40, "features": 10, "values": 0}
    assert screener.transform(X).shape == (60, 3)
    again = ds.FeatureScreener.from_bytes(screener.to_bytes())
    assert again.partial_fit(X, y).bank_.ignored == {"rows": 60, "features": 10, "values": 0}


def test_unlimited_new_labels_are_refused_by_the_river_transformer():
    river = pytest.importorskip("driftsieve.river")
    screener = river.FeatureScreener(k=1)
    for i in range(1000):
        screener.learn_one({"x": float(i)}, f"user {i}")
    with pytest.raises(LimitError, match="got 1001"):
        screener.learn_one({"x": 1.0}, "one more")
    screener.learn_one({"x": 1.0}, "user 7")
    assert screener._bank.n_rows == 1001


def test_limits_are_stored_only_where_they_are_not_the_default():
    assert ds.Bank().max_bytes == default_bytes() > 0
    assert Limits().stored() == {}
    limits = Limits(max_bytes=math.inf, max_classes=7)
    assert Limits.restored(limits.stored()) == limits
    assert ds.Bank.from_bytes(ds.Bank(max_bytes=math.inf).to_bytes()).max_bytes == math.inf


def test_rows_after_a_merge_that_made_the_bank_wider_are_held_to_the_limit():
    rng, y = np.random.default_rng(0), np.arange(500) % 2
    names = [f"f{j}" for j in range(405)]
    bank, other = ds.Bank(max_bytes=2e6, missing="ignore"), ds.Bank(missing="ignore")
    bank.update(pd.DataFrame(rng.normal(size=(100, 5)), columns=names[:5]), y[:100])
    other.update(pd.DataFrame(rng.normal(size=(10, 400)), columns=names[5:]), y[:10])
    bank.merge(other)
    with pytest.raises(LimitError, match="max_bytes"):
        bank.update(rng.normal(size=(500, 405)), y)


@pytest.mark.parametrize("on_limit", ["ignore_new", "error"])
def test_dense_columns_that_were_left_out_stay_out_when_the_limit_is_raised(on_limit):
    rng, y = np.random.default_rng(0), np.arange(40) % 2
    X = rng.normal(size=(40, 9))
    bank = ds.Bank(max_features=6, on_limit="ignore_new").update(X, y)
    bank.set_limits(max_features=100, on_limit=on_limit)
    for weight in (None, np.ones(40)):  # nothing is known of the rows they had
        bank.update(X, y, sample_weight=weight)
    assert bank.n_features == 6
    assert bank.ignored["features"] == 3


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("limits", [{"max_features": 2}, {"max_classes": 1}])
def test_known_features_continue_below_a_lowered_limit(kind, limits):
    rng, y = np.random.default_rng(0), np.arange(40) % 3
    X = kind(rng.normal(size=(40, 5)))
    bank = ds.Bank().update(X, y)
    with pytest.raises(LimitError, match=next(iter(limits))):
        bank.set_limits(**limits).update(X, y)
    bank.set_limits(on_limit="ignore_new").update(X, y)
    assert bank.ignored == {"rows": 0, "features": 0, "values": 0}
    twice = ds.Bank().update(X, y).update(X, y)
    for same in (bank, ds.Bank.from_bytes(bank.to_bytes())):
        np.testing.assert_array_equal(same.snapshot().mean, twice.snapshot().mean)
