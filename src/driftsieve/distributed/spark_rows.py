"""Which columns of a Spark DataFrame are what, and how they come out of Arrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from driftsieve.batch import Batch, Matrix, Missing
from driftsieve.row_error import RowError
from driftsieve.sources.base import LARGE_LABEL

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

VECTOR = ("type", "size", "indices", "values")
"""The fields of a vector of pyspark.ml.linalg, as its VectorUDT stores them."""

BATCH_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"
BATCH_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
BATCH_VALUES = 1 << 18
"""Values that Spark hands over at a time: few enough to stay in a processor's cache on the way."""


@dataclass(frozen=True)
class Roles:
    """The columns to screen by. Made by ``Roles.of``, which checks them against the schema."""

    target: str
    features: tuple[str, ...] | None
    """Numeric columns; None for the vector column."""
    vector: str | None
    sample_weight: str | None
    time: str | None
    order: tuple[str, ...]
    single: bool
    """All features are float32, and stay so."""

    @classmethod
    def of(
        cls,
        df: DataFrame,
        target: str,
        features: str | Sequence[str] | None,
        sample_weight: str | None = None,
        time: str | None = None,
        order: str | Sequence[str] | None = None,
    ) -> Roles:
        from pyspark.ml.linalg import VectorUDT
        from pyspark.sql import types as T  # noqa: N812 - Spark's own habit

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
                raise ValueError("df has no numeric columns but those named: pass features.")
        names = [features] if isinstance(features, str) else list(features)
        if not names:
            raise ValueError("features names no column: pass at least one, or leave it out.")
        asked = [("target", target), ("sample_weight", sample_weight), ("time", time)]
        asked += [("order", name) for name in orders] + [("features", name) for name in names]
        for argument, name in asked:
            if name is not None and name not in types:
                raise ValueError(
                    f"df has no column {name!r}, which {argument} names; "
                    f"its columns are {', '.join(types)}."
                )
        if len(names) == 1 and isinstance(types[names[0]], VectorUDT):
            vector, columns = names[0], None
        else:
            vector, columns = None, tuple(names)
            for name in names:
                if not isinstance(types[name], numeric):
                    raise TypeError(
                        f"Column {name!r} is not numeric ({types[name].simpleString()}): features "
                        "must be numeric columns, or one vector column of pyspark.ml.linalg."
                    )
        label = (T.NumericType, T.BooleanType, T.StringType)
        if not isinstance(types[target], label):
            raise TypeError(
                "Labels must be integers, booleans or strings, got column "
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

    def select(self, df: DataFrame) -> DataFrame:
        """Columns y and, where they are used, w and t; the features as one array x a row, or as
        the four fields of a vector.

        One array of p values costs Arrow far less than p columns, and is the matrix as it lies;
        fields of a vector cost it a third of what they cost inside their structure.
        """
        from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

        def column(name: str) -> Column:
            return F.col(quoted(name))

        picked = [column(self.target).alias("y")]
        if self.features is None:
            vector = F.unwrap_udt(column(self.vector or ""))
            fields = {name: vector.getField(name) for name in VECTOR}
            # Where arrays are null, Arrow goes through all rows of a batch again after each.
            fields["indices"] = F.coalesce(fields["indices"], F.expr("cast(array() AS array<int>)"))
            picked += [field.alias(name) for name, field in fields.items()]
        else:
            kind = "float" if self.single else "double"
            # As text: a call into the JVM for each of many columns would take seconds.
            values = ", ".join(f"cast({quoted(name)} AS {kind})" for name in self.features)
            picked.append(F.expr(f"array({values})").alias("x"))
        if self.sample_weight is not None:
            picked.append(column(self.sample_weight).cast("double").alias("w"))
        if self.time is not None:
            picked.append(_plain(df, self.time, column(self.time)).alias("t"))
        return df.select(*picked)

    @contextmanager
    def batches(self, df: DataFrame) -> Iterator[None]:
        """Jobs that this thread starts within hand rows over in batches of a size that suits them.

        Where the session sets a size of its own, Spark uses that one.
        """
        context = getattr(df.sparkSession, "sparkContext", None)
        if context is None:  # Spark Connect
            yield
            return
        if self.features is None:  # how wide vectors are is not known before they are read
            setting, size = BATCH_BYTES, 8 * BATCH_VALUES
        else:
            setting, size = BATCH_ROWS, max(64, BATCH_VALUES // len(self.features))
        before = context.getLocalProperty(setting)
        context.setLocalProperty(setting, str(size))
        try:
            yield
        finally:
            context.setLocalProperty(setting, before)

    def batch(self, record: pa.RecordBatch, missing: Missing) -> Batch:
        """The rows of a record batch of ``select``."""
        given = dict(zip(record.schema.names, record.columns, strict=True))
        if self.features is None:
            X = _vectors(*(given[name] for name in VECTOR))
        else:
            X = _numpy(given["x"].flatten()).reshape(record.num_rows, -1)
        return Batch.of(
            X,
            _labels(given["y"]),
            sample_weight=_numpy(given["w"]) if "w" in given else None,
            t=_numpy(given["t"]) if "t" in given else None,
            missing=missing,
            feature_names=self.features,
        )


def quoted(name: str) -> str:
    """A column's name as Spark's expressions want it: dots and the like are part of it."""
    return "`" + name.replace("`", "``") + "`"


def different_sizes(one: int, other: int) -> str:
    """What is wrong with vectors of two sizes."""
    return f"The vectors of a column must have one size, got {one} and {other}."


def _plain(df: DataFrame, name: str, column: Column) -> Column:
    from pyspark.sql import types as T  # noqa: N812 - Spark's own habit

    decimal = isinstance(df.schema[name].dataType, T.DecimalType)
    return column.cast("double") if decimal else column


def _labels(array: pa.Array) -> NDArray[Any]:
    """Whole decimals as integers, with all their digits."""
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
    """Without a copy where there are no nulls; those of numbers become NaN."""
    return np.asarray(array.to_numpy(zero_copy_only=False))


def _vectors(kind: pa.Array, size: pa.Array, indices: pa.Array, values: pa.Array) -> Matrix:
    """Dense if all rows are; otherwise CSR, whatever the mixture. No value is copied."""
    if kind.null_count:
        row = int(np.argmax(kind.is_null().to_numpy(zero_copy_only=False)))
        raise RowError("Input X contains a null vector", row)
    dense = kind.to_numpy() == 1
    lengths = values.value_lengths().to_numpy()
    sizes = np.where(dense, lengths, size.fill_null(0).to_numpy())
    width = int(sizes[0]) if len(sizes) else 0
    if (sizes != width).any():
        row = int(np.argmax(sizes != width))
        raise ValueError(different_sizes(width, int(sizes[row])))
    if len(sizes) and not width:
        raise ValueError("The vectors have size 0: there are no features to screen.")
    data = values.flatten().to_numpy()
    if dense.all():
        return data.reshape(len(kind), width)
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    columns = indices.flatten().to_numpy()
    if dense.any():
        place = np.arange(len(data)) - np.repeat(indptr[:-1], lengths)
        place[np.repeat(~dense, lengths)] = columns
        columns = place
    return sparse.csr_array((data, columns, indptr), shape=(len(kind), width))


def check_frame(df: Any, *, streaming: bool) -> None:
    """TypeError or ValueError unless this is a Spark DataFrame, at rest or streaming as asked."""
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
            f"df is {'at rest' if streaming else 'a stream'}, and {wanted} takes "
            f"{'streams' if streaming else 'DataFrames at rest'}: use {other}."
        )
