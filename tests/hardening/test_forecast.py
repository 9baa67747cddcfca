"""max_bytes: rows are refused only where they would really pass the limit, or come close to it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import driftsieve as ds
from driftsieve.exceptions import LimitError
from driftsieve.memory import LearnedBank

SLACK = 20_000  # bytes: vectors of rows that are still to be summed up
FACTOR = 1.5


def flags(rng, n, p=10_000, per_row=30):
    columns = (p * rng.random((n, per_row)) ** 3).astype(np.int64)
    X = sparse.csr_array(
        (np.ones(n * per_row), (np.repeat(np.arange(n), per_row), columns.ravel())), shape=(n, p)
    )
    X.sum_duplicates()
    X.data[:] = 1.0
    return X


def values(rng, n, p=10_000, per_row=30):
    X = flags(rng, n, p, per_row)
    X.data = rng.normal(size=X.nnz)
    return X


def few_columns(rng, n):
    return values(rng, n, p=300, per_row=40)


def counts(rng, n):
    X = flags(rng, n)
    X.data = 1.0 + rng.poisson(0.3, X.nnz)
    return X


def dense(rng, n):
    return rng.normal(size=(n, 60))


def dense_flags(rng, n):
    return (rng.random((n, 60)) < 0.3).astype(float)


def missing(rng, n):
    X = rng.normal(size=(n, 60))
    X[rng.random(X.shape) < 0.3] = np.nan
    return X


KINDS = {
    "flags": (flags, 2, {}),
    "values": (values, 2, {}),
    "values of few columns": (few_columns, 2, {}),
    "counts": (counts, 2, {}),
    "flags, many classes": (flags, 60, {}),
    "values, many classes": (values, 60, {}),
    "values, fading": (values, 2, {"half_life": 1000.0}),
    "values, weighted": (values, 3, {}),
    "flags, moments": (flags, 2, {"quantiles": False}),
    "values, moments": (values, 2, {"quantiles": False}),
    "values, moments, many classes": (values, 60, {"quantiles": False}),
    "dense": (dense, 2, {}),
    "dense, many classes": (dense, 60, {}),
    "dense, fading": (dense, 2, {"half_life": 1000.0}),
    "dense, weighted": (dense, 2, {}),
    "dense, moments": (dense, 2, {"quantiles": False}),
    "dense flags": (dense_flags, 2, {}),
    "dense, missing": (missing, 3, {"missing": "ignore"}),
}


def accepts(state: bytes, max_bytes: float, rows) -> bool:
    """Whether a bank accepts the rows; it is unchanged if not, and within the limit if so."""
    bank = ds.Bank.from_bytes(state).set_limits(max_bytes=max_bytes)
    before = bank.to_bytes()
    message = ""
    try:
        bank.update(*rows)
    except LimitError as error:
        message = str(error)
    assert not message or bank.to_bytes() == before
    assert not message or f"and {bank.nbytes:,} without" in message
    assert message or bank.nbytes <= max_bytes
    return not message


def fill(bank: ds.Bank | LearnedBank, batches) -> None:
    for X, y in batches:
        bank.update(X, y)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sizes", [(4000, 700), (400, 4000)], ids=["small batches", "large ones"])
def test_rows_are_refused_only_near_the_limit(kind, sizes):
    make, n_classes, options = KINDS[kind]
    rng = np.random.default_rng(0)
    bank = ds.Bank(**options)
    for n in (sizes[0], sizes[1], sizes[1]):
        X, y = make(rng, n), rng.integers(0, n_classes, n)
        rows = (X, y, rng.random(n)) if "weighted" in kind else (X, y)
        state = bank.to_bytes()
        bank.update(*rows)
        after = ds.Bank.from_bytes(state).update(*rows).nbytes
        assert accepts(state, FACTOR * after + SLACK, rows)
        assert not accepts(state, after - 1, rows)


@pytest.mark.parametrize("kind", KINDS)
def test_a_stream_fills_most_of_the_limit(kind):
    make, n_classes, options = KINDS[kind]
    rng = np.random.default_rng(1)
    batches = [(make(rng, 400), rng.integers(0, n_classes, 400)) for _ in range(25)]
    whole = ds.Bank(**options)
    most = 0
    for X, y in batches:
        most = max(most, whole.update(X, y).nbytes)
    bank = ds.Bank(max_bytes=1.3 * most + SLACK, **options)
    fill(bank, batches)
    assert bank.nbytes == whole.nbytes
    too_small = ds.Bank(max_bytes=0.7 * most, **options)
    with pytest.raises(LimitError, match=r"bytes \(max_bytes\), got .* or more with these rows"):
        fill(too_small, batches)
    assert too_small.nbytes <= 0.7 * most


def test_known_features_are_updated_if_new_ones_exceed_the_limit():
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 500)
    bank = ds.Bank(max_bytes=3e6, on_limit="ignore_new")
    known = ds.Bank()
    for k in range(40):
        X = sparse.hstack(
            [
                flags(rng, 500, 5000, 20),
                sparse.csr_array((500, 4000 * k)),
                flags(rng, 500, 4000, 20),
            ],
            format="csr",
        )
        bank.update(X, y)
        known.update(X[:, :5000], y)
        if k == 0:
            seen = np.unique(X[:, :5000].nonzero()[1])
        assert bank.nbytes <= 3e6
    assert bank.n_rows == 40 * 500
    assert bank.ignored["rows"] == 0
    assert bank.ignored["features"] == X.shape[1] - bank.n_features > 0
    assert bank.nbytes > 0.6 * 3e6
    np.testing.assert_array_equal(
        bank.snapshot(features=slice(0, 5000)).mean[:, seen], known.snapshot().mean[:, seen]
    )


def test_new_classes_are_left_out_where_they_do_not_fit():
    rng = np.random.default_rng(3)
    bank = ds.Bank(max_bytes=4e6, on_limit="ignore_new", max_classes=1000)
    X = flags(rng, 2000, 5000, 40)
    bank.update(X, np.arange(2000) % 2)
    for k in range(2, 400, 20):
        bank.update(X, np.arange(2000) % 2 + k * (np.arange(2000) % 7 == 0))
        assert bank.nbytes <= 4e6
    assert 2 < len(bank.classes) < 400
    assert bank.ignored["rows"] > 0
    assert bank.n_rows + bank.ignored["rows"] == 21 * 2000


def test_new_features_are_left_out_before_new_classes():
    rng = np.random.default_rng(12)
    known = flags(rng, 500, 5000, 20)
    bank = ds.Bank(on_limit="ignore_new").update(known, np.arange(500) % 2)
    bank.set_limits(max_bytes=4 * bank.nbytes)
    wide = sparse.hstack([known, flags(rng, 500, 200_000, 60)], format="csr")
    bank.update(wide, np.arange(500) % 3)
    assert bank.classes.tolist() == [0, 1, 2]
    assert bank.n_rows == 1000
    assert bank.ignored["rows"] == 0
    assert bank.ignored["features"] == 200_000
    assert bank.nbytes <= bank.max_bytes


def test_bad_rows_near_the_limit_are_an_error_of_the_rows():
    bank = ds.Bank(max_bytes=1000)
    with pytest.raises(ValueError, match="infinity"):
        bank.update(np.array([[1.0, np.inf]] * 300), np.arange(300) % 2)
    X = sparse.csr_array(([np.nan], ([0], [0])), shape=(1, 50))
    with pytest.raises(ValueError, match="NaN"):
        bank.update(X, [0])


@pytest.mark.parametrize("make", [dense, values, flags])
@pytest.mark.parametrize("quantiles", [True, False])
def test_a_merge_is_refused_only_near_the_limit(make, quantiles):
    rng = np.random.default_rng(4)  # one thread: on several, capacities differ by some bytes
    ours, theirs = (
        ds.Bank(quantiles=quantiles, n_threads=1).update(make(rng, 3000), rng.integers(0, k, 3000))
        for k in (2, 3)
    )
    state = ours.to_bytes()
    after = ds.Bank.from_bytes(state, n_threads=1).merge(theirs).nbytes
    merged = (
        ds.Bank.from_bytes(state, n_threads=1).set_limits(max_bytes=FACTOR * after).merge(theirs)
    )
    assert merged.nbytes <= FACTOR * after
    bank = ds.Bank.from_bytes(state, n_threads=1).set_limits(max_bytes=after - 1)
    before = bank.to_bytes()
    with pytest.raises(LimitError, match=r"bytes \(max_bytes\)"):
        bank.merge(theirs)
    assert bank.to_bytes() == before


def test_dense_frames_of_other_columns_are_refused_before_they_merge():
    frame = pd.DataFrame(np.random.default_rng(5).normal(size=(50, 2000))).rename(columns=str)
    labels = np.arange(50) % 2
    bank = ds.Bank(missing="ignore", max_bytes=200_000).update(frame.iloc[:, :5], labels)
    with pytest.raises(LimitError, match=r"at most 200,000 bytes"):
        bank.merge(ds.Bank(missing="ignore").update(frame.iloc[:, 5:], labels))


@pytest.mark.parametrize("quantiles", [True, False])
def test_growing_columns_fit_a_limit_slightly_above_their_size(quantiles):
    """Rows of svmlight files: each batch has as many columns as have been seen so far."""
    rng = np.random.default_rng(6)
    batches = []
    for k in range(30):
        late = flags(rng, 300, 2000, 10)
        X = sparse.hstack([flags(rng, 300, 2000, 10), sparse.csr_array((300, 2000 * k)), late])
        batches.append((X.tocsr(), rng.integers(0, 2, 300)))
    whole = ds.Bank(quantiles=quantiles)
    fill(whole, batches)
    bank = ds.Bank(quantiles=quantiles, max_bytes=1.1 * whole.nbytes)
    fill(bank, batches)
    assert bank.nbytes == whole.nbytes
    narrow = ds.Bank(quantiles=quantiles, max_bytes=0.5 * whole.nbytes, on_limit="ignore_new")
    fill(narrow, batches)
    assert narrow.n_rows == whole.n_rows
    assert 0.3 * whole.nbytes < narrow.nbytes <= 0.5 * whole.nbytes


# --- several half-lives, and a learned memory ----------------------------------------------------

HALF_LIVES = [*(250 * 2**i for i in range(8)), None]
LEARNED = {
    **{kind: KINDS[kind] for kind in ("flags", "values", "dense", "dense flags", "dense, missing")},
    "values of 300 columns, 60 classes": (few_columns, 60, {}),
    "dense, 60 classes": (dense, 60, {}),
    "flags, moments": (flags, 3, {"score_func": "fisher"}),
    "dense, moments": (dense, 3, {"score_func": "t"}),
}


def few_flags(rng, n):
    return flags(rng, n, 500, 20)


@pytest.mark.parametrize("n_classes", [2, 4, 60])
@pytest.mark.parametrize("make", [few_flags, few_columns, dense])
def test_rows_of_several_half_lives_are_refused_only_near_the_limit(make, n_classes):
    """With more than four classes there is a bank for each half-life from some row on."""
    rng = np.random.default_rng(7)
    bank = ds.Bank(half_life=HALF_LIVES)
    for n in (400, 700, 4000):
        rows = make(rng, n), rng.integers(0, n_classes, n)
        state = bank.to_bytes()
        bank.update(*rows)
        after = ds.Bank.from_bytes(state).update(*rows).nbytes
        assert accepts(state, FACTOR * after + SLACK, rows)
        assert not accepts(state, after - 1, rows)


def accepted_by_learned(state: bytes, max_bytes: float, rows) -> bool:
    """Whether a LearnedBank accepts the rows; unchanged if not, and within the limit if so."""
    bank = LearnedBank.from_bytes(state).set_limits(max_bytes=max_bytes)
    before = bank.to_bytes()
    try:
        bank.update(*rows)
    except LimitError:
        assert bank.to_bytes() == before
        return False
    assert bank.nbytes <= max_bytes
    return True


@pytest.mark.parametrize("kind", LEARNED)
def test_rows_of_a_learned_memory_are_refused_only_near_the_limit(kind):
    make, n_classes, options = LEARNED[kind]
    rng = np.random.default_rng(8)
    bank = LearnedBank(**options)
    for n in (400, 700, 4000):
        rows = make(rng, n), rng.integers(0, n_classes, n)
        state = bank.to_bytes()
        bank.update(*rows)
        after = LearnedBank.from_bytes(state).update(*rows)
        assert after.nbytes > after.bank.nbytes
        assert accepted_by_learned(state, FACTOR * after.nbytes + SLACK, rows)
        assert not accepted_by_learned(state, after.bank.nbytes - 1, rows)
        for share in (0.95, 1.0, 1.05):
            accepted_by_learned(state, share * after.nbytes, rows)


@pytest.mark.parametrize("step", [130, 700])
@pytest.mark.parametrize("make", [dense, few_columns])
def test_a_learned_memory_fits_a_limit_slightly_above_the_size_of_its_ladder(make, step):
    """It then learns from fewer features, and the rows are the same."""
    rng = np.random.default_rng(9)
    batches = [(make(rng, step), rng.integers(0, 2, step)) for _ in range(3000 // step)]
    whole, most, most_of_ladder = LearnedBank(), 0, 0
    for batch in batches:
        whole.update(*batch)
        most, most_of_ladder = max(most, whole.nbytes), max(most_of_ladder, whole.bank.nbytes)
    limit = 1.08 * most_of_ladder + SLACK
    assert most_of_ladder < most < limit or make is few_columns  # sums over fresh rows are small
    bank = LearnedBank(max_bytes=limit)
    for batch in batches:
        assert bank.update(*batch).nbytes <= limit
    for h in (250.0, np.inf):
        np.testing.assert_array_equal(
            bank.snapshot(half_life=h).bin_weights, whole.snapshot(half_life=h).bin_weights
        )
    assert 0 < bank.memory.n_reviews <= whole.memory.n_reviews
    too_small = LearnedBank(max_bytes=0.8 * most_of_ladder)
    with pytest.raises(LimitError, match="max_bytes"):
        fill(too_small, batches)
    assert too_small.nbytes <= too_small.max_bytes


@pytest.mark.parametrize("clock", ["row", "time"])
def test_a_learned_memory_goes_on_with_the_known_features_near_the_limit(clock):
    rng = np.random.default_rng(10)
    bank = LearnedBank(clock=clock, max_bytes=6e6, on_limit="ignore_new")
    for k in range(30):
        X = sparse.hstack(
            [flags(rng, 300, 500, 20), sparse.csr_array((300, 2000 * k)), flags(rng, 300, 2000, 20)]
        )
        time = {"time": 300.0 * k + np.arange(300)} if clock == "time" else {}
        bank.update(X.tocsr(), rng.integers(0, 2, 300), **time)
        assert bank.nbytes <= 6e6
    assert bank.n_rows == 30 * 300
    assert bank.ignored["rows"] == 0
    assert bank.ignored["features"] > 0
    assert bank.nbytes > 0.5 * 6e6
    assert bank.memory.n_reviews > 3


def test_a_merge_of_learned_memories_is_bounded():
    rng = np.random.default_rng(11)
    state = LearnedBank().update(dense(rng, 1000), rng.integers(0, 2, 1000)).to_bytes()
    ours, theirs = LearnedBank.from_bytes(state), LearnedBank.from_bytes(state)
    after = ours.merge(theirs, start=1000).nbytes
    bank = LearnedBank.from_bytes(state).set_limits(max_bytes=1.5 * after)
    assert bank.merge(theirs, start=1000).nbytes <= 1.5 * after
    bank = LearnedBank.from_bytes(state).set_limits(max_bytes=0.8 * after)
    before = bank.to_bytes()
    with pytest.raises(LimitError, match="max_bytes"):
        bank.merge(theirs, start=1000)
    assert bank.to_bytes() == before
