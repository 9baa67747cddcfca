"""A river screener that several threads use: rows count once or not at all."""

import copy
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from refusals import is_refused, switching_often

from driftsieve.river import FeatureScreener


@pytest.mark.parametrize("absent", ["zero", "missing"])
def test_dictionaries_that_several_threads_learn_count_once_or_not_at_all(absent):
    screener = FeatureScreener("t", k=3, absent=absent, every=50)
    rows = [{f"f{j}": float(i * j % 7) for j in range(150)} for i in range(300)]
    for y in range(2):  # from then on all keys and labels are known
        screener.learn_one(rows[0], y)

    def learn(start):
        taken = 0
        for i in range(start, start + 1500):
            taken += not is_refused(lambda i=i: screener.learn_one(rows[i % 300], i % 2))
            is_refused(lambda: screener.transform_one(rows[0]))
        return taken

    with switching_often(), ThreadPoolExecutor(3) as pool:
        taken = sum(pool.map(learn, range(3)))
    assert screener._bank.n_rows == taken + 2
    screener._bank.flush()
    assert {bank.n_rows for bank in screener._bank._banks} == {taken + 2}


@pytest.mark.parametrize("absent", ["zero", "missing"])
def test_rows_learned_while_others_learn_frames_read_or_store_count_once_or_not_at_all(absent):
    screener = FeatureScreener("t", k=3, absent=absent, every=10**9)
    rows = [{"a": float(i % 7), "b": 2.0} for i in range(300)]
    late = [f"f{j}" for j in range(3000)]  # which have a bank of their own
    frame = pd.DataFrame(np.random.default_rng(6).normal(size=(200, len(late))), columns=late)
    labels = [0, 1] * 100
    for row in rows[:2]:
        screener.learn_one(row, 0)
    screener.learn_many(frame, labels)
    done = threading.Event()

    def learn_rows():
        taken = 0
        for i in range(6000):
            taken += not is_refused(lambda i=i: screener.learn_one(rows[i % 300], i % 2))
        done.set()
        return taken

    def learn_frames():
        taken = 0
        while not done.is_set():
            taken += len(frame) * (not is_refused(lambda: screener.learn_many(frame, labels)))
        return taken

    def read():
        while not done.is_set():
            is_refused(lambda: screener.scores)
            is_refused(lambda: copies.append(copy.deepcopy(screener._bank)))
        return 0

    copies = []
    with switching_often(), ThreadPoolExecutor(3) as pool:
        works = [pool.submit(work) for work in (learn_rows, learn_frames, read)]
    taken = 202 + sum(work.result() for work in works)
    assert screener._bank.n_rows == taken
    screener._bank.flush()
    first, later = (bank.n_rows for bank in screener._bank._banks)
    assert (first, later) == (taken, taken)
    for copied in copies:
        first, later = (bank.n_rows for bank in copied._banks)
        assert copied.n_rows == first == later
