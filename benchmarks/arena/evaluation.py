"""Prequential evaluation: each batch is predicted first, then learned."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn import config_context
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import BernoulliNB, GaussianNB

from benchmarks.arena.competitors import NONE, Competitor, Selector
from benchmarks.arena.inputs import inputs
from benchmarks.arena.streams import BATCH, Stream
from driftsieve import Bank
from driftsieve.memory.relevance import RESPONSE
from driftsieve.scores.blocks import has_two_classes
from driftsieve.selection.stability import nogueira

Columns = NDArray[np.intp]
RECENT = 10
"""Batches that naive Bayes is trained with."""
FRESH = 5
"""Batches whose relevance is captured by the features that were chosen before them."""


@dataclass
class Contestant:
    """A competitor in a stream: its selector, its learners and their results."""

    selector: Selector
    takes: str
    learners: list[SGDClassifier]
    correct: NDArray[np.int64]
    columns: Columns = field(init=False)
    nb_correct: list[int] = field(default_factory=list)
    captured: float = 0.0
    seconds: list[float] = field(default_factory=list)
    selections: list[Columns] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.columns = np.sort(self.selector.chosen())

    def n_correct(self, X: Any, y: NDArray[np.int64]) -> NDArray[np.int64]:
        """Number of rows that each learner predicts correctly, for all learners at once."""
        weights = np.concatenate([model.coef_ for model in self.learners]).T
        offsets = np.concatenate([model.intercept_ for model in self.learners])
        return np.count_nonzero((X @ weights + offsets > 0) == (y[:, None] == 1), axis=0)

    def learn(self, X: Any, y: NDArray[np.int64]) -> None:
        start = time.process_time()
        self.selector.learn(X, y)
        chosen = self.selector.chosen()
        self.seconds.append(time.process_time() - start)
        self.columns = np.sort(chosen)
        self.selections.append(self.columns)


def evaluate(
    stream: Stream, competitors: dict[str, Competitor], n_seeds: int, *, whole: bool = False
) -> dict[str, dict[str, Any]]:
    """Return the results of each competitor at the end of the stream, by name."""
    n_features = stream.X.shape[1]
    running = {
        name: Contestant(
            competitor.make(n_features, min(stream.k, n_features)),
            competitor.takes,
            [SGDClassifier(loss="log_loss", random_state=seed) for seed in range(n_seeds)],
            np.zeros(n_seeds, dtype=np.int64),
        )
        for name, competitor in competitors.items()
    }
    relevance = _relevances(stream)
    naive_bayes = BernoulliNB if stream.is_binary else GaussianNB
    recent: deque[tuple[Any, NDArray[np.int64]]] = deque(maxlen=RECENT)
    for step, batch in enumerate(inputs(stream, whole)):
        fresh = relevance(step)
        predictor = _Recent(naive_bayes, recent, batch.minmax)
        for contestant in running.values():
            X = _masked(batch.minmax, contestant.columns)
            if step:
                contestant.correct += contestant.n_correct(X, batch.y)
                predicted = predictor.predict(contestant.columns)
                contestant.nb_correct.append(int(np.count_nonzero(predicted == batch.y)))
                if fresh is not None:
                    contestant.captured += float(fresh[contestant.columns].sum())
            contestant.learn(getattr(batch, contestant.takes), batch.y)
            X = _masked(batch.minmax, contestant.columns)
            with config_context(assume_finite=True, skip_parameter_validation=True):
                for model in contestant.learners:
                    model.partial_fit(X, batch.y, classes=None if step else [0, 1])
        recent.append((batch.minmax, batch.y))
    n_predicted = len(stream.y) - BATCH
    return {name: _summary(one, stream, n_predicted, name) for name, one in running.items()}


def _summary(one: Contestant, stream: Stream, n_predicted: int, name: str) -> dict[str, Any]:
    n_features = stream.X.shape[1]
    return {
        "sgd": (100 * one.correct / n_predicted).tolist(),
        "nb": 100 * sum(one.nb_correct) / n_predicted,
        "nb by batch": one.nb_correct,
        "captured": None if name == NONE else one.captured,
        "stability": None if name == NONE else nogueira(one.selections, n_features),
        "ms": 1000 * float(np.mean(one.seconds)),
        "slowest ms": 1000 * max(one.seconds),
    }


def _masked(X: Any, columns: Columns) -> Any:
    """The rows with 0 in all other columns, so that a learner keeps its weights."""
    if len(columns) == X.shape[1]:
        return X
    if not sparse.issparse(X):
        masked = np.zeros_like(X)
        masked[:, columns] = X[:, columns]
        return masked
    wanted = np.zeros(X.shape[1])
    wanted[columns] = 1.0
    masked = X.copy()
    masked.data *= wanted[masked.indices]
    masked.eliminate_zeros()
    return masked


class _Recent:
    """Predictions of a batch by naive Bayes of the rows before it, for any columns."""

    def __init__(self, kind: type, recent: deque[tuple[Any, NDArray[np.int64]]], X: Any) -> None:
        self.kind, self.X = kind, X
        stack = sparse.vstack if sparse.issparse(X) else np.vstack
        self.rows = stack([rows for rows, _ in recent]) if recent else X
        self.y = np.concatenate([y for _, y in recent] or [[]])
        self.known: dict[bytes, Any] = {}

    def predict(self, columns: Columns) -> Any:
        key = columns.tobytes()
        if key not in self.known:
            model = self.kind().fit(self.rows[:, columns], self.y)
            self.known[key] = model.predict(self.X[:, columns])
        return self.known[key]


def _relevances(stream: Stream) -> Callable[[int], NDArray[np.float64] | None]:
    """Return a function: the relevance of all features in the batches after a step, or None."""

    def relevance(step: int) -> NDArray[np.float64] | None:
        rows = slice(step * BATCH, (step + FRESH) * BATCH)
        if step % FRESH or rows.stop > len(stream.y):
            return None
        snapshot = (
            Bank(moments=False, n_threads=1).update(stream.X[rows], stream.y[rows]).snapshot()
        )
        return RESPONSE["mutual_info"](snapshot) if has_two_classes(snapshot) else None

    return relevance
