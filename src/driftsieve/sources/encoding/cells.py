"""Cells of CSV text to columns of numbers or of text."""

from __future__ import annotations

import codecs
import csv
import math
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftsieve._arguments import arg
from driftsieve._rows.labels import LARGE_LABEL
from driftsieve.exceptions import SourceWarning
from driftsieve.sources.encoding.codes import Codes, numbers_of_arrow
from driftsieve.sources.encoding.kinds import note_text, read_as_text
from driftsieve.sources.encoding.numbers import Numbers
from driftsieve.sources.encoding.tables import Roles, Table, Values
from driftsieve.sources.files.paths import SMALL, quick_pyarrow
from driftsieve.sources.files.text import MAX_LINE, not_utf8

_LIMIT = threading.Lock()
_CATEGORIES = 1 << 14  # remembered ones


def split(record: bytes | str, delimiter: str, used: Sequence[bool] | None = None) -> list[str]:
    """Return the cells of one record; raise ValueError if it is not valid.

    Cells that are not ``used`` (all are by default) need not be UTF-8.
    """
    if isinstance(record, str):
        raise ValueError(record)
    text = record.decode("utf-8", "surrogateescape")
    try:
        cells = row_of(lambda: iter([text]), delimiter)
    except csv.Error as problem:
        alone = r"Lines must end in \n or \r\n, got \r. For old Mac files use tr '\r' '\n'."
        raise ValueError(alone if "new-line" in str(problem) else str(problem)) from None
    check_utf8(cells if used is None else compress(cells, used), record)
    return cells


def split_all(records: Sequence[bytes | str], delimiter: str) -> list[list[str]] | None:
    """Return the cells of several records, or None if one of them may not be valid.

    >>> split_all([b"1,2", b'3,"4,5"'], ",")
    [['1', '2'], ['3', '4,5']]
    """
    try:
        texts = [record.decode() for record in records]  # type: ignore[union-attr]
        rows = list(csv.reader(texts, delimiter=delimiter))
    except (AttributeError, UnicodeDecodeError, csv.Error):  # a line that is too long is a str
        return None
    return rows if len(rows) == len(records) else None


def check_utf8(cells: Iterable[str], record: bytes) -> None:
    """Raise ValueError if a cell of the record was not UTF-8."""
    try:
        for cell in cells:
            cell.encode()
    except UnicodeEncodeError:
        try:
            record.decode()
        except UnicodeDecodeError as problem:
            raise ValueError(not_utf8(problem)) from None


def row_of(lines: Callable[[], Iterator[str]], delimiter: str) -> list[str]:
    """Return the cells of the first row, which may span several lines."""
    try:
        return next(csv.reader(lines(), delimiter=delimiter))
    except csv.Error as problem:
        if "field limit" not in str(problem):
            raise
    # the csv module has one limit for the whole process, which is raised only while needed
    with _LIMIT:
        before = csv.field_size_limit(MAX_LINE)
        try:
            return next(csv.reader(lines(), delimiter=delimiter))
        finally:
            csv.field_size_limit(before)


def _are_whole(cells: Sequence[str]) -> bool:
    """Return whether all cells have digits only, apart from a sign."""
    if all(cells) and "".join(cells).isdigit():  # the usual case
        return True
    return all(cell.lstrip("-").isdigit() for cell in cells)


def advice() -> str:
    """Return the advice for text in a numeric column."""
    return f"Pass {arg('na')} for marks of missing values, {arg('categorical')} for codes."


