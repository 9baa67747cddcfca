"""Sources: anything that holds labelled rows, as an iterator of batches."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import Any, Literal

import narwhals.stable.v1 as nw
import numpy as np
from scipy import sparse

from driftsieve.batch import Missing
from driftsieve.limits import Limits, OnLimit
from driftsieve.sources.arrays import ArrayReader
from driftsieve.sources.arrow import ArrowReader
from driftsieve.sources.base import Column, Options, Part, SourceError
from driftsieve.sources.batches import Batches, OnError
from driftsieve.sources.csv import CsvReader
from driftsieve.sources.files import find
from driftsieve.sources.frames import FrameReader
from driftsieve.sources.jsonl import JsonlReader
from driftsieve.sources.parquet import ParquetReader
from driftsieve.sources.rows import read_rows
from driftsieve.sources.svmlight import SvmlightReader

__all__ = ["FORMATS", "Batches", "SourceError", "as_batches"]

FORMATS: dict[str, Any] = {
    "svmlight": SvmlightReader,
    "csv": CsvReader,
    "tsv": partial(CsvReader, delimiter="\t"),
    "parquet": ParquetReader,
    "arrow": ArrowReader,
    "jsonl": JsonlReader,
}
FORMATS_WITH = {"header": ("csv", "tsv"), "delimiter": ("csv", "tsv"), "zero_based": ("svmlight",)}
DELIMITERS = {chr(code) for code in range(1, 128)} - set('"\r\n')


def as_batches(
    source: Any,
    *,
    target: Any = None,
    time: Any = None,
    weight: Any = None,
    batch_size: int = 4096,
    format: str = "auto",  # noqa: A002 - as the command line calls it
    missing: Missing = "error",
    on_error: OnError = "raise",
    skip_rows: int = 0,
    header: bool | Literal["auto"] = "auto",
    delimiter: str | None = None,
    zero_based: bool = False,
    categorical: Column | Iterable[Column] | None = (),
    drop: Column | Iterable[Column] | None = (),
    max_features: int = 1_000_000,
    on_limit: OnLimit = "error",
) -> Batches:
    """Read any source of labelled rows in batches, never more than a batch or two at a time.

    Text and categorical columns become indicator features named ``column=value``, appended in
    order of first appearance; batches with such features are sparse. A batch never straddles
    two files. Options that do not go with the source are an error at once, but for an iterable of
    rows, whose first row tells.

    Parameters
    ----------
    source
        A numpy array or scipy sparse matrix (alone, or as ``(X, y)``), a pandas, polars or
        pyarrow table, an iterable of dicts or of ``(x, y)`` pairs, or files: a name, a list of
        names, patterns such as ``"day*.svm.gz"``, ``"-"`` for standard input. Files may be
        svmlight, csv, tsv, JSON lines (each also compressed: gz, bz2, xz, zst), parquet and
        arrow or feather. Parquet, arrow and zst need pyarrow, the extra ``driftsieve[files]``;
        csv is read several times faster with it.
    target, time, weight
        The columns of labels, clock readings and sample weights: a name, a position among all
        columns of the source (-1 is the last), or an array for arrays and data frames.
    batch_size
        Rows per batch; the last one of a file may be shorter.
    format
        What the files hold, where their names do not tell: one of ``FORMATS``.
    missing
        ``"error"``, or ``"ignore"`` to let NaN and empty cells through as missing values.
    on_error
        ``"raise"`` a ``SourceError`` at the first row that cannot be used, or ``"skip"`` such
        rows and count them.
    skip_rows
        Leave out this many rows at the start. With ``Batches.position`` of an earlier read of
        the same source, the batches are the ones that read would have gone on with.
    header, delimiter
        Of csv and tsv files, an error for all else. ``header="auto"``: the first row is one unless
        it holds a number.
    zero_based
        Of svmlight files, an error for all else: whether the first feature has index 0. Otherwise
        it has index 1, and a row with an index 0 is a bad row.
    categorical
        Columns that hold categories even though they look like numbers, by name or position.
    drop
        Columns to leave out, by name or position. A column that is not there is an error, but for
        keys of dicts and JSON objects, which may come later.
    max_features, on_limit
        How many features text columns and the keys of dicts may make, a million by default, with
        names of 256 characters on average. One more is a ``SourceError``; with ``"ignore_new"`` its
        values are left out and counted in ``Batches.values_ignored``.

    Examples
    --------
    >>> rows = [{"size": 2, "colour": "red", "y": 1}, {"colour": "blue", "y": 0}]
    >>> batch = next(as_batches(rows, target="y"))
    >>> batch.feature_names
    ('size', 'colour=red', 'colour=blue')
    >>> batch.X.toarray().tolist()
    [[2.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    if batch_size < 1:
        raise ValueError(f"batch_size must be at least 1, got {batch_size}.")
    if skip_rows < 0:
        raise ValueError(f"skip_rows must be at least 0, got {skip_rows}.")
    if missing not in ("error", "ignore"):
        raise ValueError(f'missing must be "error" or "ignore", got {missing!r}.')
    if on_error not in ("raise", "skip"):
        raise ValueError(f'on_error must be "raise" or "skip", got {on_error!r}.')
    if not isinstance(zero_based, bool):
        raise TypeError(f"zero_based must be True or False, got {zero_based!r}.")
    if delimiter is not None and delimiter not in DELIMITERS:
        raise ValueError(
            "delimiter must be one ASCII character, and neither a quote nor the end of a line, got "
            f"{delimiter!r}."
        )
    if format != "auto" and format not in FORMATS:
        raise ValueError(f"format must be one of auto, {', '.join(FORMATS)}, got {format!r}.")
    limits = Limits(max_features, on_limit=on_limit)
    options = Options(
        target,
        time,
        weight,
        batch_size,
        header,
        delimiter,
        zero_based,
        _columns(categorical),
        _columns(drop),
        limits.max_features,
        limits.on_limit,
        missing,
    )
    parts = _file_parts(source, format, options) or [_memory_part(source, options)]
    return Batches(parts, missing=missing, on_error=on_error, skip_rows=skip_rows)


def _columns(wanted: Column | Iterable[Column] | None) -> tuple[Column, ...]:
    if isinstance(wanted, str | int | np.integer):
        return (wanted,)
    return () if wanted is None else tuple(wanted)


def _file_parts(source: Any, format: str, options: Options) -> list[Part]:  # noqa: A002
    names = [source] if isinstance(source, str | PathLike) else source
    if not isinstance(names, list | tuple) or not names:
        return []
    if not all(isinstance(name, str | PathLike) for name in names):
        return []
    files = find(list(names))
    formats = {format} if format != "auto" else {file.format for file in files}
    if len(formats) > 1:
        raise SourceError(f"files of one kind, please, not {' and '.join(sorted(formats))}")
    options.refuse_arrays()
    kind = formats.pop()
    others = [name for name, kinds in FORMATS_WITH.items() if kind not in kinds]
    options.refuse(f"{kind} files", others)
    reader = FORMATS[kind](options)
    return [Part(partial(reader.read, file), file.name, file.size) for file in files]


def _memory_part(source: Any, options: Options) -> Part:
    options.refuse("sources that are no files", FORMATS_WITH)
    if isinstance(source, tuple) and len(source) == 2 and _is_table(source[0]):
        if options.target is not None:
            raise ValueError("Labels are given twice: in the pair (X, y) and by target=.")
        source, options = source[0], replace(options, target=source[1])
    if nw.dependencies.is_into_dataframe(source):
        return Part(FrameReader(source, options).read)
    if _is_table(source):
        return Part(ArrayReader(source, options).read)
    if isinstance(source, Iterable):
        options.refuse_arrays()
        return Part(partial(read_rows, source, options))
    raise TypeError(f"as_batches cannot read {type(source).__name__}: see its documentation.")


def _is_table(source: Any) -> bool:
    return (
        sparse.issparse(source)
        or isinstance(source, np.ndarray)
        or nw.dependencies.is_into_dataframe(source)
    )
