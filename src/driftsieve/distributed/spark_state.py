"""The stored state of a Spark stream, and the columns and settings it was built with."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from driftsieve._state.settings import AUTO, stored_half_life
from driftsieve.distributed.plan import Plan
from driftsieve.distributed.spark_blocks import FRESH, blocks, core_errors
from driftsieve.distributed.spark_memory import StreamMemory
from driftsieve.distributed.spark_rows import SparkRoles
from driftsieve.scores import SCORES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class StreamSchema:
    """The columns and settings that all rows of a state share. ``fields`` can be stored as JSON."""

    fields: dict[str, Any]

    @classmethod
    def of(cls, roles: SparkRoles, plan: Plan, clock: str) -> StreamSchema:
        """Return the schema of a stream."""
        bank = plan.bank()
        half_lives = stored_half_life(bank.half_lives)
        settings = {
            "half_life": half_lives if len(half_lives) > 1 else half_lives[0],
            "score_func": SCORES[plan.score_func].needs,
        }
        if plan.learns:  # a memory is learned for one score
            settings = {
                "half_life": AUTO,
                "score_func": plan.score_func,
                "choices": half_lives,
                "n_bins": plan.n_bins,
            }
        return cls(
            {
                "target": roles.target,
                "features": roles.vector if roles.features is None else list(roles.features),
                "sample_weight": roles.sample_weight,
                "time": roles.time,
                "order": list(roles.order),
                "clock": clock,
                "epsilon": bank.epsilon,
                "missing": bank.missing,
                "block_size": plan.block_size,
                **settings,
            }
        )

    def check(self, given: StreamSchema, folder: str) -> None:
        """Raise ValueError unless a stream of schema ``given`` can continue a state of this one.

        The order of the features may differ.
        """
        for name, stored in self.fields.items():
            new = given.fields[name]
            if name == "features" and isinstance(stored, list) and isinstance(new, list):
                _check_features(stored, new, folder)
            elif stored != new:
                raise ValueError(
                    f"{name} must be {_shown(name, stored)}, as in the state in {folder}, got "
                    f"{_shown(name, new)}. {_ADVICE}"
                )

    def in_stored_order(self, roles: SparkRoles) -> SparkRoles:
        """Return the roles with the features in the order of this schema."""
        if roles.features is None:
            return roles
        return replace(roles, features=tuple(self.fields["features"]))


_ADVICE = "Continue with the same columns and settings, or start with an empty checkpoint folder."


def _shown(name: str, value: Any) -> str:
    if name == "score_func":  # stored as the kind of sums it needs, which other scores may share
        return " or ".join(repr(s) for s, entry in SCORES.items() if value in (s, entry.needs))
    return ", ".join(map(repr, value)) or "None" if isinstance(value, list) else repr(value)


def _check_features(stored: list[str], given: list[str], folder: str) -> None:
    if sorted(stored) == sorted(given):
        return
    missing, new = (
        ", ".join(repr(name) for name in some if name not in set(others)) or "none"
        for some, others in ((stored, given), (given, stored))
    )
    raise ValueError(
        f"features must be the {len(stored)} columns of the state in {folder}, got {len(given)} "
        f"columns (missing: {missing}; new: {new}). {_ADVICE}"
    )


@dataclass(frozen=True)
class Saved:
    """A complete state: its slot and the last micro-batch in it."""

    slot: int
    batch: int
    width: int
    schema: StreamSchema
    memory: StreamMemory
    """That before the review of the micro-batch; empty where nothing is learned."""
    fresh: bytes
    """The bank of the rows since the last review."""


class StreamState:
    """The merged blocks after a micro-batch, one row per block, written by Spark.

    Two slots alternate: while one is written, the other has the previous state. A slot is valid
    only if it has every block of one micro-batch. So an interrupted write has no effect on any file
    system.
    """

    def __init__(self, spark: SparkSession, folder: str, plan: Plan, schema: StreamSchema) -> None:
        self._spark, self._folder, self._plan = spark, folder, plan
        self._found = False  # whether a slot exists, even without rows
        self.latest = max(
            filter(None, map(self._saved, (0, 1))), key=lambda s: s.batch, default=None
        )
        self.schema = schema
        if self.latest is not None:
            self.latest.schema.check(schema, folder)
            self.schema = self.latest.schema

    @property
    def width(self) -> int | None:
        """Number of features; None before the first row."""
        return None if self.latest is None else self.latest.width

    def fold(self, new: DataFrame, batch: int, memory: StreamMemory | None = None) -> None:
        """Add the pieces of a micro-batch, unless they were added before.

        ``memory`` is that after the review of the micro-batches before it.
        """
        from pyspark.sql.functions import col, lit, when

        if self.latest is not None:
            if self.latest.batch == batch:
                return
            if self.latest.batch > batch:
                raise ValueError(
                    f"The query must be after micro-batch {self.latest.batch}, the last in the "
                    f"state in {self._folder}, got {batch}. They do not belong together: start "
                    "with an empty checkpoint folder."
                )
            old = self.read(self.latest.slot)
            if memory is not None and memory.n_rows > self.latest.memory.n_rows:
                nothing = lit(bytearray(self._plan.fresh.bank().to_bytes()))
                bank = when(col("block") == FRESH, nothing).otherwise(col("bank"))
                old = old.withColumn("bank", bank)
            new = old.unionByName(new)
        elif batch > 0 and not self._found:
            raise ValueError(
                f"The state of the micro-batches before {batch} must be in {self._folder}, got "
                "none. Restore it, or start with an empty checkpoint folder."
            )
        slot = batch % 2 if self.latest is None else 1 - self.latest.slot
        others = {"batch": lit(batch), "schema": lit(json.dumps(self.schema.fields))}
        if memory is not None:
            others["memory"] = when(col("block") == FRESH, lit(bytearray(memory.to_bytes())))
        merged = blocks(new, self._plan).withColumns(others)
        with core_errors():
            merged.write.mode("overwrite").parquet(self._path(slot))
        self.latest = self._saved(slot)  # none if there has been no row yet

    def read(self, slot: int) -> DataFrame:
        """Return the blocks of a slot as pieces."""
        saved = self._spark.read.parquet(self._path(slot))
        return saved.select("block", "part", "width", "bank")

    def _path(self, slot: int) -> str:
        return f"{self._folder}/{slot}"

    def _saved(self, slot: int) -> Saved | None:
        from pyspark.errors import AnalysisException
        from pyspark.sql import functions as F  # noqa: N812 - the usual alias

        if not _is_there(self._spark, self._path(slot)):
            return None
        try:
            saved = self._spark.read.parquet(self._path(slot))
        except AnalysisException:  # nothing in it
            return None
        self._found = True
        if "schema" not in saved.columns:
            raise ValueError(
                f"The state in {self._folder} must have the columns it was built with, got none. "
                "Start with an empty checkpoint folder."
            )
        found = saved.agg(
            F.count("*").alias("blocks"),
            F.max("width").alias("width"),
            F.max("schema").alias("schema"),
            F.min("batch").alias("oldest"),
            F.max("batch").alias("batch"),
        ).collect()[0]
        if not found.blocks:
            return None
        schema = StreamSchema(json.loads(found.schema))
        learns = "memory" in saved.columns
        n_blocks = max(1, -(-found.width // schema.fields["block_size"])) + learns
        if found.blocks != n_blocks or found.oldest != found.batch:
            return None
        memory, fresh = StreamMemory.empty(0), b""
        if learns:
            row = saved.where(saved.block == FRESH).select("memory", "bank").collect()[0]
            memory, fresh = StreamMemory.from_bytes(row.memory), bytes(row.bank)
        return Saved(slot, found.batch, found.width, schema, memory, fresh)


def _is_there(spark: Any, folder: str) -> bool:
    """Return whether a folder exists, or True if Spark cannot find out.

    Reading a folder that does not exist writes stack traces to Spark's log.
    """
    java = getattr(spark, "_jvm", None)
    if java is None:  # Spark Connect
        return True
    path = java.org.apache.hadoop.fs.Path(folder)
    settings = spark._jsparkSession.sessionState().newHadoopConf()
    return bool(path.getFileSystem(settings).exists(path))
