"""Sparse rows.

C and D: most features have one value other than 0. F: every value differs, as in TF-IDF. G: of each
column nine values of ten are 1. Then many classes, and snapshots of a wide bank.
"""

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
    n = 160 if quick else 16000
    for columns in ("uniform", "Zipf"):
        X = with_values(rng, draw(rng, n, p, columns))
        yield real_values(f"F, {columns} columns", X, labels(rng, n), goal=3)
    X = with_values(rng, draw(rng, n, p, "common"), ones=0.9)
    yield real_values("G", X, labels(rng, n), goal=1.2)
    yield many_classes(with_values(rng, draw(rng, n, p, "uniform")), rng)
    yield wide_snapshot(rng, 2000 if quick else 200_000)


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


def draw(rng: np.random.Generator, n: int, p: int, columns: str) -> sparse.csr_array:
    """Rows of NON_ZEROS columns or a few less, without values."""
    share = rng.random((n, 2 * NON_ZEROS))
    if columns == "Zipf":
        share = np.expm1(share * np.log(p + 1.0)) / p
    elif columns == "common":
        share = share**2
    places = np.minimum((p * share).astype(np.int32), p - 1)
    rows = [np.unique(row) for row in places]
    rows = [np.sort(rng.choice(row, min(NON_ZEROS, len(row)), replace=False)) for row in rows]
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int32)
    indices = np.concatenate(rows)
    return sparse.csr_array((np.ones(len(indices)), indices, indptr), shape=(n, p))


def with_values(
    rng: np.random.Generator, X: sparse.csr_array, ones: float = 0.0
) -> sparse.csr_array:
    X.data = np.where(rng.random(X.nnz) < ones, 1.0, rng.lognormal(size=X.nnz))
    return X


def real_values(name: str, X: sparse.csr_array, y: Labels, goal: float) -> Work:
    def update(epsilon: float = 0.01, **options: float) -> ds.Bank:
        return bank(epsilon=epsilon, **options).update(X, y)

    half_life = float(len(y))
    updates = {
        "ε = 0.01": lambda: update(),
        "ε = 0.001": lambda: update(0.001),
        "ε = 0.01, fading": lambda: update(half_life=half_life),
        "ε = 0.001, fading": lambda: update(0.001, half_life=half_life),
    }
    tasks = {key: Task(run, X.nnz) for key, run in updates.items()}
    tasks |= {
        "ε = 0.01, two threads": Task(lambda: update(n_threads=2), X.nnz, threads=2),
        "moments": Task(lambda: bank(quantiles=False).update(X, y), X.nnz),
        "moments, two threads": Task(
            lambda: bank(quantiles=False, n_threads=2).update(X, y), X.nnz, threads=2
        ),
        "with MI scores": Task(lambda: ds.scores.mutual_info(update().snapshot()), X.nnz),
        "tocsc()": Task(lambda: X.tocsc(), X.nnz),
        "xgboost": Task(lambda: peers.xgboost_bins(X, y), X.nnz, "xgboost"),
    }
    goals = (
        *(Goal(key, "tocsc()", at_most=goal) for key in updates),
        Goal("with MI scores", "tocsc()", at_most=5),
        Goal("ε = 0.01", "xgboost", at_least=10),
        Goal("ε = 0.01, two threads", "ε = 0.01", at_least=1.6, wall=True),
        Goal("moments, two threads", "moments", at_least=1.6, wall=True, reported=True),
    )
    return Work(name, tasks, goals, "ns/non-zero", facts=lambda: [state_of(name, update())])


def many_classes(X: sparse.csr_array, rng: np.random.Generator) -> Work:
    name = "sparse, many classes"

    def update(n_classes: int) -> ds.Bank:
        return bank(epsilon=0.01).update(X, labels_of[n_classes])

    labels_of = {n: rng.integers(0, n, X.shape[0]) for n in (2, 8, 26)}
    tasks = {f"{n} classes": Task(lambda n=n: update(n), X.nnz) for n in labels_of}
    goals = (
        Goal("8 classes", "2 classes", at_most=2),
        Goal("26 classes", "2 classes", at_most=4),
    )
    return Work(
        name,
        tasks,
        goals,
        "ns/non-zero",
        facts=lambda: [state_of(f"{name}: {n}", update(n)) for n in labels_of],
    )


def wide_snapshot(rng: np.random.Generator, p: int) -> Work:
    """100 values a feature, as in a bank of 10⁶ features and 10⁸ values."""
    n = 100 * p // NON_ZEROS
    X = with_values(rng, draw(rng, n, p, "uniform"))
    state = bank(epsilon=0.01).update(X, labels(rng, n))
    tasks = {
        "MI scores": Task(lambda: ds.scores.mutual_info(state.snapshot()), p),
        "snapshot": Task(lambda: state.snapshot(), p),
    }
    goals = (Goal("MI scores", 1.0), Goal("snapshot", 1.0))
    return Work("wide sparse", tasks, goals, "µs/feature", 1e6)


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
            lambda: ds.scores.mutual_info(everything().snapshot()), X.nnz
        ),
        "read of the non-zeros": Task(lambda: peers.read(X.data, X.indices), X.nnz),
        "one-hot @ X, X²": Task(lambda: peers.one_hot_moments(classes, X), X.nnz),
        "tocsc()": Task(lambda: X.tocsc(), X.nnz),
        "f_classif": Task(lambda: peers.f_classif(X, y), X.nnz),
        "xgboost": Task(lambda: peers.xgboost_bins(X, y), X.nnz, "xgboost"),
    }
    goals = (
        Goal("faded moments", "read of the non-zeros", at_most=7),
        Goal("faded moments", "one-hot @ X, X²", at_least=1.7, reported=True),
        Goal("faded moments", "f_classif"),
        Goal("everything", "tocsc()", at_least=1),
        Goal("everything", "xgboost", at_least=18),
        Goal("everything, fading", "everything", at_most=1.5),
        Goal("everything, two threads", "everything", at_least=1.6, wall=True),
        Goal("everything, with MI scores", "tocsc()"),
        Goal("everything, with MI scores", "xgboost"),
    )
    return Work(name, tasks, goals, "ns/non-zero", facts=lambda: [state_of(name, everything())])


def state_of(name: str, state: ds.Bank) -> Row:
    return Row(f"{name}: state", state.nbytes / 1000 / state.n_features, "KB/feature")
