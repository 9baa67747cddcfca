"""Screening of Spark streams: every micro-batch is added to a stored state exactly once."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

from driftsieve._state.settings import HalfLife, half_lives_of, is_auto
from driftsieve.bank import ClockName
from driftsieve.distributed.plan import Plan, ScreenOptions, clock_of
from driftsieve.distributed.spark_blocks import (
    block_scores,
    check_order,
    collected,
    pieces,
    ranking,
)
from driftsieve.distributed.spark_learner import StreamLearner, with_choices, write_summary
from driftsieve.distributed.spark_rows import SparkRoles, check_frame, quoted
from driftsieve.distributed.spark_state import StreamSchema, StreamState

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming import StreamingQuery

TICK = "driftsieve tick"


def screen_stream(
    df: DataFrame,
    *,
    target: str,
    checkpoint: str | os.PathLike[str],
    sink: str | os.PathLike[str] | Callable[[DataFrame, int], Any],
    features: str | Sequence[str] | None = None,
    sample_weight: str | None = None,
    time: str | None = None,
    order: str | Sequence[str] | None = None,
    clock: ClockName | None = None,
    choices: Sequence[HalfLife | None] | None = None,
    trigger: dict[str, Any] | None = None,
    **options: Unpack[ScreenOptions],
) -> StreamingQuery:
    """Start a query that keeps the ranking of the features of a stream up to date.

    Each micro-batch counts exactly once. A query that is killed at any moment and restarted with
    the same ``checkpoint`` gives the same rankings as one that was never killed.

    The state stores its columns and settings. A restart with different ones raises ValueError
    before the query starts. Features in another order are put back in the stored order.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        A stream, from a source that can be replayed (files, Kafka and most others).
    target, features, sample_weight, time
        As for ``screen``. Null vectors before the first vector of the stream do not count, because
        the number of features is not known yet.
    checkpoint : str or path
        A folder that outlives the query, on any file system of Spark. It contains Spark's own
        checkpoint and two alternating copies of the state.
    sink : str, path or callable
        Where rankings go, which are DataFrames like those of ``screen``: a folder for Parquet files
        under ``batch=0``, ``batch=1``, ...; or ``sink(ranking, batch)``, which may be called twice
        for a micro-batch if the query is killed. The first ranking comes after rows of two classes.
    order : str or list of str, optional
        Columns that define the order of the rows of a micro-batch, for fading with ``clock="row"``.
    clock : {"row", "batch", "time"}, optional
        Default: "time" if ``time`` is given, otherwise "row". With "batch" every micro-batch is one
        tick.
    choices : list of half-lives, optional
        Those to choose from with ``half_life="auto"``; None is never to forget. Required with
        ``clock="time"``. Default: eight half-lives, each twice the one before, from 250 rows or one
        micro-batch on, and no forgetting.
    trigger : dict, optional
        Arguments of ``DataStreamWriter.trigger``, such as ``{"processingTime": "1 minute"}``.
    **options
        As for ``screen``, and ``half_life="auto"``, which learns how long to remember: scores are
        the relevance that is predicted for the next rows, p-values are those of the best half-life,
        and ``checkpoint/memory`` is a table of what was learned, with a row for each ranking. At a
        restart, only ``n_bins`` can change, and ``score_func`` between "t" and "fisher", or among
        "mutual_info", "chi2" and "gini"; neither with "auto".

    Returns
    -------
    pyspark.sql.streaming.StreamingQuery
        The running query. Invalid input ends it, and its exception has the message.

    Raises
    ------
    TypeError
        If ``df`` or a column has another type.
    ValueError
        If a parameter is not valid, or differs from that of the stored state.

    See Also
    --------
    driftsieve.distributed.spark.screen : The same for static DataFrames.
    """
    check_frame(df, streaming=True)
    clock = clock_of(clock, time, "time")
    learns = is_auto(options.get("half_life"))
    options = with_choices(options, choices, clock)
    half_lives_of(options.get("decay"), options.get("half_life"), clock)
    # All rows of a micro-batch share one tick, but tasks see only parts of it: use it as a time.
    plan = replace(Plan.of("time" if clock == "batch" else clock, **options), learns=learns)
    roles = SparkRoles.of(df, target, features, sample_weight, time, order)
    check_order(roles, plan, streaming=True)
    write = sink if callable(sink) else _parquet_sink(_folder(sink))
    root = _folder(checkpoint)
    state = StreamState(df.sparkSession, f"{root}/state", plan, StreamSchema.of(roles, plan, clock))
    roles = state.schema.in_stored_order(roles)
    learner = StreamLearner(state, plan, clock) if learns else None

    def fold(batch: DataFrame, number: int) -> None:
        mine = roles
        if clock == "batch":
            from pyspark.sql.functions import lit

            batch, mine = batch.withColumn(TICK, lit(float(number))), replace(roles, time=TICK)
        if plan.settings["missing"] == "ignore" and roles.vector is not None:
            mine = mine.with_width(batch, state.width)
            if mine.width is None:  # no vector yet
                batch = batch.where(f"{quoted(roles.vector)} IS NOT NULL")
        memory = learner.memory if learner else None
        with mine.batches(batch):
            panel = None if memory is None else memory.panel
            state.fold(pieces(batch, mine, plan, panel), number, memory)
        if state.latest is None:
            return
        spark = batch.sparkSession
        known = learner.known(state.latest) if learner else None
        if known is None:
            table = collected(block_scores(state.read(state.latest.slot), plan, early=True))
        else:
            table = known.table
        if table.num_rows:
            if known is not None:
                write_summary(spark, known.summary, f"{root}/memory/batch={number}")
            write(ranking(spark, table, roles, plan), number)

    writer = df.writeStream.foreachBatch(fold)
    writer = writer.option("checkpointLocation", f"{root}/spark")
    return (writer if trigger is None else writer.trigger(**trigger)).start()


def _folder(path: str | os.PathLike[str]) -> str:
    return os.fspath(path).rstrip("/")


def _parquet_sink(folder: str) -> Callable[[DataFrame, int], None]:
    def write(ranking: DataFrame, batch: int) -> None:
        # Overwrite, because a micro-batch may be reported twice.
        ranking.coalesce(1).write.mode("overwrite").parquet(f"{folder}/batch={batch}")

    return write
