"""Data frames in memory (pandas, polars, pyarrow), and their columns for all tabular files."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping
from dataclasses import replace
from datetime import date
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from driftsieve._arguments import arg
from driftsieve._rows.frames import (
    as_frame,
    floats,
    has_integers,
    has_no_type,
    index_columns,
    names_of_frame,
    type_name,
)
from driftsieve._rows.vectors import seconds_of
from driftsieve.exceptions import SourceError
from driftsieve.sources.base import Options, Rows
from driftsieve.sources.encoding.numbers import Numbers, note_numbers
from driftsieve.sources.encoding.tables import (
    Roles,
    Table,
    TableEncoder,
    Values,
    category,
    check_unique,
)
from driftsieve.sources.memory.arrays import arrays_of


class FrameReader:
    """Reader of a frame by slices; target, time and weight are arrays or columns of it.

    Features have names if ``Bank.update`` would give them names, or if categories need them.
    """

    def __init__(self, native: Any, options: Options) -> None:
        self._frame = as_frame(without_index(native, options))
        columns = {name: str(name) for name in self._frame.columns}
        check_unique(list(columns.values()))
        options = _as_text(options, columns)
        self._arrays = arrays_of(options, len(self._frame))
        no_columns: dict[str, Any] = dict.fromkeys(self._arrays)
        options = replace(options, **no_columns)
        self._batch_size = options.batch_size
        self._encoder = TableEncoder(options, has_labels="target" in self._arrays)
        self._roles = self._encoder.roles(list(columns.values()))
        self._numbers = {  # of any type, or without values
            str(name)
            for name, series in zip(columns, self._frame.iter_columns(), strict=True)
            if str(name) not in self._roles.categorical
            and series.dtype == nw.Object
            and not any(isinstance(v, str) for v in series.to_list())
        }
        features = [name for name in columns if columns[name] not in self._roles.no_features]
        self._has_names = names_of_frame(features) is not None

    @property
    def columns(self) -> dict[str, str]:
        return self._encoder.kinds

    def read(self) -> Iterator[Rows]:
        for start in range(0, len(self._frame), self._batch_size):
            rows = slice(start, start + self._batch_size)
            part = self._frame[rows]
            arrays = {role: values[rows] for role, values in self._arrays.items()}
            table = {
                name: np.full(len(part), np.nan)  # no values in this part
                if name in self._numbers and not isinstance(values, np.ndarray)
                else values
                for name, values in table_of(part, self._roles).items()
            }
            note_texts(part, table, self._encoder)
            encoded = self._encoder.encode(table, len(part), arrays)
            if not (self._has_names or sparse.issparse(encoded.X)):
                encoded = encoded._replace(names=None)
            done = Rows(len(part), encoded)
            done.leave_out(self._encoder.unusable(table, encoded))
            yield done


def without_index(native: Any, options: Options) -> Any:
    """Return the table without the index of a pandas frame, unless an option names it."""
    columns = as_frame(native).columns
    named = (*options.roles.values(), *options.categorical, *options.drop)
    used = {name for name in named if isinstance(name, str)}
    index = index_columns(native, columns) - used
    kept = [name for name in columns if name not in index]
    if len(kept) == len(columns):
        return native
    return as_frame(native).select(kept).to_native()


def _as_text(options: Options, columns: Mapping[Any, str]) -> Options:
    """Return the options with names of columns as text, because pandas allows any object."""

    def text(wanted: Any) -> Any:
        is_name = isinstance(wanted, str | Real | tuple) and wanted in columns
        return columns[wanted] if is_name else wanted

    return replace(
        options,
        target=text(options.target),
        time=text(options.time),
        sample_weight=text(options.sample_weight),
        categorical=tuple(map(text, options.categorical)),
        drop=tuple(map(text, options.drop)),
    )


def table_of(frame: nw.DataFrame[Any], roles: Roles, texts: Collection[str] = ()) -> Table:
    """Return the columns that are not dropped, each as numbers or as text.

    A column without a type and values is text if it is in ``texts``.
    """
    columns = zip(map(str, frame.columns), frame.iter_columns(), strict=True)
    return {
        name: [None] * len(series)
        if name in texts and has_no_type(series)
        else _usable(series, name, roles)
        for name, series in columns
        if name not in roles.drop
    }


def note_texts(frame: nw.DataFrame[Any], table: Table, encoder: TableEncoder) -> None:
    """Warn of text columns whose values are all numbers in the first table of a stream."""
    if encoder.kinds:  # not the first table
        return
    roles, numbers = encoder.roles(list(table)), Numbers()
    columns = zip(map(str, frame.columns), frame.iter_columns(), strict=True)
    kinds = {name: series.dtype for name, series in columns}
    for name, values in table.items():
        is_text = kinds[name] in (nw.String, nw.Object) and not isinstance(values, np.ndarray)
        if is_text and name not in roles.no_features | roles.categorical:
            known = {value for value in values if value is not None}
            if known and all(map(numbers.is_number, known)):
                note_numbers("column", name, min(known))


def _usable(series: Any, name: str, roles: Roles) -> Values:
    try:
        return _values(series, name, roles)
    except SourceError:
        raise
    except (ValueError, TypeError, ArithmeticError, NotImplementedError) as problem:
        raise SourceError(f"Column {name!r} cannot be read: {problem}") from problem


def _values(series: nw.Series[Any], name: str, roles: Roles) -> Values:
    if series.dtype == nw.Unknown and series.implementation.is_pyarrow():
        series = _of_arrow(series, exact=name in {roles.target, *roles.categorical})
    dtype = series.dtype
    if name in roles.categorical or dtype in (nw.String, nw.Categorical, nw.Enum):
        return _categories(series, name)
    if dtype == nw.Unknown and hasattr(getattr(series.to_native(), "dtype", None), "tz"):
        # narwhals does not support all time zones of pandas
        series = nw.from_native(series.to_native().dt.tz_convert("UTC"), series_only=True)
        dtype = series.dtype
    if dtype.is_float() or (has_integers(series) and series.null_count() == 0):
        return series.to_numpy()
    if name == roles.target and (dtype.is_numeric() or dtype == nw.Boolean):
        return _exact(series.to_list())
    if dtype.is_numeric() or dtype == nw.Boolean:
        return floats(series)
    if dtype in (nw.Datetime, nw.Date):
        moments = series.cast(nw.Datetime("us")) if dtype == nw.Date else series
        microseconds = floats(moments.dt.timestamp("us"))
        return _dates(microseconds) if name == roles.time else microseconds / 1e6
    if dtype == nw.Object:
        return _objects(series, name, roles)
    if hasattr(series.to_native(), "sparse"):
        raise SourceError(
            f"Column {name!r} must be dense, got a sparse one. Pass X.astype({{{name!r}: float}})."
        )
    if name in (roles.target, roles.sample_weight, roles.time):
        advice = "Use text or integers for labels, numbers for weights and times."
    elif has_no_type(series):
        return floats(series)
    else:
        advice = f"Leave it out with {arg('drop')}."
    raise SourceError(
        f"Column {name!r} must hold numbers or text, got type {type_name(series)}. {advice}"
    )


def _of_arrow(series: nw.Series[Any], *, exact: bool) -> nw.Series[Any]:
    """Return the column in a type that narwhals supports, if possible."""
    import pyarrow as pa

    native: Any = series.to_native()
    if pa.types.is_date64(native.type):
        native = native.cast(pa.date32())
    elif pa.types.is_decimal(native.type):
        native = native.cast(pa.decimal128(38, native.type.scale) if exact else pa.float64())
    return nw.from_native(native, series_only=True)


def _categories(series: nw.Series[Any], name: str) -> list[str | None]:
    """Return the name of each value. A cast of the column would depend on its other values."""
    nulls = series.is_null().to_list()
    if series.dtype in (nw.Categorical, nw.Enum) and series.implementation.is_pandas_like():
        series = series.cast(nw.Object)  # pandas converts integers beside a null to floats
    values = series.to_list()
    kinds = set(map(type, values))
    if kinds == {str} and not any(nulls):
        return values
    if series.dtype == nw.Duration or not all(issubclass(kind, Hashable) for kind in kinds):
        raise SourceError(
            f"Column {name!r} must hold categories, got type {series.dtype}. Convert it to text, "
            f"or leave it out with {arg('drop')}."
        )
    return [None if null else category(value) for value, null in zip(values, nulls, strict=True)]


def _dates(microseconds: NDArray[Any]) -> NDArray[Any]:
    """Return dates for seconds since 1970; NaN is a missing date."""
    dates = np.full(len(microseconds), "NaT", dtype="datetime64[us]")
    known = ~np.isnan(microseconds)
    dates[known] = microseconds[known].astype(np.int64).astype("datetime64[us]")
    return dates


def _objects(series: nw.Series[Any], name: str, roles: Roles) -> Values:
    """Return the objects of a pandas column: all text, all numbers or all dates."""
    nulls = series.is_null().to_list()
    known = [None if null else value for value, null in zip(series.to_list(), nulls, strict=True)]
    kinds = {type(value) for value in known} - {type(None)}
    if all(issubclass(kind, str) for kind in kinds):
        return known
    if all(issubclass(kind, Real | np.bool_ | Decimal) for kind in kinds):
        labels = _exact(known)
        return labels if name == roles.target else labels.astype(np.float64)
    if all(issubclass(kind, date | np.datetime64) for kind in kinds):
        seconds = seconds_of(np.fromiter(known, dtype=object, count=len(known)))
        return _dates(np.rint(seconds * 1e6)) if name == roles.time else seconds
    found = " and ".join(sorted(kind.__name__ for kind in kinds))
    raise SourceError(f"Column {name!r} must hold values of one type, got {found}.")


def _exact(values: list[Any]) -> NDArray[Any]:
    """Return numeric labels with all digits of integers; NaN if missing."""

    def exact(value: Any) -> float:
        if isinstance(value, bool | np.bool_):
            return bool(value)
        if isinstance(value, Integral):
            return int(value)
        number = float(value) if isinstance(value, Real | Decimal) else float("nan")
        return int(value) if number.is_integer() and int(value) == value else number

    return np.fromiter(map(exact, values), dtype=object, count=len(values))
