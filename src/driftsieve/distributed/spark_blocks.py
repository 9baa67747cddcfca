"""From rows of a Spark DataFrame to banks, cut into blocks of features, merged and scored.

    rows --mapInArrow--> pieces (block, part, width, bank)   one bank per task, cut
         --by block----> blocks (block, width, bank)         the shuffle; merged by order of part
         --mapInArrow--> scores (feature, score, pvalue)     only these go to the driver

No task holds the merged bank of more than one block. Where a stream learns how long to remember,
the block FRESH has the rows since the last review, with the features that are compared.
"""

from __future__ import annotations

import gc
import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from driftsieve.bank import Bank
from driftsieve.distributed.plan import Plan, located
from driftsieve.distributed.spark_rows import SparkRoles, quoted
from driftsieve.distributed.spark_vectors import different_sizes
from driftsieve.memory.fresh import with_features
from driftsieve.memory.panel import Indices
from driftsieve.scores import rank

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

PIECES = "block bigint, part bigint, width bigint, bank binary"
SCORE_SCHEMA = "half_life double, feature bigint, score double, pvalue double"
FRESH = -1
"""The number of the block of the rows since the last review."""

MESSAGE = 1 << 20
"""Bytes that a task collects per message to Spark: each message costs some milliseconds."""

RecordBatches = Iterator["pa.RecordBatch"]


class Block(NamedTuple):
    """A merged block of features, and the number of all features, ``width``."""

    number: int
    width: int
    bank: Bank


def check_order(roles: SparkRoles, plan: Plan, *, streaming: bool = False) -> None:
    """Raise ValueError if the order of the rows matters and is not given."""
    if plan.fades_by_row and not roles.order:
        instead = ', or clock="batch" to fade by micro-batch' if streaming else ""
        raise ValueError(
            'order must be given for fading with clock="row", got None. A DataFrame has no order '
            f"of rows: pass the column (or columns) that define it{instead}."
        )


def pieces(df: DataFrame, roles: SparkRoles, plan: Plan, panel: Indices | None = None) -> DataFrame:
    """Return the banks of all partitions, cut into blocks.

    Rows that fade by their index are sorted first, so that partitions and their banks are in order.
    With a panel, the block FRESH has the same rows without fading and the features of the panel.
    """
    if plan.fades_by_row:
        df = df.sort(*map(quoted, roles.order))

    def task(batches: RecordBatches) -> RecordBatches:
        from pyspark import TaskContext

        context = TaskContext.get()
        part = 0 if context is None else context.partitionId()
        bank, fresh = plan.bank(), plan.fresh.bank()
        for record in (some for whole in batches for some in roles.slices(whole)):
            with located(f"partition {part}", bank.n_rows):
                batch = roles.batch(record, plan.settings["missing"])
                if bank.n_rows and batch.n_features != bank.n_features:  # sparse banks could grow
                    raise ValueError(different_sizes(bank.n_features, batch.n_features))
                bank.update(batch)
                if panel is not None:
                    fresh.update(with_features(batch, panel))
        if fresh.n_rows:
            yield _record(FRESH, part, bank.n_features, fresh)
        if bank.n_rows:
            for block, cut in plan.cuts(bank):
                yield _record(block, part, bank.n_features, cut)

    return roles.select(df).mapInArrow(passing_errors(task), PIECES)


def blocks(pieces: DataFrame, plan: Plan) -> DataFrame:
    """Merge the pieces of each block; return them as pieces, to which others can be added."""

    def task(batches: RecordBatches) -> RecordBatches:
        for number, width, bank in merged_blocks(batches, plan):
            yield _record(number, -1, width, bank)

    return by_block(pieces).mapInArrow(passing_errors(task), PIECES)


def block_scores(pieces: DataFrame, plan: Plan, *, early: bool = False) -> DataFrame:
    """Merge the pieces of each block and score them, one row per feature.

    A stream may begin with one class only. With ``early`` there are no scores then, instead of an
    error.
    """

    def task(batches: RecordBatches) -> RecordBatches:
        import pyarrow as pa

        for number, _, bank in merged_blocks(batches, plan):
            now = bank.snapshot(features=slice(0), half_life=bank.half_lives[-1])
            if early and (now.class_weight > 0).sum() < 2:
                continue
            for half_life, first, score, pvalue in plan.scores(bank, number * plan.block_size):
                columns = {
                    "half_life": np.full(len(score), half_life),
                    "feature": np.arange(first, first + len(score)),
                    "score": score,
                    "pvalue": pa.nulls(len(score), pa.float64()) if pvalue is None else pvalue,
                }
                yield pa.RecordBatch.from_pydict(columns)

    return by_block(pieces).mapInArrow(passing_errors(task), SCORE_SCHEMA)