class CellParser:
    """Parses chunks of records into columns of the kinds that ``decide`` found.

    Rows that do not have a number in every numeric column are bad rows.
    """

    def __init__(
        self,
        delimiter: str,
        roles: Roles,
        numbers: Numbers | None = None,
        kinds: Mapping[str, str] | None = None,
    ) -> None:
        self._delimiter = delimiter
        self._roles = roles
        self._numbers = numbers or Numbers()
        self._is_text = {name: kind == "text" for name, kind in (kinds or {}).items()}
        # Dropped columns are read as text, which is always valid.
        self._is_text |= dict.fromkeys(roles.categorical | roles.drop, True)
        self._marks = tuple(self._numbers.given_marks)  # other ones too, if needed
        self._whole: frozenset[str] = frozenset()  # columns that only have integers so far
        # The categories of most columns are the same in every chunk.
        self._known = lru_cache(_CATEGORIES)(self._category)
        self._n_bytes = 0  # number of bytes parsed so far

    def parsing(
        self, columns: Sequence[str], chunk: Sequence[bytes | str]
    ) -> Callable[[], Table | None]:
        """Return a function that parses the chunk by pyarrow, in any thread.

        It returns the kept columns, or None if pyarrow is missing or the chunk needs care.
        """
        if self._n_bytes < SMALL:
            self._n_bytes += sum(map(len, chunk))
        pa = quick_pyarrow(self._n_bytes)
        if pa is None or not all(name in self._is_text for name in columns):
            return lambda: None
        return partial(self._fast, pa, columns, chunk)

    def parse(
        self, columns: Sequence[str], chunk: Sequence[bytes | str]
    ) -> tuple[Table, dict[int, str]]:
        """Return the kept columns without bad rows, and the causes of bad rows by offset."""
        bad: dict[int, str] = {}
        rows: dict[int, list[str]] = {}
        for offset, record in enumerate(chunk):
            try:
                rows[offset] = self.cells(columns, record)
            except ValueError as problem:
                bad[offset] = str(problem)
        table, mixed = self._table(columns, rows)
        return table, bad | mixed

    def cells(self, columns: Sequence[str], record: bytes | str) -> list[str]:
        """Return the cells of a record, one for each column; raise ValueError if invalid."""
        used = [name not in self._roles.drop for name in columns]
        cells = split(record, self._delimiter, used)
        if len(cells) != len(columns):
            raise ValueError(f"A row must have {len(columns)} columns, got {len(cells)}.")
        return cells

    def decide(self, columns: Sequence[str], rows: Sequence[Sequence[str]], file: str) -> None:
        """Decide the kinds of new columns, given the first rows that have a label.

        ``read_as_text`` has the rule. Warnings from ``note_text`` name the file.
        """
        table = dict(zip(columns, zip(*rows, strict=True), strict=True)) if rows else {}
        labels = table.get(self._roles.target or "", ())
        counts = [not self._numbers.is_missing(label) for label in labels]
        for name in columns:
            if name in self._is_text:
                continue
            cells = [*compress(table.get(name, ()), counts)]
            is_time = name == self._roles.time
            self._is_text[name] = read_as_text(cells, self._numbers, is_time=is_time)
            if _are_whole(cells):
                self._whole |= {name}
            if self._is_text[name] and name not in (self._roles.time, self._roles.sample_weight):
                becomes = "class" if name == self._roles.target else "feature"
                note = note_text(name, cells, self._numbers, becomes)
                if note is not None:
                    warnings.warn(f"{file}: {note}", SourceWarning, stacklevel=2)

    def _table(
        self, columns: Sequence[str], rows: Mapping[int, Sequence[str]]
    ) -> tuple[Table, dict[int, str]]:
        """Return the columns of the good rows, and the causes of bad rows."""
        bad: dict[int, str] = {}
        table: dict[str, Values] = {}
        for name, cells in zip(columns, zip(*rows.values(), strict=True), strict=bool(rows)):
            if name in self._roles.drop:
                continue
            if self._is_text[name]:
                table[name] = self._numbers.known(cells)
            else:
                table[name] = self._column(name, zip(rows, cells, strict=True), bad)
        if len(bad) == len(rows):
            return {}, bad
        if bad:
            good = [offset not in bad for offset in rows]
            table = {
                name: values[good] if isinstance(values, np.ndarray) else [*compress(values, good)]
                for name, values in table.items()
            }
        return table, bad

    def _column(
        self, name: str, cells: Iterable[tuple[int, str]], bad: dict[int, str]
    ) -> NDArray[Any]:
        """Return the numbers of a column, and add rows without a number to ``bad``."""
        is_label = name == self._roles.target
        read = self._numbers.label if is_label else self._numbers.number
        values = []
        for offset, cell in cells:
            try:
                values.append(read(cell))
            except ValueError:
                text = f"Column {name!r} must hold numbers, got {cell!r}. {advice()}"
                bad[offset] = LARGE_LABEL if self._numbers.is_number(cell) else text
                values.append(math.nan)
        return np.array(values, dtype=object if is_label else np.float64)

    def _fast(self, pa: Any, columns: Sequence[str], chunk: Sequence[bytes | str]) -> Table | None:
        try:
            block = b"".join(chunk)  # type: ignore[arg-type]
        except TypeError:  # a line that is too long is a str
            return None
        # pyarrow drops a byte order mark at the start of every chunk
        if block.startswith(codecs.BOM_UTF8):
            return None
        if b"\r" in block:
            block = block.replace(b"\r\n", b"\n")
            if b"\r" in block or b'"' in block:
                return None
        used = {str(i): name for i, name in enumerate(columns) if name not in self._roles.drop}
        table = self._read(pa, block, len(columns), used)
        if table is None or len(table) != len(chunk):
            return None
        result: dict[str, Values] = {
            name: Codes.of_arrow(values, self._known)
            if self._is_text[name]
            else numbers_of_arrow(values).astype(np.float64, copy=False)
            for name, values in zip(used.values(), table.columns, strict=True)
        }
        labels = result.get(self._roles.target or "")
        if isinstance(labels, np.ndarray) and (np.abs(labels) >= 2**53).any():
            return None
        return result

    def _category(self, cell: str) -> str | None:
        return None if self._numbers.is_missing(cell) else cell

    def _read(self, pa: Any, block: bytes, width: int, used: Mapping[str, str]) -> Any:
        """Return the used columns as an Arrow table, or None if a cell has the wrong kind."""
        import pyarrow.csv as pc

        text = pa.dictionary(pa.int32(), pa.string())
        quoted = b'"' in block
        # pyarrow would read 0x1F as an integer
        has_hex = any(x in block and b"0" + x in block for x in (b"x", b"X"))
        # Integers are read in half the time. Searching every cell for marks takes a fifth of the
        # time. Most files need neither floats in such columns nor marks.
        every = tuple(self._numbers.marks)
        ways = [(self._marks, self._whole), (self._marks, frozenset()), (every, frozenset())]
        for marks, whole in dict.fromkeys(ways[has_hex:]):
            types = {
                i: text if self._is_text[name] else pa.int64() if name in whole else pa.float64()
                for i, name in used.items()
            }
            try:
                table = pc.read_csv(
                    pa.BufferReader(block),
                    pc.ReadOptions(
                        use_threads=False,
                        block_size=len(block) + 1,
                        column_names=[str(i) for i in range(width)],
                    ),
                    pc.ParseOptions(
                        delimiter=self._delimiter,
                        quote_char='"' if quoted else False,
                        newlines_in_values=quoted,
                    ),
                    pc.ConvertOptions(
                        column_types=types,
                        include_columns=list(used),
                        null_values=list(marks),
                        # text columns have fewer marks than columns of numbers
                        strings_can_be_null=False,
                        decimal_point=self._numbers.decimal,
                        check_utf8=not block.isascii(),
                    ),
                )
            except (pa.ArrowInvalid, OverflowError):
                continue
            if not has_hex:
                self._marks, self._whole = marks, whole
            return table
        return None
