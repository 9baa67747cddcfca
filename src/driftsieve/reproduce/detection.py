"""Detection rates of screens on the synthetic drifting stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from driftsieve.bank import Bank
from driftsieve.reproduce.result import ExperimentRun, Record
from driftsieve.reproduce.synthetic import DriftStream
from driftsieve.scores import SCORES, rank

SCORE_TITLES = {
    "t": "T-score",
    "fisher": "Fisher score",
    "mutual_info": "mutual information",
    "chi2": "chi-square",
    "gini": "Gini index",
}


@dataclass(frozen=True)
class Scale:
    """The sizes of the drift experiments."""

    stream: DriftStream
    """Number of rows at the slowest shift."""
    batch: int
    selected: int
    """Features selected: detection rate @selected."""
    shifts: tuple[int, ...]

    @classmethod
    def of(cls, run: ExperimentRun) -> Scale:
        """Return the sizes of the paper, or a fifth of its features and fewer rows.

        With fewer true features each is more informative, so that the small stream is about as
        hard.
        """
        stream = DriftStream(2000, correlation=run.correlation)
        if run.quick:
            small = replace(stream, shift_every=320, n_rows=6000, n_features=200, n_true=20)
            return cls(small, batch=10, selected=100, shifts=(40, 80, 160, 320))
        return cls(stream, batch=250, selected=500, shifts=(250, 500, 1000, 2000))

    def settled(self, row: int) -> bool:
        """Return whether the stream is in its second half, without start-up effects."""
        return row > self.stream.n_rows // 2

    def shifting(self, shift: int, seed: int) -> DriftStream:
        """Return a stream whose true features shift at this interval."""
        return replace(self.stream, shift_every=shift, seed=seed)


def detect(
    stream: DriftStream,
    banks: Mapping[Any, Bank],
    *,
    batch: int,
    scores: Iterable[str],
    at: Iterable[int],
    selected: Iterable[int],
) -> Iterator[Record]:
    """Update all banks with the stream, and record the detection rates after each row in `at`.

    Rate @k is the share of the currently true features among the k best. Every record has the key
    of its bank as "fading".
    """
    stops, scores, selected = set(at), list(scores), list(selected)
    n_rows = 0
    for X, y in stream.batches(batch):
        n_rows += len(y)
        for bank in banks.values():
            bank.update(X, y)
        if n_rows not in stops:
            continue
        true = stream.true_after(n_rows)
        for fading, bank in banks.items():
            snapshot = bank.snapshot()
            for score in scores:
                entry = SCORES[score]
                ranks = rank(entry.function(snapshot), entry.larger_is_better)[true]
                for k in selected:
                    yield {
                        "shift": stream.shift_every,
                        "fading": fading,
                        "score": score,
                        "row": n_rows,
                        "selected": k,
                        "seed": stream.seed,
                        "rate": float(np.mean(ranks <= k)),
                    }


def batch_bank(decay: float, *, quantiles: bool = False) -> Bank:
    """Return a bank whose decay counts per batch, as in the experiments of the paper."""
    return Bank(decay=decay, clock="batch", quantiles=quantiles, n_threads=1)
