"""Sources of labelled rows, read as iterators of batches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from importlib import import_module
from os import PathLike
from typing import Any, Literal

import narwhals.stable.v1 as nw
import numpy as np
from scipy import sparse

from driftsieve._arguments import arg, check_choice
from driftsieve._rows.names import UniqueNames, unique_names
from driftsieve._state.limits import Limits, OnLimit
from driftsieve.batch import Missing
from driftsieve.exceptions import SourceError
from driftsieve.sources.base import ColumnRef, Options, Part
from driftsieve.sources.batches import Batches, OnError
from driftsieve.sources.encoding.numbers import DecimalSign
from driftsieve.sources.files.paths import find

__all__ = ["FORMATS", "Batches", "as_batches"]

FORMATS = {
    "svmlight": "svmlight.SvmlightReader",
    "csv": "csv.CsvReader",
    "tsv": "csv.TsvReader",
    "parquet": "parquet.ParquetReader",
    "arrow": "arrow.ArrowReader",
    "jsonl": "jsonl.JsonlReader",
}
"""The reader of each format, in ``sources.files``: only those in use are imported."""

_CSV = ("csv", "tsv")
FORMATS_WITH = {
    **dict.fromkeys(("header", "delimiter", "na", "decimal"), _CSV),
    "zero_based": ("svmlight",),
    "names": ("svmlight",),
}
DELIMITERS = {chr(code) for code in range(1, 128)} - set('"\r\n')


def as_batches(
    source: Any,
    *,
    target: Any = None,
    time: Any = None,
    sample_weight: Any = None,
    batch_size: int = 4096,
    format: str = "auto",  # noqa: A002 - as the command line calls it
    missing: Missing = "error",
    on_error: OnError = "raise",
    skip_rows: int = 0,
    header: bool | Literal["auto"] = "auto",
    delimiter: str | None = None,
    zero_based: bool = False,
    names: Iterable[str] | None = None,
    categorical: ColumnRef | Iterable[ColumnRef] | None = (),
    drop: ColumnRef | Iterable[ColumnRef] | None = (),
    max_features: int = 1_000_000,
    on_limit: OnLimit = "error",
    na: str | Iterable[str] = (),
    decimal: DecimalSign = ".",
    columns: Mapping[str, str] | None = None,
) -> Batches:
    """Read any source of labelled rows in batches, never more than a few at a time.

    Text and categorical columns become indicator features named ``column=value``, appended in
    order of first appearance. Batches with such features are sparse. A batch never has rows of two
    files. Options that the source does not support are an error at once; for an iterable of rows,
    when its first row is read.

    Parameters
    ----------
    source
        A numpy array or scipy sparse matrix (alone, or as ``(X, y)``), a pandas, polars or
        pyarrow table, an iterable of dicts or of ``(x, y)`` pairs, or files: a name, a list of
        names, patterns such as ``"day*.svm.gz"``, ``"-"`` for standard input. Files may be
        svmlight, csv, tsv, JSON lines (each also compressed: gz, bz2, xz, zst), parquet and
        arrow or feather. Parquet, arrow and zst need pyarrow, the extra ``driftsieve[files]``;
        csv and JSON lines are read several times faster with it.
    target, time, sample_weight
        The columns of labels, clock readings and sample weights: a name, a position among all
        columns of the source (-1 is the last), or an array for arrays and data frames.
    batch_size
        Rows per batch. The last batch of a file may be shorter.
    format
        Format of the files if their suffixes do not show it: one of ``FORMATS``.
    missing
        ``"error"``, or ``"ignore"`` to read NaN and empty cells as missing values.
    on_error
        ``"raise"`` a ``SourceError`` at the first row that is not valid, or ``"skip"`` such rows
        and count them.
    skip_rows
        Number of rows to leave out at the start. ``Batches.position`` of an earlier read of the
        same source continues that read.
    header, delimiter
        For csv and tsv files only. With ``header="auto"``, the first row is a header if it has no
        number, or has a name that an option gives. Otherwise the rows after it decide.
    zero_based
        For svmlight files only: whether the first feature has index 0. By default it has index 1,
        and a row with an index 0 is not valid.
    names
        For svmlight files only: the name of each feature, ordered by index. By default the feature
        of index 5 is ``x5``. A row with an index beyond the names is not valid.
    categorical
        Columns of categories that look like numbers, by name or position.
    drop
        Columns to leave out, by name or position. A column that does not exist is an error, except
        for keys of dicts and JSON objects, which may come later.
    max_features, on_limit
        Largest number of features from text columns and from keys of dicts, a million by default,
        with names of 256 characters on average. One more is a ``SourceError``; with
        ``"ignore_new"`` its values are left out and counted in ``Batches.values_ignored``.
    na, decimal
        For csv and tsv files only: additional marks of a missing value, as text, and the decimal
        sign, ``"."`` or ``","``.
    columns
        For csv and tsv files only: the kind of columns, ``"numbers"`` or ``"text"``, by name. By
        default the first 4,096 rows decide. Pass ``Batches.columns`` of an earlier read to read a
        file that has grown in the same way.

    Returns
    -------
    Batches
        An iterator over validated batches, which counts rows.

    Raises
    ------
    SourceError
        If the source cannot be read, or if a row is not valid (with ``on_error="raise"``).
    ValueError, TypeError
        If an option is not valid.

    Warns
    -----
    SourceWarning
        If the source may have been read in another way than intended: a column of numbers as text,
        or a file that is given twice.

    See Also
    --------
    driftsieve.Bank.update : Accepts the batches.
    driftsieve.evaluate.prequential : Evaluates a screener and a learner with the batches.

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
        raise ValueError(f"{arg('batch_size')} must be at least 1, got {batch_size}.")
    if skip_rows < 0:
        raise ValueError(f"skip_rows must be at least 0, got {skip_rows}.")
    check_choice("missing", missing, "error", "ignore")
    check_choice("on_error", on_error, "raise", "skip")
    check_choice("decimal", decimal, ".", ",")
    if not isinstance(zero_based, bool):
        raise TypeError(f"{arg('zero_based')} must be True or False, got {zero_based!r}.")
    if delimiter is not None and delimiter not in DELIMITERS:
        raise ValueError(
            f"{arg('delimiter')} must be one ASCII character, and neither a quote nor the end of a "
            f"line, got {delimiter!r}."
        )
    if format != "auto" and format not in FORMATS:
        known = ", ".join(FORMATS)
        raise ValueError(f"{arg('format')} must be one of auto, {known}, got {format!r}.")
    na = (na,) if isinstance(na, str) else tuple(na)
    if not all(isinstance(mark, str) for mark in na):
        raise TypeError(f"{arg('na')} must be a string or a list of strings, got {na!r}.")
    for name, kind in (columns or {}).items():
        if kind not in ("numbers", "text"):
            raise ValueError(f'columns must be "numbers" or "text", got {kind!r} for {name!r}.')
    limits = Limits(max_features, on_limit=on_limit)
    options = Options(
        target,
        time,
        sample_weight,
        batch_size,
        header,
        delimiter,
        zero_based,
        _columns(categorical),
        _columns(drop),
        limits.max_features,
        limits.on_limit,
        missing,
        na,
        decimal,
        columns or {},
        None if names is None else _names(names),
    )
    parts = _file_parts(source, format, options) or [_memory_part(source, options)]
    return Batches(parts, missing=missing, on_error=on_error, skip_rows=skip_rows)


