"""The matrix and the names of a data frame of pandas, polars or pyarrow."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray


def as_frame(native: Any) -> Any:
    """Return a data frame of any library; raise ValueError if two columns have the same name."""
    try:
        return nw.from_native(native, eager_only=True)
    except DuplicateError:
        columns = getattr(native, "column_names", None) or list(native.columns)  # Arrow's first
        name, times = Counter(columns).most_common(1)[0]
        raise ValueError(
            f"Column names must differ, got {name!r} {times} times. Rename or drop columns."
        ) from None


def matrix_of_frame(native: Any) -> tuple[NDArray[Any], tuple[str, ...] | None]:
    """Return the matrix, and the names if they are strings."""
    frame = as_frame(native)
    for name in index_columns(native, frame.columns):
        raise ValueError(
            f"X must hold features only, got column {name!r}, the index of a pandas frame. Drop "
            "that column."
        )
    for name, series in zip(frame.columns, frame.iter_columns(), strict=True):
        if not (series.dtype.is_numeric() or series.dtype == nw.Boolean or has_no_type(series)):
            raise _not_numeric(name, series)
    if not frame.columns:
        return np.empty((len(frame), 0)), ()
    # pandas has other floats too (of Arrow, nullable), which become a matrix of objects
    kinds = set(native.dtypes if frame.implementation.is_pandas_like() else frame.schema.values())
    single = kinds in ({np.dtype("f4")}, {np.dtype("f8")}, {nw.Float32()}, {nw.Float64()})
    matrix = frame.to_numpy() if single else np.stack([*map(floats, frame.iter_columns())]).T
    return matrix, names_of_frame(frame.columns)


def _not_numeric(name: Any, series: nw.Series[Any]) -> TypeError:
    if hasattr(series.to_native(), "sparse"):
        return TypeError(
            f"Column {name!r} must be dense, got a sparse one. Pass X.sparse.to_coo() if all are, "
            "else X.astype(float)."
        )
    return TypeError(
        f"Column {name!r} must be numeric, got {type_name(series)}. Use driftsieve.as_batches, "
        "which makes one feature per category of text and categorical columns, and seconds of "
        "dates, or leave the column out."
    )


def type_name(series: nw.Series[Any]) -> str:
    """Return the type of a column, by its own name where narwhals has none."""
    if series.dtype != nw.Unknown:
        return str(series.dtype)
    native = series.to_native()
    return str(getattr(native, "type", None) or native.dtype)


def has_no_type(series: Any) -> bool:
    """Whether a column has no type, and so no values."""
    return bool(series.dtype == nw.Unknown and series.null_count() == len(series))


def names_of_frame(columns: Sequence[Any]) -> tuple[str, ...] | None:
    """Return the names of the features if they are strings, as in scikit-learn."""
    strings = [isinstance(name, str) for name in columns]
    if any(strings) and not all(strings):
        raise TypeError(
            "Feature names are only supported if all input features have string names, got "
            "names of several types. Convert them with X.columns = X.columns.astype(str)."
        )
    return tuple(columns) if all(strings) else None


def floats(series: nw.Series[Any]) -> NDArray[np.float64]:
    """Return the numbers of a series as float64, NaN for missing ones."""
    if has_no_type(series):
        return np.full(len(series), np.nan)
    if has_integers(series):
        return series.to_numpy().astype(np.float64)  # pyarrow raises if a number would be rounded
    return series.cast(nw.Float64).to_numpy()


def has_integers(series: nw.Series[Any]) -> bool:
    """Return whether a type is one of the integer types of numpy."""
    return series.dtype.is_integer() and series.dtype not in (nw.Int128, nw.UInt128)


def index_columns(native: Any, columns: Iterable[Any]) -> set[Any]:
    """Return the columns that hold the index of a pandas frame.

    Arrow tables keep the index as columns, which the metadata names. Other frames made of such
    tables or files have it under the default name of pandas.
    """
    index = {name for name in columns if str(name).startswith("__index_level_")}
    metadata = getattr(getattr(native, "schema", None), "metadata", None) or {}
    with suppress(ValueError, KeyError, TypeError):
        listed = json.loads(metadata[b"pandas"])["index_columns"]
        # otherwise the range of an index
        named = {name for name in listed if isinstance(name, str)}
        index |= named.intersection(columns)
    return index
