"""Ctrl-C and lack of memory during an update: all rows are added or none, or it is reported."""

import gc
import signal
import subprocess
import sys
import textwrap
from itertools import count

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import driftsieve as ds
from driftsieve._state.limits import Limits
from driftsieve.river.dict_bank import DictBank

N = 60_000
DELAYS = [0.0002, 0.001, 0.003, 0.01]  # seconds; some come while the core works


class StoppedError(Exception):
    """An exception that a signal handler may raise at any moment, as that of Ctrl-C does."""


@pytest.fixture
def interrupted():
    def stop(*_):
        raise StoppedError

    def call(work, delay):
        gc.disable()  # an exception in a callback of the garbage collector is lost
        try:
            signal.setitimer(signal.ITIMER_REAL, delay)
            work()
            signal.setitimer(signal.ITIMER_REAL, 0.0)
        except StoppedError:
            return True
        finally:
            gc.enable()
        return False

    before = signal.signal(signal.SIGALRM, stop)
    yield call
    signal.setitimer(signal.ITIMER_REAL, 0.0)
    signal.signal(signal.SIGALRM, before)


def rows(seed, labels, n=N):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 30)), rng.choice(labels, n)


def first_rows(bank, X, y):
    return lambda: bank.update(X, y)


def rows_of_a_new_class(bank, X, y):
    bank.update(*rows(1, ["a", "b"], 1000))
    return lambda: bank.update(X, np.where(y == "b", "c", y))


def named_rows(bank, X, y):
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])])
    return lambda: bank.update(frame, y)


def sparse_rows(bank, X, y):
    X = sparse.csr_array(np.where(np.abs(X) > 1.5, X, 0.0))
    return lambda: bank.update(X, y)


def a_merge(bank, X, y):
    bank.update(*rows(1, ["a", "b"], 1000))
    other = ds.Bank().update(X, np.where(y == "b", "c", y))
    return lambda: bank.merge(other)


def ignored_rows(bank, X, y):
    bank.set_limits(max_classes=1, on_limit="ignore_new")
    return lambda: bank.update(X, y)


@pytest.mark.parametrize(
    "prepared", [first_rows, rows_of_a_new_class, named_rows, sparse_rows, a_merge, ignored_rows]
)
def test_an_interrupt_leaves_all_or_nothing(prepared, interrupted):
    seen = set()
    for delay in DELAYS:
        bank = ds.Bank()
        work = prepared(bank, *rows(0, ["a", "b"]))
        before = bank.to_bytes()
        prepared(whole := ds.Bank(), *rows(0, ["a", "b"]))()
        seen.add(interrupted(work, delay))
        assert bank.to_bytes() in (before, whole.to_bytes())
        if bank.n_rows:
            bank.snapshot()
    assert True in seen, "no interrupt came while there was work to do"


def test_an_interrupted_class_does_not_get_rows_of_a_later_one(interrupted):
    for delay in DELAYS:
        bank = ds.Bank()
        interrupted(rows_of_a_new_class(bank, *rows(0, ["a", "b"])), delay)
        bank.update(rows(2, ["z"], 100)[0], ["z"] * 100)
        snapshot = bank.snapshot()
        assert dict(zip(snapshot.classes, snapshot.class_weight, strict=True))["z"] == 100


@pytest.mark.parametrize("absent", ["zero", "missing"])
def test_dictionaries_are_given_to_all_banks_or_to_none(absent, interrupted):
    rng = np.random.default_rng(0)
    first = dict.fromkeys(range(100), 1.0)
    several = first | dict.fromkeys(range(100, 300), 2.0)
    bank = DictBank(absent=absent, missing="error", clock="row", limits=Limits())
    bank.update_one(first, 0)
    learned = 1
    for delay in rng.uniform(0.0005, 0.02, 40):

        def learn():
            nonlocal learned
            for i in count():
                bank.update_one(several, i % 3)
                learned += 1

        assert interrupted(learn, delay)
        assert bank.n_rows - learned in (0, 1)  # one may be in that was not counted here
        learned = bank.n_rows
        bank.flush()
        assert bank.n_rows == learned
        assert {part.n_rows for part in bank._banks} == {learned}


def test_bank_that_ran_out_of_memory_raises_on_every_later_use():
    """In a process of its own, since it is the one that may not have more memory."""
    found = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(OUT_OF_MEMORY)], capture_output=True, text=True
    )
    assert found.returncode == 0, found.stderr
    outcomes = found.stdout.split()
    assert set(outcomes) <= {"taken", "unchanged", "refused"}
    assert "refused" in outcomes, "memory never ran out in the middle"


def test_fewer_threads_than_requested_give_the_same_result():
    """Their stacks do not fit into the memory that the process may have."""
    found = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(NO_THREADS)], capture_output=True, text=True
    )
    assert found.returncode == 0, found.stderr


NO_THREADS = """
    import re, resource, threading
    from pathlib import Path
    import numpy as np
    import driftsieve as ds

    def size():
        return int(re.search(r"VmSize:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024

    X = np.random.default_rng(0).normal(size=(8000, 100))
    y = np.arange(8000) % 3
    alone = ds.Bank(n_threads=1).update(X, y).to_bytes()
    many = ds.Bank(n_threads=64)
    resource.setrlimit(resource.RLIMIT_AS, (size() + (40 << 20), resource.RLIM_INFINITY))
    assert many.update(X, y).to_bytes() == alone
    try:
        threads = [threading.Thread(target=threading.Event().wait, daemon=True) for _ in range(64)]
        for thread in threads:
            thread.start()
        raise SystemExit("there was room for 64 threads")
    except RuntimeError:
        pass
"""

OUT_OF_MEMORY = """
    import re, resource
    from pathlib import Path
    from types import SimpleNamespace
    import numpy as np
    import driftsieve as ds
    from driftsieve.cli.keeper import Keeper

    def size():
        return int(re.search(r"VmSize:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024

    X = np.random.default_rng(0).normal(size=(20000, 100))
    y = np.arange(20000) % 3
    for spare in [0, 64, 200, 500, 900, 1100, 1500, 2000]:
        bank = ds.Bank(epsilon=0.001, n_threads=1, max_bytes=1e12).update(X[:9000], y[:9000])
        before = bank.to_bytes()
        keeper = Keeper(SimpleNamespace(bank=bank), Path("state"), None)
        resource.setrlimit(resource.RLIMIT_AS, (size() + spare * 1024, resource.RLIM_INFINITY))
        try:
            bank.update(X[9000:], y[9000:])
            outcome = "taken"
        except MemoryError:
            outcome = "failed"
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)
        if outcome == "failed":
            try:
                outcome = "unchanged" if bank.to_bytes() == before else "CHANGED"
                bank.snapshot()
            except RuntimeError as error:
                assert "ran out of memory" in str(error)
                assert not bank.is_whole and "ran out of memory" in repr(bank)
                assert not keeper.is_behind
                outcome = "refused"
        elif bank.n_rows != 20000:
            outcome = "LOST"
        print(outcome)
"""