def collected(scores: DataFrame) -> pa.Table:
    """Return the scores on the driver, in the order of the features."""
    with core_errors():
        by = [("half_life", "ascending"), ("feature", "ascending")]
        return scores.toArrow().sort_by(by)


def ranking(spark: SparkSession, table: pa.Table, roles: SparkRoles, plan: Plan) -> DataFrame:
    """Return feature, score, pvalue and rank as a DataFrame, and half_life if there are several."""
    import pyarrow as pa

    n_half_lives = len(table["half_life"].unique())
    if roles.features is not None:
        names = pa.array([*roles.features] * n_half_lives)
        table = table.set_column(1, "feature", names)
    scores = np.split(table["score"].to_numpy(), n_half_lives)
    ranks = np.concatenate([rank(each, plan.larger_is_better) for each in scores])
    table = table.append_column("rank", pa.array(ranks))
    return spark.createDataFrame(table if n_half_lives > 1 else table.drop_columns("half_life"))


def merged_bank(pieces: DataFrame, plan: Plan) -> Bank:
    """Return the whole bank from the only block."""
    with core_errors():
        found = blocks(pieces, plan).select("bank").toArrow()["bank"].to_pylist()
    return Bank.from_bytes(found[0] if found else plan.bank().to_bytes())


def by_block(pieces: DataFrame) -> DataFrame:
    """Bring the pieces of each block together, in order."""
    return pieces.repartition("block").sortWithinPartitions("block", "part")


def merged_blocks(batches: RecordBatches, plan: Plan) -> Iterator[Block]:
    """Merge pieces that come in the order of ``by_block``."""
    rows = (row for record in batches for row in record.to_pylist())
    for number, group in groupby(rows, key=itemgetter("block")):
        widths: set[int] = set()
        bank = (plan.fresh if number == FRESH else plan).merged(_banks(group, widths))
        yield Block(number, widths.pop(), bank)


def _banks(rows: Iterable[Any], widths: set[int]) -> Iterator[Bank]:
    for row in rows:
        widths.add(row["width"])
        if len(widths) > 1:
            raise ValueError(different_sizes(*sorted(widths)))
        yield Bank.from_bytes(row["bank"], n_threads=1)


def _record(block: int, part: int, width: int, bank: Bank) -> pa.RecordBatch:
    import pyarrow as pa

    return pa.RecordBatch.from_pydict(
        {"block": [block], "part": [part], "width": [width], "bank": [bank.to_bytes()]}
    )


def _gathered(records: RecordBatches) -> RecordBatches:
    import pyarrow as pa

    waiting: list[pa.RecordBatch] = []
    size = 0
    for record in records:
        waiting.append(record)
        size += record.nbytes
        if size >= MESSAGE:
            yield from pa.Table.from_batches(waiting).combine_chunks().to_batches()
            waiting, size = [], 0
    if waiting:
        yield from pa.Table.from_batches(waiting).combine_chunks().to_batches()


class TaskError(Exception):
    """An error of a task that is passed to the caller: its type and message as JSON."""


def passing_errors(
    task: Callable[[RecordBatches], RecordBatches],
) -> Callable[[RecordBatches], RecordBatches]:
    """Return a task whose errors ``core_errors`` can read."""

    def passing(batches: RecordBatches) -> RecordBatches:
        try:
            yield from _gathered(task(batches))
        except (TypeError, ValueError) as error:
            kind = "TypeError" if isinstance(error, TypeError) else "ValueError"
            raise TaskError(json.dumps([kind, str(error)])) from error
        _keep_imports()

    return passing


@cache
def _keep_imports() -> None:
    # Spark makes a worker collect garbage after every task, which takes longer than a small task.
    # Nearly all objects belong to imported modules, which stay.
    gc.freeze()


@contextmanager
def core_errors() -> Iterator[None]:
    """Raise errors of tasks with their own type and message, without the Java stack."""
    from pyspark.errors import PythonException

    try:
        yield
    except PythonException as error:
        found = re.search(rf"{TaskError.__name__}: (\[.*\])$", str(error), re.MULTILINE)
        if found is None:
            raise
        kind, message = json.loads(found[1])
        raise {"TypeError": TypeError, "ValueError": ValueError}[kind](message) from None
