"""Learning in a Spark stream: the results after each micro-batch, and their report.

A review follows from the stored state alone: after a restart it is done again, with the same
result, and there is nothing to store but the state.
"""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NamedTuple

from driftsieve._state.settings import AUTO, is_auto, is_ladder
from driftsieve.bank import Bank, ClockName
from driftsieve.distributed.plan import Plan, ScreenOptions
from driftsieve.distributed.spark_blocks import FRESH, collected
from driftsieve.distributed.spark_memory import StreamMemory, panel_relevances, predictions
from driftsieve.distributed.spark_state import Saved, StreamState
from driftsieve.memory.predicting import Prediction
from driftsieve.memory.rungs import default_rungs
from driftsieve.memory.summary import Memory

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession


def with_choices(options: ScreenOptions, choices: Any, clock: ClockName) -> ScreenOptions:
    """Return the options with a list of half-lives in place of "auto"."""
    if not is_auto(options.get("half_life")):
        if choices is not None:
            raise ValueError(
                f'choices must be None without half_life="auto", got {choices!r}. Half-lives that '
                "are given as half_life are ranked by without learning."
            )
        return options
    if options.get("decay") is not None:
        raise ValueError(
            f"decay and half_life must not both be given, got {options['decay']} and {AUTO!r}."
        )
    if choices is None:
        choices = default_rungs(clock)
    if choices is None:
        raise ValueError(
            'choices must be given for half_life="auto" with clock="time", got None. Pass the '
            'half-lives to choose from, such as choices=["1d", "7d", "30d", None].'
        )
    if not is_ladder(choices):
        raise ValueError(f"choices must be a list of half-lives, got {choices!r}.")
    options = options.copy()
    options["half_life"] = choices
    return options


class Predicted(NamedTuple):
    """The scores and the memory that the state after a micro-batch predicts."""

    batch: int
    memory: StreamMemory
    """With the review, if that is due."""
    table: pa.Table
    """The columns half_life (that of the p-values), feature, score and pvalue. There are no rows
    while there is one class only."""
    summary: Memory


class StreamLearner:
    """The memory of a stream, and the scores that it predicts."""

    def __init__(self, state: StreamState, plan: Plan, clock: ClockName) -> None:
        self._state, self._plan, self._clock = state, plan, clock
        self._known: Predicted | None = None

    @property
    def memory(self) -> StreamMemory:
        """The memory that the next micro-batch is added with."""
        if self._state.latest is None:
            return StreamMemory.empty(len(self._plan.bank().half_lives))
        return self.known(self._state.latest).memory

    def known(self, saved: Saved) -> Predicted:
        """Return what follows from a stored state; the latest result is kept."""
        if self._known is None or self._known.batch != saved.batch:
            self._known = self._review(saved)
        return self._known

    def _review(self, saved: Saved) -> Predicted:
        import pyarrow as pa

        plan, p = self._plan, saved.width
        memory, fresh = saved.memory, Bank.from_bytes(saved.fresh, n_threads=1)
        n_rows = memory.n_rows + fresh.n_rows
        blocks = self._state.read(saved.slot).where(f"block != {FRESH}")
        is_due = fresh.n_rows >= memory.least_rows(p)
        sums = memory.learned(fresh, plan, p) if is_due else memory.sums
        table = collected(predictions(blocks, plan, sums))
        relevance, prior = (table[name].to_numpy() for name in ("score", "prior"))
        if is_due:
            panel = memory.next_panel(relevance, p)
            before = panel_relevances(blocks, plan, panel)
            memory = memory.after_review(sums, panel, before, fresh.n_rows, p)
        if table.num_rows:
            scores = Prediction(relevance, prior[0]).scores(plan.score_func)
            table = table.set_column(2, "score", pa.array(scores))
        summary = self._summary(memory, p, {"row": n_rows, "batch": saved.batch + 1})
        return Predicted(saved.batch, memory, table.drop_columns("prior"), summary)

    def _summary(self, memory: StreamMemory, n_features: int, ticks: dict[str, int]) -> Memory:
        bank = self._plan.bank()
        unit = {"row": "rows", "batch": "batches"}.get(self._clock, "")
        if bank._fading == "duration":
            unit = "seconds"
        n_ticks = ticks.get(self._clock, math.inf)
        n_best = memory.n_best(n_features)
        return Memory.of(memory.sums, n_best, bank.half_lives, n_ticks, unit)


def write_summary(spark: SparkSession, memory: Memory, folder: str) -> None:
    """Write a memory as a table with one row: its text, and its attributes."""
    import pyarrow as pa

    row = {"text": str(memory), **asdict(memory)}
    table = pa.table({name: [value] for name, value in row.items()})
    spark.createDataFrame(table).write.mode("overwrite").parquet(folder)
