"""Screening Spark streams: every micro-batch is folded into a stored state exactly once."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack

from driftsieve.bank import ClockName
from driftsieve.distributed.plan import Options, Plan, clock_of
from driftsieve.distributed.spark_blocks import (
    blocks,
    check_order,
    collected,
    core_errors,
    pieces,
    ranking,
    scores,
)
from driftsieve.distributed.spark_rows import Roles, check_frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
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
    trigger: dict[str, Any] | None = None,
    **options: Unpack[Options],
) -> StreamingQuery:
    """Start a query that keeps the ranking of the features of a stream up to date.

    Each micro-batch counts exactly once: killed at any moment and started again with the same
    ``checkpoint``, the rankings are those of a query that was never killed.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        A stream, from a source that can be replayed (files, Kafka and most others).
    target, features, sample_weight, time
        As for ``screen``.
    checkpoint : str or path
        A folder that outlives the query, on any file system of Spark: it holds Spark's own
        checkpoint and the state, in two copies by turns.
    sink : str, path or callable
        What becomes of the rankings, DataFrames as ``screen`` gives them: the folder to write them
        to as Parquet, under ``batch=0``, ``batch=1``, ...; or ``sink(ranking, batch)``, which may
        be called twice for a micro-batch if the query is killed. There is a ranking once two
        classes have been seen.
    order : str or list of str, optional
        Columns that number the rows of a micro-batch for ``clock="sample"`` where rows fade; those
        of the next one come after them.
    clock : {"sample", "batch", "time"}, optional
        "time" by default if ``time`` is given, otherwise "sample". With "batch" every micro-batch
        is one tick.
    trigger : dict, optional
        As for ``DataStreamWriter.trigger``: ``{"processingTime": "1 minute"}``, say.
    **options
        As for ``screen``. Those that shape the state (all but ``n_bins`` and the choice among
        scores that need the same) cannot change from one start to the next.

    Returns
    -------
    pyspark.sql.streaming.StreamingQuery
        Running; bad input ends it, with the message of the core in its exception.
    """
    check_frame(df, streaming=True)
    clock = clock_of(clock, time, "time")
    # Tasks see parts of a micro-batch, and all of its rows share one tick: that is a time.
    plan = Plan.of("time" if clock == "batch" else clock, **options)
    roles = Roles.of(df, target, features, sample_weight, time, order)
    check_order(roles, plan)
    write = sink if callable(sink) else _parquet_sink(_folder(sink))
    home = _folder(checkpoint)
    state = _State(df.sparkSession, f"{home}/state", plan)

    def fold(batch: DataFrame, number: int) -> None:
        mine = roles
        if clock == "batch":
            from pyspark.sql.functions import lit

            batch, mine = batch.withColumn(TICK, lit(float(number))), replace(roles, time=TICK)
        with mine.batches(batch):
            state.fold(pieces(batch, mine, plan), number)
        if state.latest is not None:
            table = collected(scores(state.read(state.latest.slot), plan, early=True))
            if table.num_rows:
                write(ranking(batch.sparkSession, table, roles, plan), number)

    writer = df.writeStream.foreachBatch(fold)
    writer = writer.option("checkpointLocation", f"{home}/spark")
    return (writer if trigger is None else writer.trigger(**trigger)).start()


def _folder(path: str | os.PathLike[str]) -> str:
    return os.fspath(path).rstrip("/")


def _parquet_sink(folder: str) -> Callable[[DataFrame, int], None]:
    def write(ranking: DataFrame, batch: int) -> None:
        # Overwriting makes it the same whether a micro-batch is reported once or twice.
        ranking.coalesce(1).write.mode("overwrite").parquet(f"{folder}/batch={batch}")

    return write


@dataclass(frozen=True)
class _Saved:
    """A complete state: the slot it is in and the last micro-batch it has taken in."""

    slot: int
    batch: int


class _State:
    """The merged blocks after a micro-batch, one row a block, written by Spark itself.

    Two slots are used by turns: while one is written, the other holds the state before. A slot
    counts only if every block of one micro-batch is there, so a write that was cut short is as good
    as none, whatever the file system does.
    """

    def __init__(self, spark: SparkSession, folder: str, plan: Plan) -> None:
        self._spark, self._folder, self._plan = spark, folder, plan
        self._found = False  # any slot, be it without a row
        self.latest = max(
            filter(None, map(self._saved, (0, 1))), key=lambda s: s.batch, default=None
        )

    def fold(self, new: DataFrame, batch: int) -> None:
        """Take in the pieces of a micro-batch, unless they have been taken in before."""
        from pyspark.sql.functions import lit

        if self.latest is not None:
            if self.latest.batch == batch:
                return
            if self.latest.batch > batch:
                raise ValueError(
                    f"The state in {self._folder} has taken in micro-batch {self.latest.batch}, "
                    f"but the query is at {batch}: they do not belong together. Start with an "
                    "empty checkpoint folder."
                )
            new = self.read(self.latest.slot).unionByName(new)
        elif batch > 0 and not self._found:
            raise ValueError(
                f"The query is at micro-batch {batch}, but the state of those before is not in "
                f"{self._folder}: bring it back, or start with an empty checkpoint folder."
            )
        slot = batch % 2 if self.latest is None else 1 - self.latest.slot
        merged = blocks(new, self._plan).withColumns(
            {"batch": lit(batch), "block_size": lit(self._plan.block_size)}
        )
        with core_errors():
            merged.write.mode("overwrite").parquet(self._path(slot))
        self.latest = self._saved(slot)  # none if there has been no row yet

    def read(self, slot: int) -> DataFrame:
        """The blocks, as pieces."""
        saved = self._spark.read.parquet(self._path(slot))
        return saved.select("block", "part", "width", "bank")

    def _path(self, slot: int) -> str:
        return f"{self._folder}/{slot}"

    def _saved(self, slot: int) -> _Saved | None:
        from pyspark.errors import AnalysisException
        from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

        if not _is_there(self._spark, self._path(slot)):
            return None
        try:
            saved = self._spark.read.parquet(self._path(slot))
        except AnalysisException:  # nothing in it
            return None
        self._found = True
        found = saved.agg(
            F.count("*").alias("blocks"),
            F.max("width").alias("width"),
            F.max("block_size").alias("block_size"),
            F.min("batch").alias("oldest"),
            F.max("batch").alias("batch"),
        ).collect()[0]
        if not found.blocks:
            return None
        if found.block_size != self._plan.block_size:
            raise ValueError(
                f"The state in {self._folder} has blocks of {found.block_size} features, not of "
                f"{self._plan.block_size}: block_size cannot change."
            )
        n_blocks = max(1, -(-found.width // found.block_size))
        complete = found.blocks == n_blocks and found.oldest == found.batch
        return _Saved(slot, found.batch) if complete else None


def _is_there(spark: Any, folder: str) -> bool:
    """Whether there is such a folder; where Spark cannot be asked, reading will tell.

    Reading one that is not there puts stack traces into Spark's log.
    """
    java = getattr(spark, "_jvm", None)
    if java is None:  # Spark Connect
        return True
    path = java.org.apache.hadoop.fs.Path(folder)
    settings = spark._jsparkSession.sessionState().newHadoopConf()
    return bool(path.getFileSystem(settings).exists(path))