def _names(names: Iterable[str]) -> UniqueNames:
    given = tuple(names)
    return UniqueNames(unique_names(given, len(given)))


def _columns(wanted: ColumnRef | Iterable[ColumnRef] | None) -> tuple[ColumnRef, ...]:
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
        raise SourceError(
            f"All files must have the same format, got {' and '.join(sorted(formats))}."
        )
    options.refuse_arrays()
    kind = formats.pop()
    others = [name for name, kinds in FORMATS_WITH.items() if kind not in kinds]
    options.refuse(f"{kind} files", others)
    module, _, name = FORMATS[kind].partition(".")
    reader = getattr(import_module(f"{__name__}.files.{module}"), name)(options)
    columns = partial(getattr, reader, "columns", {})
    return [Part(partial(reader.read, file), file.name, file.size, columns) for file in files]


def _memory_part(source: Any, options: Options) -> Part:
    options.refuse("sources in memory", FORMATS_WITH)
    if isinstance(source, tuple) and len(source) == 2 and _is_table(source[0]):
        if options.target is not None:
            raise ValueError(
                f"Labels must be given once, got them in the pair (X, y) and as {arg('target')}."
            )
        source, options = source[0], replace(options, target=source[1])
    if nw.dependencies.is_into_dataframe(source):
        from driftsieve.sources.memory.frames import FrameReader

        reader = FrameReader(source, options)
        return Part(reader.read, columns=lambda: reader.columns)
    if _is_table(source):
        from driftsieve.sources.memory.arrays import ArrayReader

        return Part(ArrayReader(source, options).read)
    if isinstance(source, Iterable):
        from driftsieve.sources.memory.rows import read_rows

        options.refuse_arrays()
        return Part(partial(read_rows, source, options))
    raise TypeError(
        "source must be an array, a sparse matrix, a data frame, file names or an iterable of "
        f"rows, got {type(source).__name__}."
    )


def _is_table(source: Any) -> bool:
    return (
        sparse.issparse(source)
        or isinstance(source, np.ndarray)
        or nw.dependencies.is_into_dataframe(source)
    )
