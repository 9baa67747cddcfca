"""Roles of the columns of a Spark DataFrame, and their conversion from Arrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from driftsieve._rows.labels import LARGE_LABEL
from driftsieve.batch import Batch, Missing
from driftsieve.distributed.spark_vectors import VECTOR, matrix_of_vectors

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

BATCH_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"
BATCH_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
BATCH_VALUES = 1 << 18
"""Values per batch of Spark: few enough to stay in the cache of a processor."""


@dataclass(frozen=True)
class SparkRoles:
    """The columns of a screen. ``SparkRoles.of`` validates them against the schema."""

    target: str
    features: tuple[str, ...] | None
    """Numeric columns; None for the vector column."""
    vector: str | None
    sample_weight: str | None
    time: str | None
    order: tuple[str, ...]
    single: bool
    """All features are float32, and stay so."""
    width: int | None = None
    """The size of the vectors, where null vectors are missing values."""

    @classmethod
    def of(
        cls,
        df: DataFrame,
        target: str,
        features: str | Sequence[str] | None,
        sample_weight: str | None = None,
        time: str | None = None,
        order: str | Sequence[str] | None = None,
    ) -> SparkRoles:
        """Return the roles of the columns of a DataFrame; raise an error if they are not valid."""
        from pyspark.ml.linalg import VectorUDT
        from pyspark.sql import types as T  # noqa: N812 - the usual alias

        numeric = (T.NumericType, T.BooleanType)
        orders = (order,) if isinstance(order, str) else tuple(order or ())
        types = {field.name: field.dataType for field in df.schema.fields}
        if features is None:
            others = {target, sample_weight, time, *orders}
            features = [
                name
                for name, kind in types.items()
                if isinstance(kind, numeric) and name not in others
            ]
            if not features:
                raise ValueError(
                    "df must have numeric columns without another role, got none. Pass features."
                )
        names = [features] if isinstance(features, str) else list(features)
        if not names:
            raise ValueError("features must name at least one column, got none.")
        asked = [("target", target), ("sample_weight", sample_weight), ("time", time)]
        asked += [("order", name) for name in orders] + [("features", name) for name in names]
        for argument, name in asked:
            if name is not None and name not in types:
                raise ValueError(
                    f"{argument} must be a column of df, got {name!r}. The columns are "
                    f"{', '.join(types)}."
                )
        if len(names) == 1 and isinstance(types[names[0]], VectorUDT):
            vector, columns = names[0], None
        else:
            vector, columns = None, tuple(names)
            for name in names:
                if not isinstance(types[name], numeric):
                    raise TypeError(
                        "features must be numeric columns, or one vector column of "
                        f"pyspark.ml.linalg, got {name!r} of type {types[name].simpleString()}."
                    )
        label = (T.NumericType, T.BooleanType, T.StringType)
        if not isinstance(types[target], label):
            raise TypeError(
                "target must be a column of integers, booleans or strings, got "
                f"{target!r} of type {types[target].simpleString()}."
            )
        moment = (T.NumericType, T.DateType, T.TimestampType, T.TimestampNTZType)
        for argument, name, kinds in (
            ("sample_weight", sample_weight, numeric),
            ("time", time, moment),
        ):
            if name is not None and not isinstance(types[name], kinds):
                raise TypeError(
                    f"{argument} must be a column of numbers{' or times' * (kinds is moment)}, "
                    f"got {name!r} of type {types[name].simpleString()}."
                )
        single = bool(columns) and all(types[name] == T.FloatType() for name in columns or ())
        return cls(target, columns, vector, sample_weight, time, orders, single)

    def with_width(self, df: DataFrame, known: int | None = None) -> SparkRoles:
        """Return the roles with the size of the vectors, ``known`` or read from a row of ``df``.

        A partition of null vectors needs it. It is None if all vectors are null.
        """
        if self.vector is None or not df.schema[self.vector].nullable:
            return self
        if known is None:
            from pyspark.sql import functions as F  # noqa: N812 - the usual alias

            vector = F.unwrap_udt(F.col(quoted(self.vector)))
            size = F.coalesce(vector.getField("size"), F.size(vector.getField("values")))
            found = df.where(vector.isNotNull()).select(size).first()
            known = None if found is None else found[0]
        return replace(self, width=known)

    def select(self, df: DataFrame) -> DataFrame:
        """Select the columns y, and w and t if used, and the features.

        The features are one array x per row, or the four fields of a vector. One array of p values
        is much cheaper for Arrow than p columns, and has the layout of the matrix. The fields of a
        vector cost a third of what they cost inside their structure.
        """
        from pyspark.sql import functions as F  # noqa: N812 - the usual alias

        def column(name: str) -> Column:
            return F.col(quoted(name))

        picked = [column(self.target).alias("y")]
        if self.features is None:
            vector = F.unwrap_udt(column(self.vector or ""))
            fields = {name: vector.getField(name) for name in VECTOR}
            # After each null array, Arrow visits all rows of a batch again.
            fields["indices"] = F.coalesce(fields["indices"], F.expr("cast(array() AS array<int>)"))
            picked += [field.alias(name) for name, field in fields.items()]
        else:
            kind = "float" if self.single else "double"
            # One expression as text: a JVM call for each of many columns would take seconds.
            values = ", ".join(f"cast({quoted(name)} AS {kind})" for name in self.features)
            picked.append(F.expr(f"array({values})").alias("x"))
        if self.sample_weight is not None:
            picked.append(column(self.sample_weight).cast("double").alias("w"))
        if self.time is not None:
            picked.append(_plain(df, self.time, column(self.time)).alias("t"))
        return df.select(*picked)

    @contextmanager
    def batches(self, df: DataFrame) -> Iterator[None]:
        """Set the batch size of jobs that this thread starts in the block.

        If the session sets a size, Spark uses that one.
        """
        context = getattr(df.sparkSession, "sparkContext", None)
        if context is None:  # Spark Connect
            yield
            return
        if self.features is None:  # the width of vectors is unknown before they are read
            setting, size = BATCH_BYTES, 8 * BATCH_VALUES
        else:
            setting, size = BATCH_ROWS, max(64, BATCH_VALUES // len(self.features))
        before = context.getLocalProperty(setting)
        context.setLocalProperty(setting, str(size))
        try:
            yield
        finally:
            context.setLocalProperty(setting, before)

    def slices(self, record: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Yield parts of a record batch that stay small when null vectors become NaN."""
        if self.width is None or not record.column("type").null_count:
            yield record
            return
        size = max(1, BATCH_VALUES // max(1, self.width))
        for begin in range(0, record.num_rows, size):
            yield record.slice(begin, size)

    def batch(self, record: pa.RecordBatch, missing: Missing) -> Batch:
        """Return the rows of a record batch of ``select``."""
        given = dict(zip(record.schema.names, record.columns, strict=True))
        if self.features is None:
            X = matrix_of_vectors([given[name] for name in VECTOR], self.width, missing)
        else:
            X = _numpy(given["x"].flatten()).reshape(record.num_rows, -1)
        return Batch.of(
            X,
            _labels(given["y"]),
            sample_weight=_numpy(given["w"]) if "w" in given else None,
            time=_numpy(given["t"]) if "t" in given else None,
            missing=missing,
            feature_names=self.features,
        )


def quoted(name: str) -> str:
    """Return a column's name for Spark's expressions, in which dots have a meaning."""
    return "`" + name.replace("`", "``") + "`"


def _plain(df: DataFrame, name: str, column: Column) -> Column:
    from pyspark.sql import types as T  # noqa: N812 - the usual alias

    decimal = isinstance(df.schema[name].dataType, T.DecimalType)
    return column.cast("double") if decimal else column


def _labels(array: pa.Array) -> NDArray[Any]:
    """Return labels, with integral decimals as integers with all their digits."""
    import pyarrow as pa

    if not pa.types.is_decimal(array.type):
        return _numpy(array)
    try:
        return _numpy(array.cast(pa.int64()))
    except pa.ArrowInvalid:
        numbers = _numpy(array.cast(pa.float64()))
        if (np.abs(numbers) >= 2**53).any():
            raise ValueError(LARGE_LABEL) from None
        return numbers


def _numpy(array: pa.Array) -> NDArray[Any]:
    """Return an array, without a copy if there are no nulls; null numbers become NaN."""
    return np.asarray(array.to_numpy(zero_copy_only=False))


def check_frame(df: Any, *, streaming: bool) -> None:
    """Raise TypeError or ValueError unless this is a static or a streaming Spark DataFrame."""
    try:
        from pyspark.sql import DataFrame
    except ImportError as problem:
        message = 'Screening Spark DataFrames needs pyspark: pip install "driftsieve[spark]"'
        raise ImportError(message, name="pyspark") from problem
    if not isinstance(df, DataFrame):
        raise TypeError(f"df must be a Spark DataFrame, got {type(df).__name__}.")
    if df.isStreaming != streaming:
        wanted, other = ("screen", "screen_stream")[:: -1 if streaming else 1]
        raise ValueError(
            f"df must be a {'stream' if streaming else 'static DataFrame'} for {wanted}, got a "
            f"{'static DataFrame' if streaming else 'stream'}. Use {other}."
        )
