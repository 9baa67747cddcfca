"""Screening Spark DataFrames: ``screen`` for those at rest, ``screen_stream`` for streams.

The workers need driftsieve, as they need pyspark; nothing of either is shipped to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack

from driftsieve.bank import Bank, ClockName
from driftsieve.distributed.plan import Options, Plan, clock_of
from driftsieve.distributed.spark_blocks import (
    check_order,
    collected,
    merged_bank,
    pieces,
    ranking,
    scores,
)
from driftsieve.distributed.spark_rows import Roles, check_frame
from driftsieve.distributed.spark_stream import screen_stream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["screen", "screen_stream"]


def screen(
    df: DataFrame,
    *,
    target: str,
    features: str | Sequence[str] | None = None,
    sample_weight: str | None = None,
    time: str | None = None,
    order: str | Sequence[str] | None = None,
    clock: ClockName | None = None,
    as_bank: bool = False,
    **options: Unpack[Options],
) -> DataFrame | Bank:
    """Score the features of a Spark DataFrame.

    The result is that of one ``Bank`` fed with all rows: the same while nothing is pruned, within
    its guarantee after, however the rows are partitioned and whichever executor is lost on the way.
    The work is done when this returns: bad input raises here, with the message of the core.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        Rows at rest; ``screen_stream`` takes a stream.
    target : str
        Column of the labels: integers, booleans or strings.
    features : str or list of str, optional
        Numeric columns, or one vector column (``pyspark.ml.linalg``, dense, sparse or mixed). By
        default all numeric columns that have no other part. A null is a missing value.
    sample_weight, time : str, optional
        Columns of the weights and the times (numbers, dates or timestamps) of the rows.
    order : str or list of str, optional
        Columns that number the rows for ``clock="sample"`` where rows fade; equal ones are
        numbered in any order.
    clock : {"sample", "time"}, optional
        "time" by default if ``time`` is given, otherwise "sample".
    as_bank : bool
        Return the merged bank of all features, with moments and quantiles, instead of the scores.
        It goes through one task and to the driver: for what fits there.
    **options
        ``score``, ``n_bins``, ``epsilon``, ``alpha``, ``half_life`` and ``missing``: as they are in
        ``FeatureScreener``, defaults included. ``block_size``, 1024 by default: the features that
        are merged and scored in one piece.

    Returns
    -------
    pyspark.sql.DataFrame or Bank
        Columns feature (name; index in a vector), score, pvalue (null where the score has none) and
        rank; one row a feature.
    """
    check_frame(df, streaming=False)
    clock = clock_of(clock, time, "time")
    if clock == "batch":
        raise ValueError(
            'clock="batch" counts micro-batches, and a DataFrame at rest has none: use '
            'screen_stream, or clock="time" with the number of the batch as time.'
        )
    plan = Plan.of(clock, **options, whole_bank=as_bank)
    roles = Roles.of(df, target, features, sample_weight, time, order)
    check_order(roles, plan)
    parts = pieces(df, roles, plan)
    with roles.batches(df):
        if as_bank:
            return merged_bank(parts, plan)
        table = collected(scores(parts, plan))
    if not table.num_rows:
        plan.scores(plan.bank())  # no rows: raises what the core says of that
    return ranking(df.sparkSession, table, roles, plan)
