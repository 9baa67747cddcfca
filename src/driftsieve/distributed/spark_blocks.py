"""Rows of a Spark DataFrame to banks, cut into blocks of features, merged block by block, scored.

    rows --mapInArrow--> pieces (block, part, width, bank)   one bank a task, cut
         --by block----> blocks (block, width, bank)         the shuffle; merged by order of part
         --mapInArrow--> scores (feature, score, pvalue)     only these go to the driver

No task holds the merged bank of more than one block.
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
from driftsieve.distributed.spark_rows import Roles, different_sizes, quoted
from driftsieve.scores import rank

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

PIECES = "block bigint, part bigint, width bigint, bank binary"
SCORES = "feature bigint, score double, pvalue double"

MESSAGE = 1 << 20
"""Bytes that a task gathers before it sends them to Spark: each message costs some milliseconds."""

Batches = Iterator["pa.RecordBatch"]


class Block(NamedTuple):
    """A merged block of features, of ``width`` that there are in all."""

    number: int
    width: int
    bank: Bank


def check_order(roles: Roles, plan: Plan) -> None:
    """ValueError where the number of a row matters and nothing says what it is."""
    if plan.fades_by_row and not roles.order:
        raise ValueError(
            'Fading with clock="sample" needs the order of the rows, which a DataFrame does not '
            "keep: pass order, the column (or columns) to number them by."
        )


def pieces(df: DataFrame, roles: Roles, plan: Plan) -> DataFrame:
    """The banks of all partitions, cut. Rows that fade by their number are sorted first: the
    partitions then follow one another, and so do their banks.
    """
    if plan.fades_by_row:
        df = df.sort(*map(quoted, roles.order))

    def task(batches: Batches) -> Batches:
        from pyspark import TaskContext

        context = TaskContext.get()
        part = 0 if context is None else context.partitionId()
        bank = plan.bank()
        for record in batches:
            with located(f"partition {part}", bank.n_rows):
                batch = roles.batch(record, plan.settings["missing"])
                if bank.n_rows and batch.n_features != bank.n_features:  # sparse ones could grow
                    raise ValueError(different_sizes(bank.n_features, batch.n_features))
                bank.update_batch(batch)
        if bank.n_rows:
            for block, cut in plan.cuts(bank):
                yield _record(block, part, bank.n_features, cut)

    return roles.select(df).mapInArrow(_telling(task), PIECES)


def blocks(pieces: DataFrame, plan: Plan) -> DataFrame:
    """One row a block, merged; as pieces again, so that others can be added to them."""

    def task(batches: Batches) -> Batches:
        for number, width, bank in _merged(batches, plan):
            yield _record(number, -1, width, bank)

    return _by_block(pieces).mapInArrow(_telling(task), PIECES)


def scores(pieces: DataFrame, plan: Plan, *, early: bool = False) -> DataFrame:
    """The pieces merged block by block and scored, one row a feature. ``early`` in a stream there
    may be one class only, which is an error later: then there are no scores.
    """

    def task(batches: Batches) -> Batches:
        import pyarrow as pa

        for number, _, bank in _merged(batches, plan):
            if early and (bank.freeze(features=slice(0)).class_weight > 0).sum() < 2:
                continue
            first, score, pvalue = plan.scores(bank, number * plan.block_size)
            feature = np.arange(first, first + len(score))
            none = pa.nulls(len(score), pa.float64())
            arrays = [feature, score, none if pvalue is None else pvalue]
            yield pa.RecordBatch.from_arrays(
                list(map(pa.array, arrays)), ["feature", "score", "pvalue"]
            )

    return _by_block(pieces).mapInArrow(_telling(task), SCORES)


def collected(scores: DataFrame) -> pa.Table:
    """The scores on the driver, in the order of the features."""
    with core_errors():
        return scores.toArrow().sort_by("feature")


def ranking(spark: SparkSession, table: pa.Table, roles: Roles, plan: Plan) -> DataFrame:
    """Feature, score, pvalue and rank, as a DataFrame."""
    import pyarrow as pa

    if roles.features is not None:
        table = table.set_column(0, "feature", pa.array(roles.features))
    ranks = rank(table["score"].to_numpy(), plan.larger_is_better)
    return spark.createDataFrame(table.append_column("rank", pa.array(ranks)))


def merged_bank(pieces: DataFrame, plan: Plan) -> Bank:
    """The whole bank, from the only block there is."""
    with core_errors():
        found = blocks(pieces, plan).select("bank").toArrow()["bank"].to_pylist()
    return Bank.from_bytes(found[0] if found else plan.bank().to_bytes())


def _by_block(pieces: DataFrame) -> DataFrame:
    return pieces.repartition("block").sortWithinPartitions("block", "part")


def _merged(batches: Batches, plan: Plan) -> Iterator[Block]:
    rows = (row for record in batches for row in record.to_pylist())
    for number, group in groupby(rows, key=itemgetter("block")):
        widths: set[int] = set()
        bank = plan.merged(_banks(group, widths))
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


def _gathered(records: Batches) -> Batches:
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


class Told(Exception):  # noqa: N818 - read by the caller as the error it carries
    """An error for the caller, on its way through Spark: its type and message as JSON."""


def _telling(task: Callable[[Batches], Batches]) -> Callable[[Batches], Batches]:
    def told(batches: Batches) -> Batches:
        try:
            yield from _gathered(task(batches))
        except (TypeError, ValueError) as error:
            kind = "TypeError" if isinstance(error, TypeError) else "ValueError"
            raise Told(json.dumps([kind, str(error)])) from error
        _keep_imports()

    return told


@cache
def _keep_imports() -> None:
    # Spark has a worker collect garbage after every task, which took longer than a small task:
    # nearly all that it went through are the modules imported, and those stay.
    gc.freeze()


@contextmanager
def core_errors() -> Iterator[None]:
    """Errors that a task told are raised as they were, without the stack of Java."""
    from pyspark.errors import PythonException

    try:
        yield
    except PythonException as error:
        found = re.search(rf"{Told.__name__}: (\[.*\])$", str(error), re.MULTILINE)
        if found is None:
            raise
        kind, message = json.loads(found[1])
        raise {"TypeError": TypeError, "ValueError": ValueError}[kind](message) from None
