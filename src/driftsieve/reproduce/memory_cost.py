"""Beyond the paper: the share of processor time that reviews of a learned memory take."""

from __future__ import annotations

from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftsieve.memory import LearnedBank
from driftsieve.reproduce.datasets import MissingDataError, folder_of, spam
from driftsieve.reproduce.result import Claim, ExperimentRun, RecordTable, Result, listed

N_ROWS, BATCH, PASSES = 40_000, 1000, 5
DENSE = (
    (1000, "mutual_info"),
    (1000, "fisher"),
    (64, "mutual_info"),
    (64, "fisher"),
    (6, "chi2"),
    (6, "fisher"),
)


class Timed(LearnedBank):
    """A LearnedBank that measures the processor time of its reviews, and of all learning."""

    seconds, learning, n_compared = 0.0, 0.0, 0

    def _review(self, room: float) -> None:
        start = process_time()
        super()._review(room)
        self.seconds += process_time() - start
        self.n_compared = max(self.n_compared, len(self._period.features))

    def _learn(self, *args: Any) -> None:
        start = process_time()
        super()._learn(*args)
        self.learning += process_time() - start


def memory_cost(run: ExperimentRun) -> Result:
    """Measure the share of reviews in the first rows of a stream, and in later ones."""
    rng = np.random.default_rng(0)
    n_rows = N_ROWS // 10 if run.quick else N_ROWS
    LearnedBank("fisher").update(*_rows(rng, 4000, 3))  # imports are not measured
    table: RecordTable = []
    for p, score in run.track(DENSE, "memory-cost", len(DENSE)):
        found = measured(score, *_rows(rng, n_rows, p))
        table.append({"stream": f"{p:,} dense", "score": score, **found})
    try:
        X, y = spam(folder_of(run.data))
        table.append({"stream": "spam", "score": "mutual_info", **measured("mutual_info", X, y)})
    except MissingDataError:
        pass
    return Result({"": table}, claims=[_claim(table, "first"), _claim(table, "later")])


def _rows(rng: np.random.Generator, n: int, p: int) -> tuple[NDArray[np.float64], Any]:
    X = rng.standard_normal((n, p))
    target = X[:, : max(1, p // 10)].sum(axis=1) + rng.standard_normal(n)
    return X, (target > 0).astype(np.int64)


def measured(score: str, X: Any, y: NDArray[np.int64]) -> dict[str, Any]:
    """Return the times of a first pass over the rows, and of the last of several."""
    X = X.astype(np.float64)
    bank = Timed(score, n_threads=1)
    found: dict[str, Any] = {}
    for number in range(PASSES):
        bank.seconds = bank.learning = 0.0
        n_reviews = int(bank._sums.n_reviews)
        start = process_time()
        for first in range(0, len(y), BATCH):
            bank.update(X[first : first + BATCH], y[first : first + BATCH])
        seconds = process_time() - start
        n_reviews = int(bank._sums.n_reviews) - n_reviews
        if number in (0, PASSES - 1):
            name = "later" if number else "first"
            found |= {
                f"{name}: reviews": n_reviews,
                f"{name}: ms a review": 1e3 * bank.seconds / max(1, n_reviews),
                f"{name}: us a row": 1e6 * seconds / len(y),
                f"{name}: share": bank.seconds / seconds,
                f"{name}: share with fresh rows": bank.learning / seconds,
            }
    return found | {"most features compared": bank.n_compared}


def _claim(table: RecordTable, when: str) -> Claim:
    shares = {f"{row['stream']}, {row['score']}": row[f"{when}: share"] for row in table}
    return Claim(
        f"Reviews take at most a fifth of the time ({when} pass over the rows).",
        f"{listed(shares, '.2f')}.",
        max(shares.values()) <= 0.2,
    )
