"""Screening of Spark DataFrames: ``screen`` for static ones, ``screen_stream`` for streams.

The workers need driftsieve and pyspark; neither is shipped to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack

from driftsieve.bank import Bank, ClockName
from driftsieve.distributed.plan import Plan, ScreenOptions, clock_of
from driftsieve.distributed.spark_blocks import (
    block_scores,
    check_order,
    collected,
    merged_bank,
    pieces,
    ranking,
)
from driftsieve.distributed.spark_rows import SparkRoles, check_frame
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
    **options: Unpack[ScreenOptions],
) -> DataFrame | Bank:
    """Score the features of a static Spark DataFrame.

    The result equals that of one ``Bank`` with all rows while nothing is pruned, and is within its
    guarantee otherwise. It does not depend on the partitions or on lost executors. The scores are
    computed when this returns: invalid input raises here.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        A static DataFrame; ``screen_stream`` takes a stream.
    target : str
        Column of the labels: integers, booleans or strings.
    features : str or list of str, optional
        Numeric columns, or one vector column (``pyspark.ml.linalg``, dense, sparse or mixed).
        Default: all numeric columns without another role. A null is a missing value; a null vector
        is one for all of its features.
    sample_weight, time : str, optional
        Columns of the weights and the times (numbers, dates or timestamps) of the rows.
    order : str or list of str, optional
        Columns that define the order of the rows, for fading with ``clock="row"``. Ties are ordered
        arbitrarily.
    clock : {"row", "time"}, optional
        Default: "time" if ``time`` is given, otherwise "row".
    as_bank : bool
        Return the merged bank of all features, with moments and quantiles, instead of the scores.
        The bank must fit into one task and into the driver.
    **options
        ``score_func``, ``n_bins``, ``epsilon``, ``decay``, ``half_life`` and ``missing``: as in
        ``FeatureScreener``, with the same defaults. ``block_size``: number of features that are
        merged and scored together, 1024 by default.

    Returns
    -------
    pyspark.sql.DataFrame or Bank
        One row per feature with the columns feature (name, or index in a vector), score, pvalue
        (null if the score has none) and rank. With several half-lives there are that many rows per
        feature, and the first column is half_life.

    Raises
    ------
    TypeError
        If ``df`` or a column has another type.
    ValueError
        If a parameter, a column or a row is not valid.

    See Also
    --------
    screen_stream : The same for streams.
    driftsieve.distributed.dask.screen : The same for dask.
    driftsieve.distributed.spark_ml.DriftScreener : A stage of spark.ml pipelines.
    """
    check_frame(df, streaming=False)
    clock = clock_of(clock, time, "time")
    if clock == "batch":
        raise ValueError(
            'clock must be "row" or "time" for a static DataFrame, got "batch". Use '
            'screen_stream, or clock="time" with the number of the batch as time.'
        )
    plan = Plan.of(clock, **options, whole_bank=as_bank)
    roles = SparkRoles.of(df, target, features, sample_weight, time, order)
    check_order(roles, plan)
    if plan.settings["missing"] == "ignore":
        roles = roles.with_width(df)
    parts = pieces(df, roles, plan)
    with roles.batches(df):
        if as_bank:
            return merged_bank(parts, plan)
        table = collected(block_scores(parts, plan))
    if not table.num_rows:
        plan.scores(plan.bank())  # no rows: raises the error of the core
    return ranking(df.sparkSession, table, roles, plan)
