"""Works C and D of the goals: sparse rows, most features with one value beside 0."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import sparse

import driftsieve as ds
from benchmarks import peers
from benchmarks.dense import bank, labels
from benchmarks.harness import Goal, Row, Task, Work
from benchmarks.peers import Labels

NON_ZEROS = 115  # a row


def works(quick: bool) -> Iterator[Work]:
    rng = np.random.default_rng(1)
    p = 750 if quick else 75000
    for name, n in (("C", 160), ("D", 1600)) if quick else (("C", 16000), ("D", 160000)):
        yield sparse_rows(name, matrix(rng, n, p), labels(rng, n))


def matrix(rng: np.random.Generator, n: int, p: int) -> sparse.csr_array:
    """Nine features of ten are flags. Low columns are more common, as words and hosts are."""
    columns = (p * rng.random((n, 2 * NON_ZEROS)) ** 2).astype(np.int32)
    rows = [np.unique(row) for row in columns]
    rows = [np.sort(rng.choice(row, min(NON_ZEROS, len(row)), replace=False)) for row in rows]
    indices = np.concatenate(rows)
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int32)
    flag = rng.random(p) < 0.9
    data = np.where(flag[indices], 1.0, rng.lognormal(size=len(indices)))
    return sparse.csr_array((data, indices, indptr), shape=(n, p))


def sparse_rows(name: str, X: sparse.csr_array, y: Labels) -> Work:
    faded = {"quantiles": False, "half_life": float(len(y))}
    classes = peers.one_hot(y)

    def everything(n_threads: int = 1, **options: float) -> ds.Bank:
        return bank(epsilon=0.001, n_threads=n_threads, **options).update(X, y)

    tasks = {
        "faded moments": Task(lambda: bank(**faded).update(X, y), X.nnz),
        "everything": Task(everything, X.nnz),
        "everything, fading": Task(lambda: everything(half_life=float(len(y))), X.nnz),
        "everything, two threads": Task(lambda: everything(n_threads=2), X.nnz, threads=2),
        "everything, with MI scores": Task(
            lambda: ds.scores.mutual_info(everything().freeze()), X.nnz
        ),
        "read of the non-zeros": Task(lambda: peers.read(X.data, X.indices), X.nnz),
        "one-hot @ X, X²": Task(lambda: peers.one_hot_moments(classes, X), X.nnz),
        "tocsc()": Task(lambda: X.tocsc(), X.nnz),
        "f_classif": Task(lambda: peers.f_classif(X, y), X.nnz),
        "xgboost": Task(lambda: peers.xgboost_bins(X, y), X.nnz, "xgboost"),
    }
    goals = (
        Goal("faded moments", "read of the non-zeros", at_most=7),
        Goal("faded moments", "one-hot @ X, X²", at_least=2),
        Goal("faded moments", "f_classif"),
        Goal("everything", "tocsc()", at_least=1),
        Goal("everything", "xgboost", at_least=18),
        Goal("everything, fading", "everything", at_most=1.5),
        Goal("everything, two threads", "everything", wall=True),
        Goal("everything, with MI scores", "tocsc()"),
        Goal("everything, with MI scores", "xgboost"),
    )
    return Work(name, tasks, goals, "ns/non-zero", facts=lambda: [state_of(name, everything())])


def state_of(name: str, state: ds.Bank) -> Row:
    return Row(f"{name}: state", state.nbytes / 1000 / state.n_features, "KB/feature")
