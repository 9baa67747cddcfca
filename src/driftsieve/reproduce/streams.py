"""The real streams: screen and train on the earlier part, predict the later part."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.linear_model import SGDClassifier

from driftsieve.bank import Bank
from driftsieve.learners import SparseFSA
from driftsieve.reproduce.datasets import folder_of, news20_binary, spam, url_days
from driftsieve.reproduce.result import ExperimentRun, Record
from driftsieve.scores import SCORES, rank
from driftsieve.snapshot import Floats, Snapshot

FSA, SGD = "Sparse FSA", "SGD log loss"
BATCH, DECAY = 250, 0.9
KEPT = 0.9
"""A seed determines the order of rows in the learners, the random choice of features, and the nine
tenths of the rows to learn from."""


@dataclass(frozen=True)
class Task:
    """Training rows, and later rows to predict."""

    X: sparse.csr_array
    y: NDArray[np.int64]
    n_train: int
    selected: int
    """Number of features that a screen selects for the learners."""
    learner_selected: int
    """Number of features that Sparse FSA selects."""
    n_epochs: int = 30

    def train(self, seed: int) -> tuple[sparse.csr_array, NDArray[np.int64]]:
        """Return some of the training rows, in order."""
        kept = np.random.default_rng(seed).random(self.n_train) < KEPT
        rows = np.flatnonzero(kept)
        return self.X[rows], self.y[rows]

    @property
    def test(self) -> tuple[sparse.csr_array, NDArray[np.int64]]:
        """Return the rows to predict."""
        return self.X[self.n_train :], self.y[self.n_train :]


def news20_task(run: ExperimentRun) -> Task:
    """Return 20 Newsgroups by date; as in the paper, the first 11,862 messages are for training."""
    X, y = news20_binary(folder_of(run.data))
    if run.quick:
        X, y = X[::8], y[::8]
    n_train = round(len(y) * 11_862 / 19_996)
    return _task(X, y, n_train, selected=5000 if run.quick else 20_000, learner_selected=1000)


def spam_task(run: ExperimentRun) -> Task:
    """Return the spam stream by time; the first 60 % are for training."""
    X, y = spam(folder_of(run.data))
    if run.quick:
        X, y = X[::2], y[::2]
    return _task(X, y, round(0.6 * len(y)), selected=2000, learner_selected=500)


def url_task(run: ExperimentRun) -> Task:
    """Return the URLs by day; all days but the last sixth are for training."""
    days = url_days(folder_of(run.data))
    n_train = sum(len(y) for _, y in days[: -max(1, len(days) // 6)])
    X = sparse.csr_array(sparse.vstack([X for X, _ in days], format="csr"))
    y = np.concatenate([y for _, y in days])
    return _task(X, y, n_train, selected=1000, learner_selected=200)


TASKS: dict[str, Callable[[ExperimentRun], Task]] = {
    "news20": news20_task,
    "spam": spam_task,
    "url": url_task,
}


def _task(X: Any, y: NDArray[np.int64], n_train: int, **sizes: int) -> Task:
    """Return a task without the columns that have no value in the training rows."""
    X = sparse.csr_array(X[:, np.unique(X[:n_train].indices)].astype(np.float64))
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)  # for scikit-learn
    return Task(X, y, n_train, **sizes)


def screen_task(task: Task, seed: int, **fading: Any) -> tuple[Snapshot, float]:
    """Return the snapshot of a bank with the training rows, and the seconds it took."""
    X, y = task.train(seed)
    begin = perf_counter()
    bank = Bank(**fading)
    for start in range(0, len(y), BATCH):
        bank.update(X[start : start + BATCH], y[start : start + BATCH])
    return bank.snapshot(), perf_counter() - begin


def best(snapshot: Snapshot, score: str, k: int) -> NDArray[np.intp]:
    """Return the k best features, ascending."""
    entry = SCORES[score]
    return np.flatnonzero(rank(entry.function(snapshot), entry.larger_is_better) <= k)


def learn(task: Task, seed: int, columns: NDArray[np.intp] | None, **tags: Any) -> Iterator[Record]:
    """Train both learners on the training rows, with some columns or all."""
    X, y = task.train(seed)
    X_test, y_test = task.test
    if columns is not None:
        X, X_test = X[:, columns], X_test[:, columns]
    learners: dict[str, Any] = {
        FSA: SparseFSA(task.learner_selected, n_epochs=task.n_epochs, random_state=seed),
        SGD: SGDClassifier(loss="log_loss", max_iter=task.n_epochs, tol=None, random_state=seed),
    }
    for name, learner in learners.items():
        begin = perf_counter()
        learner.fit(X, y)
        seconds = perf_counter() - begin
        coef: Floats = learner.coef_
        yield {
            **tags,
            "learner": name,
            "features": X.shape[1],
            "learner features": int(np.count_nonzero(coef.any(axis=0))),
            "train seconds": seconds,
            "seed": seed,
            "error rate": float(np.mean(learner.predict(X_test) != y_test)),
        }
