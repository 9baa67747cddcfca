"""Data frames in memory (pandas, polars, pyarrow), and their columns for all tabular files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from numbers import Real
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from driftsieve.batch import floats, has_integers
from driftsieve.sources.arrays import aligned
from driftsieve.sources.base import Options, Rows, SourceError
from driftsieve.sources.columns import Table, TableEncoder, Values, without


def read_frame(native: Any, options: Options) -> Iterator[Rows]:
    """A frame by slices; the target is one of its columns or an array."""
    frame = nw.from_native(native, eager_only=True)
    encoder = TableEncoder(options)
    in_column = options.target is None or isinstance(options.target, str | int)
    y = None if in_column else aligned(options.target, len(frame), "target")
    for start in range(0, len(frame), options.batch_size):
        rows = slice(start, start + options.batch_size)
        part = frame[rows]
        labels = None if y is None else y[rows]
        yield Rows(len(part), encoder.encode(table_of(part, options), len(part), labels))


def table_of(frame: nw.DataFrame[Any], options: Options) -> Table:
    """The columns that are not dropped, each as numbers or as text."""
    names = {str(name): name for name in frame.columns}
    left = without(list(names), options.drop)
    return {name: _usable(frame[names[name]], name, options.categorical) for name in left}


def _usable(series: nw.Series[Any], name: str, categorical: Sequence[str]) -> Values:
    try:
        return _values(series, name, categorical)
    except SourceError:
        raise
    except (ValueError, TypeError, NotImplementedError) as problem:  # pyarrow cannot convert it
        raise SourceError(f"column {name!r} cannot be used: {problem}") from problem


def _values(series: nw.Series[Any], name: str, categorical: Sequence[str]) -> Values:
    dtype = series.dtype
    if name in categorical or dtype in (nw.String, nw.Categorical, nw.Enum):
        texts = series.cast(nw.String).to_list()
        return [value if isinstance(value, str) else None for value in texts]
    if dtype.is_float() or (has_integers(series) and series.null_count() == 0):
        return series.to_numpy()
    if dtype.is_numeric() or dtype == nw.Boolean:
        return floats(series)
    if dtype in (nw.Datetime, nw.Date):
        moments = series.cast(nw.Datetime("us")) if dtype == nw.Date else series
        return floats(moments.dt.timestamp("us")) / 1e6
    if dtype == nw.Object:
        return _objects(series.to_list(), name)
    raise SourceError(f"column {name!r} of type {dtype} cannot be used: leave it out with drop=")


def _objects(values: list[Any], name: str) -> Values:
    """The objects of a pandas column: all text or all numbers."""
    known = [None if value is None or value != value else value for value in values]
    kinds = {type(value) for value in known} - {type(None)}
    if all(issubclass(kind, str) for kind in kinds):
        return known
    if all(issubclass(kind, Real | np.bool_) for kind in kinds):
        return np.array([np.nan if value is None else value for value in known], dtype=np.float64)
    raise SourceError(f"column {name!r} mixes {' and '.join(sorted(k.__name__ for k in kinds))}")
