"""The memory of a Spark stream, and the relevance of its features, computed block by block."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from driftsieve._storage import envelope
from driftsieve.bank import Bank
from driftsieve.distributed.plan import Plan
from driftsieve.distributed.spark_blocks import (
    SCORE_SCHEMA,
    RecordBatches,
    by_block,
    core_errors,
    merged_blocks,
    passing_errors,
)
from driftsieve.memory.panel import KEPT, Indices, in_turn, next_panel
from driftsieve.memory.period import FIRST_ROWS, least_rows
from driftsieve.memory.predicting import predicted, relevances
from driftsieve.memory.relevance import RELEVANCE, RESPONSE
from driftsieve.memory.sums import Sums
from driftsieve.scores import SCORES
from driftsieve.scores.blocks import has_two_classes
from driftsieve.scores.reader import can_score
from driftsieve.snapshot import Floats

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PANEL = 256
"""So many features are compared at most, which every task keeps once more without fading."""


@dataclass(frozen=True, slots=True)
class StreamMemory:
    """The learned memory of a stream, and the relevances to compare at the next review."""

    sums: Sums
    panel: Indices
    """The features that are compared, ascending."""
    before: Floats
    """(H, m) their relevance at each half-life at the last review."""
    n_rows: int
    """Rows before the last review."""
    turn: int
    """How many features have had their turn in the panel."""

    @classmethod
    def empty(cls, n_rungs: int) -> StreamMemory:
        """Return that of a stream before its first row."""
        nothing = np.empty(0, dtype=np.int64)
        return cls(Sums.empty(n_rungs), nothing, np.empty((n_rungs, 0)), 0, 0)

    def to_bytes(self) -> bytes:
        """Serialize it for the state."""
        arrays = {f.name: getattr(self.sums, f.name) for f in fields(Sums)}
        arrays |= {"panel": self.panel, "before": self.before}
        return envelope.pack_arrays("memory", {"n_rows": self.n_rows, "turn": self.turn}, arrays)

    @classmethod
    def from_bytes(cls, data: bytes | bytearray) -> StreamMemory:
        """Restore what ``to_bytes`` gave."""
        meta, arrays = envelope.unpack_arrays(data, "memory")
        sums = Sums(*(arrays[f.name] for f in fields(Sums)))
        return cls(sums, arrays["panel"], arrays["before"], meta["n_rows"], meta["turn"])

    def least_rows(self, n_features: int) -> int:
        """How many rows are to come between the last review and the next."""
        if not len(self.panel):
            return FIRST_ROWS
        return least_rows(n_features, int(self.sums.n_reviews))

    def n_best(self, n_features: int) -> int:
        """How many features memories are compared by."""
        return max(1, min(n_features // 10, len(self.panel) // 4))

    def learned(self, fresh: Bank, plan: Plan, n_features: int) -> Sums:
        """Return the sums with a review of the fresh rows.

        There is none if these are of one class, or if no half-life knew anything before.
        """
        if not self.before.any():
            return self.sums
        features = np.arange(len(self.panel))
        found = relevances(fresh, features, plan.score_func, plan.n_bins, RESPONSE)
        if found is None:
            return self.sums
        return self.sums.reviewed(self.before, found[0], self.n_best(n_features), fresh.n_rows)

    def next_panel(self, relevance: Floats, n_features: int) -> Indices:
        """Return the features to compare next, given the relevance of all.

        They are all features, or half of them those with the largest relevance, and the others in
        turn, without those that are the same in all rows.
        """
        known = np.flatnonzero(np.isfinite(relevance))
        size = min(PANEL, n_features)
        others = known[in_turn(len(known), self.turn, size)] if len(known) else known
        return next_panel(n_features, size, known, relevance[known], others)

    def after_review(
        self, sums: Sums, panel: Indices, before: Floats, n_fresh: int, n_features: int
    ) -> StreamMemory:
        """Return the memory at the beginning of another period."""
        turn = (self.turn + len(panel) - int(KEPT * len(panel))) % max(1, n_features)
        return StreamMemory(sums, panel, before, self.n_rows + n_fresh, turn)


def predictions(pieces: DataFrame, plan: Plan, sums: Sums) -> DataFrame:
    """Predict the relevance of the features of each block.

    The p-values are those of the best half-life. There are no rows while there is one class only.
    """
    weights, best = sums.weights(), sums.best_rung()
    pvalues = SCORES[plan.score_func].pvalues

    def task(batches: RecordBatches) -> RecordBatches:
        import pyarrow as pa

        for number, _, bank in merged_blocks(batches, plan):
            if not can_score(bank):
                continue
            relevance, prior = predicted(bank, plan.score_func, plan.n_bins, weights)
            n, first = len(relevance), number * plan.block_size
            half_life = bank.half_lives[best]
            snapshot = bank.snapshot(plan.n_bins, half_life=half_life)
            if pvalues is None or not has_two_classes(snapshot):
                pvalue = pa.nulls(n, pa.float64())
            else:
                pvalue = pvalues(snapshot)
            columns = {
                "half_life": np.full(n, half_life),
                "feature": np.arange(first, first + n),
                "score": relevance,
                "pvalue": pvalue,
                "prior": np.full(n, prior),
            }
            yield pa.RecordBatch.from_pydict(columns)

    return by_block(pieces).mapInArrow(passing_errors(task), f"{SCORE_SCHEMA}, prior double")


def panel_relevances(pieces: DataFrame, plan: Plan, panel: Indices) -> Floats:
    """(H, m) relevance of some features at each half-life; 0 while one has one class only."""
    n_rungs = len(plan.bank().half_lives)
    if not len(panel):
        return np.empty((n_rungs, 0))
    numbers = panel // plan.block_size

    def task(batches: RecordBatches) -> RecordBatches:
        import pyarrow as pa

        for number, _, bank in merged_blocks(batches, plan):
            mine = panel[numbers == number]
            how = (mine - number * plan.block_size, plan.score_func, plan.n_bins, RELEVANCE)
            found = relevances(bank, *how)
            found = np.zeros((n_rungs, len(mine))) if found is None else found
            columns = {"feature": mine, "relevance": list(found.T)}
            yield pa.RecordBatch.from_pydict(columns)

    pieces = pieces.where(pieces["block"].isin(np.unique(numbers).tolist()))
    schema = "feature bigint, relevance array<double>"
    with core_errors():
        table = by_block(pieces).mapInArrow(passing_errors(task), schema).toArrow()
    values = table.sort_by("feature")["relevance"].combine_chunks().flatten().to_numpy()
    return np.ascontiguousarray(values.reshape(len(panel), n_rungs).T)
