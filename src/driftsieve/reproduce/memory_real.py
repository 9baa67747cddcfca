"""Beyond the paper: the learned memory compared with fixed half-lives on real streams."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from driftsieve.bank import Bank
from driftsieve.memory import LearnedBank
from driftsieve.memory.relevance import RESPONSE
from driftsieve.reproduce.datasets import (
    MissingDataError,
    elec2,
    folder_of,
    news20_binary,
    spam,
    table_stream,
    url_dense,
)
from driftsieve.reproduce.memory import LEARNED, NEVER, title_of
from driftsieve.reproduce.result import Claim, ExperimentRun, Record, RecordTable, Result, listed
from driftsieve.scores import SCORES, rank
from driftsieve.scores.blocks import has_two_classes
from driftsieve.scores.reader import read_bank

HALF_LIVES = (200.0, 500.0, 1000.0, 2000.0, 5000.0, 10_000.0, 20_000.0, NEVER)
FRESH = 500
"""Rows in which the relevance of features chosen before is measured."""
RECENT = 2000
"""Latest rows that the learner learns from."""


@dataclass(frozen=True)
class RealStream:
    """Labelled rows in the order of time."""

    X: Any
    y: NDArray[np.int64]
    selected: tuple[int, ...]
    every: int = FRESH
    """Rows from one choice of features to the next."""


def swap100() -> RealStream:
    """100 normal features, ten relevant, the oldest of which is replaced every 2,000 rows."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40_000, 100))
    y = np.empty(len(X), dtype=np.int64)
    relevant = rng.permutation(100)[:10].tolist()
    weights = rng.uniform(0.5, 1.5, 10) * rng.choice([-1, 1], 10)
    for start in range(0, len(X), 2000):
        if start:
            others = np.setdiff1d(np.arange(100), relevant)
            relevant = [*relevant[1:], int(rng.choice(others))]
            weights = np.append(weights[1:], rng.uniform(0.5, 1.5) * rng.choice([-1, 1]))
        rows = slice(start, start + 2000)
        y[rows] = X[rows][:, relevant] @ weights + rng.standard_normal(2000) > 0
    return RealStream(X, y, (10,))


STREAMS: dict[str, Callable[[Path], RealStream]] = {
    "elec2": lambda data: RealStream(*elec2(data)[:2], (2,)),
    "weather": lambda data: RealStream(*table_stream(data, "weather"), (3,)),
    "phishing": lambda data: RealStream(*table_stream(data, "phishing"), (10,)),
    "spam": lambda data: RealStream(*spam(data), (100, 1000)),
    "news20": lambda data: RealStream(*news20_binary(data), (1000,), 2000),
    "url": lambda data: RealStream(*url_dense(data), (30,)),
    "swap100": lambda _data: swap100(),
}
QUICK = ("elec2", "weather", "phishing", "swap100")


def memory_real(run: ExperimentRun) -> Result:
    """Relevance captured in the next rows, and the accuracy of a learner of recent rows."""
    folder = folder_of(run.data)
    records: list[Record] = []
    names = QUICK if run.quick else tuple(STREAMS)
    for name in run.track(names, "memory, real streams", len(names)):
        try:
            records += later_relevance(name, STREAMS[name](folder))
        except MissingDataError:
            if not records and name == names[-1]:
                raise
    table = _table(records)
    return Result({"": table}, claims=_claims(table))


def later_relevance(name: str, stream: RealStream, score: str = "mutual_info") -> Iterator[Record]:
    """Return the later relevance of the features chosen at each half-life and by the memory."""
    X = stream.X.astype(np.float64)
    y = stream.y
    keeps = SCORES[score].keeps
    fixed = Bank(half_life=HALF_LIVES, n_threads=1, **keeps)
    learned: dict[int, Any] = {k: LearnedBank(score, k=k, n_threads=1) for k in stream.selected}
    entry = SCORES[score]
    for start in range(0, len(y) - FRESH, stream.every):
        rows = slice(start, start + FRESH)
        fresh = Bank(n_threads=1, **keeps).update(X[rows], y[rows]).snapshot()
        if start >= 2 * FRESH and has_two_classes(fresh):
            value = RESPONSE[score](fresh)
            ranks = {
                h: rank(read_bank(fixed, entry.function, 5, half_life=h), entry.larger_is_better)
                for h in HALF_LIVES
            }
            for k in stream.selected:
                chosen: dict[Any, Any] = {
                    **ranks,
                    LEARNED: rank(learned[k].scores(), entry.larger_is_better),
                }
                for memory, order in chosen.items():
                    columns = np.flatnonzero(order <= k)
                    yield {
                        "stream": name,
                        "k": k,
                        "memory": memory,
                        "start": start,
                        "captured": float(value[columns].sum()),
                        "correct": _correct(X, y, start, columns),
                    }
        rows = slice(start, start + stream.every)
        for bank in (fixed, *learned.values()):
            bank.update(X[rows], y[rows])


def _correct(X: Any, y: NDArray[np.int64], start: int, columns: NDArray[np.intp]) -> float:
    """Share of the next rows that a learner of the latest ones predicts right."""
    before, after = slice(max(0, start - RECENT), start), slice(start, start + FRESH)
    if len(np.unique(y[before])) < 2:
        return float(np.mean(y[after] == y[start - 1]))
    train, test = X[before][:, columns], X[after][:, columns]
    scaler = MaxAbsScaler() if sparse.issparse(train) else StandardScaler()
    train, test = scaler.fit_transform(train), scaler.transform(test)
    learner = SGDClassifier(loss="log_loss", alpha=1e-3, max_iter=20, tol=None, random_state=0)
    return float(np.mean(learner.fit(train, y[before]).predict(test) == y[after]))


def _table(records: list[Record]) -> RecordTable:
    table: RecordTable = []
    cells: dict[tuple[str, int], dict[Any, list[Record]]] = {}
    for record in records:
        cell = cells.setdefault((record["stream"], record["k"]), {})
        cell.setdefault(record["memory"], []).append(record)
    for (stream, k), by_memory in cells.items():
        captured = {m: sum(r["captured"] for r in rs) for m, rs in by_memory.items()}
        correct = {m: float(np.mean([r["correct"] for r in rs])) for m, rs in by_memory.items()}
        fixed = {m: c for m, c in captured.items() if m != LEARNED}
        others = [c for m, c in correct.items() if m != LEARNED]
        best = max(fixed, key=lambda m: fixed[m])
        table.append(
            {
                "stream": stream,
                "k": k,
                "best half-life": title_of(best),
                "never forget": fixed[NEVER] / fixed[best],
                "median half-life": float(np.median([*fixed.values()])) / fixed[best],
                "learned": captured[LEARNED] / fixed[best],
                "accuracy, best": max(others),
                "accuracy, median": float(np.median(others)),
                "accuracy, never": correct[NEVER],
                "accuracy, learned": correct[LEARNED],
            }
        )
    return table


def _claims(table: RecordTable) -> list[Claim]:
    learned = {f"{row['stream']} @{row['k']}": row["learned"] for row in table}
    mean = float(np.mean([*learned.values()]))
    behind = min(row["learned"] - row["never forget"] for row in table)
    return [
        Claim(
            "Learned memory captures at least 0.97 of what the best half-life in hindsight does.",
            f"{listed(learned, '.3f')}.",
            min(learned.values()) >= 0.97,
        ),
        Claim("It captures at least 0.99 of it on average.", f"Mean {mean:.3f}.", mean >= 0.99),
        Claim(
            "It is never behind not forgetting by more than 0.005.",
            f"The smallest difference is {behind:+.3f}.",
            behind >= -0.005,
        ),
    ]
