"""Threads and processes: a second thread gets an error, many banks work, a fork works."""

import contextlib
import multiprocessing
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from refusals import is_refused, switching_often
from scipy import sparse

import driftsieve as ds

RNG = np.random.default_rng(6)


def batch(seed, n=400, width=60):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, width)) * (rng.random((n, width)) < 0.3)
    return X, [f"class {c}" for c in rng.integers(0, 3 + seed % 5, n)]


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_two_threads_on_one_bank_get_an_error_and_lose_no_row(form):
    bank = ds.Bank(half_life=1000, n_threads=1)
    inputs = [[(form(X), y) for X, y in map(batch, range(k, 60, 4))] for k in range(4)]
    refused = [0] * 4

    def work(k):
        for X, y in inputs[k]:
            refused[k] += is_refused(lambda X=X, y=y: bank.update(X, y))
            for read in (bank.snapshot, bank.to_bytes, lambda: bank.nbytes):
                is_refused(read)

    with switching_often(), ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert 0 < sum(refused) < 60
    assert bank.n_rows == 400 * (60 - sum(refused))
    again = ds.Bank.from_bytes(bank.to_bytes())  # which checks everything
    assert again.snapshot().bin_weights.sum() > 0


def test_other_threads_get_an_error_between_the_rows_of_a_learned_memory_and_their_review(
    monkeypatch,
):
    screener = ds.FeatureScreener(half_life="auto").partial_fit(*batch(0))
    bank, refused = screener.bank_, []
    review = bank._review

    def reviewed_beside_readers(room):
        readings = (bank.scores, bank.snapshot, bank.to_bytes, lambda: bank.nbytes)
        with ThreadPoolExecutor(1) as pool:
            refused.extend(pool.map(is_refused, readings))
        review(room)

    monkeypatch.setattr(bank, "_review", reviewed_beside_readers)
    for seed in range(1, 6):
        screener.partial_fit(*batch(seed))
    assert len(refused) >= 4
    assert all(refused)
    alone = ds.FeatureScreener(half_life="auto")
    for seed in range(6):
        alone.partial_fit(*batch(seed))
    assert_array_equal(screener.scores_, alone.scores_)


def test_single_rows_of_several_threads_count_once_or_not_at_all():
    X, y = RNG.normal(size=(2000, 3)), RNG.integers(0, 2, 2000)
    bank = ds.Bank(n_threads=1).update(X[:1], y[:1]).update(X[:2], [0, 1])  # the classes are known
    taken = [0] * 4

    def work(k):
        for i in range(k, len(X), 4):
            taken[k] += not is_refused(lambda i=i: bank.update(X[i : i + 1], y[i : i + 1]))
            if i % 16 == k:
                with contextlib.suppress(RuntimeError):
                    snap = bank.snapshot()
                    assert_allclose(snap.bin_weights.sum(axis=(1, 2)), snap.class_weight.sum())

    with switching_often(), ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert bank.n_rows == 3 + sum(taken)


def test_single_rows_are_an_error_while_another_thread_uses_the_bank():
    bank = ds.Bank().update(np.ones((2, 3)), np.array([0, 1]))
    with bank._core, pytest.raises(RuntimeError, match="Give each thread its own bank"):
        bank.update(np.ones((1, 3)), np.array([0]))
    assert bank.update(np.ones((1, 3)), np.array([0])).n_rows == 3


def test_second_thread_gets_an_error_during_a_merge():
    """At the border of Python and the core too, where labels and states must fit together."""
    bank = ds.Bank()
    with bank._core, pytest.raises(RuntimeError, match="Give each thread its own bank"):
        bank.update([[1.0]], [0])
    other = ds.Bank().update([[1.0]], ["a"])
    with other._core, pytest.raises(RuntimeError, match="used by one thread at a time"):
        bank.merge(other)
    assert bank.n_rows == 0
    assert bank.merge(other).merge(bank).n_rows == 2  # with itself is fine


def test_banks_in_many_threads_equal_those_of_one_thread():
    inputs = [batch(seed) for seed in range(12)]
    expected = [ds.Bank(n_threads=1).update(X, y).to_bytes() for X, y in inputs]

    def work(k):
        X, y = inputs[k % 12]
        return ds.Bank(n_threads=1 + k % 3).update(X, y).to_bytes()

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(48))) == expected * 4


def _child(stored, queue):
    bank = ds.Bank.from_bytes(stored, n_threads=2)
    queue.put(bank.update(*batch(1)).to_bytes())


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_fork_works_after_threads_were_used():
    bank = ds.Bank(n_threads=2).update(*batch(0))
    bank.snapshot()
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    children = [context.Process(target=_child, args=(bank.to_bytes(), queue)) for _ in range(3)]
    for child in children:
        child.start()
    results = [queue.get(timeout=60) for _ in children]
    for child in children:
        child.join(timeout=60)
        assert child.exitcode == 0
    assert results == [bank.update(*batch(1)).to_bytes()] * 3


def test_a_bank_is_made_in_one_thread_and_used_in_another():
    bank = ds.Bank()
    thread = threading.Thread(target=lambda: bank.update(*batch(0)))
    thread.start()
    thread.join()
    assert bank.n_rows == 400


def test_reading_rows_during_an_update_is_an_error():
    X, y = np.random.default_rng(0).normal(size=(20_000, 30)), np.arange(20_000) % 2
    bank = ds.Bank(n_threads=1).update(X, y)
    with ThreadPoolExecutor(1) as pool:
        work = pool.submit(lambda: [bank.update(X, y) for _ in range(10)])
        refused = 0
        while not work.done():
            refused += is_refused(lambda: bank.n_rows)
    work.result()
    assert refused
    assert bank.n_rows == 11 * len(X)


def test_second_thread_on_a_bank_gets_an_error_and_the_bank_stays_valid():
    X, y = np.random.default_rng(0).normal(size=(20_000, 30)), np.arange(20_000) % 2
    bank = ds.Bank(n_threads=1).update(X, y)
    seen, done = set(), threading.Event()

    def work():
        while not done.is_set():
            bank.update(X, y)

    with ThreadPoolExecutor(1) as pool:
        works = pool.submit(work)
        deadline = time.monotonic() + 60
        while (True, True) not in seen and time.monotonic() < deadline:
            seen.add((bank.is_whole, "in use by another thread" in repr(bank)))
        done.set()
    works.result()
    assert (True, True) in seen
    assert {whole for whole, _ in seen} == {True}
