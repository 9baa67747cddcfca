"""Cells of CSV text to columns of numbers or of text."""

from __future__ import annotations

import codecs
import csv
import math
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import chain, compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftsieve.sources.base import LARGE_LABEL
from driftsieve.sources.columns import Roles, Table, Values
from driftsieve.sources.text import MAX_LINE, Line, not_utf8

MISSING = frozenset(("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "?"))
SAMPLE = 4096  # rows that may decide whether a column holds numbers, however large batches are
_LIMIT = threading.Lock()


def split(record: bytes | str, delimiter: str) -> list[str]:
    """The cells of one record; ValueError says why there are none."""
    if isinstance(record, str):
        raise ValueError(record)
    try:
        text = record.decode()
        return row_of(lambda: iter([text]), delimiter)
    except UnicodeDecodeError as problem:
        raise ValueError(not_utf8(problem)) from None
    except csv.Error as problem:
        alone = (
            r"a \r within a line: lines must end in \n or \r\n (tr '\r' '\n' mends old Mac files)"
        )
        raise ValueError(alone if "new-line" in str(problem) else str(problem)) from None


def row_of(lines: Callable[[], Iterator[str]], delimiter: str) -> list[str]:
    """The cells of the first row, of as many lines as it takes, however long they are."""
    try:
        return next(csv.reader(lines(), delimiter=delimiter))
    except csv.Error as problem:
        if "field limit" not in str(problem):
            raise
    with _LIMIT:  # that of the csv module is for the whole process: raised only while it must be
        before = csv.field_size_limit(MAX_LINE)
        try:
            return next(csv.reader(lines(), delimiter=delimiter))
        finally:
            csv.field_size_limit(before)


def number(cell: str) -> float:
    """The number that the cell holds, NaN if it is a mark of a missing one, else ValueError."""
    if cell in MISSING:
        return float("nan")
    if "_" in cell:  # Python would read 1_000
        raise ValueError(cell)
    return float(cell)


def label(cell: str) -> float:
    """The same, and an integer with all its digits where double has too few."""
    value = number(cell)
    if not 2**53 <= abs(value) < math.inf:
        return value
    exact = Decimal(cell)
    if exact != int(exact) or not -(2**63) <= exact < 2**63:
        raise ValueError(LARGE_LABEL)
    return int(exact)


def is_number(cell: str) -> bool:
    """Whether the cell holds a number that is not missing."""
    try:
        number(cell)
    except ValueError:
        return False
    return cell not in MISSING


class CellParser:
    """Makes columns of chunks of records, in the kinds that ``decide`` found.

    A column is numeric if its first value, in a row with a label, is a number (or the first
    ``SAMPLE`` rows have none), text otherwise. A value that is no number in a numeric column makes
    its row a bad one.
    """

    def __init__(self, delimiter: str, roles: Roles) -> None:
        self._delimiter = delimiter
        self._target = roles.target
        self._drop = roles.drop  # text, as whatever they hold will do
        self._is_text: dict[str, bool] = dict.fromkeys(roles.categorical | roles.drop, True)

    def parse(
        self, columns: Sequence[str], chunk: Sequence[bytes | str]
    ) -> tuple[Table, dict[int, str]]:
        """The columns to keep, without the bad rows; and the offsets of those with their causes."""
        fast = self._fast(columns, chunk)
        if fast is not None:
            return fast, {}
        bad: dict[int, str] = {}
        rows: dict[int, list[str]] = {}
        for offset, record in enumerate(chunk):
            try:
                rows[offset] = self._cells(columns, record)
            except ValueError as problem:
                bad[offset] = str(problem)
        table, mixed = self._table(columns, rows)
        return table, bad | mixed

    def _cells(self, columns: Sequence[str], record: bytes | str) -> list[str]:
        cells = split(record, self._delimiter)
        if len(cells) != len(columns):
            raise ValueError(f"{len(cells)} columns where there should be {len(columns)}")
        return cells

    def decide(self, columns: Sequence[str], records: Iterator[Line]) -> Iterator[Line]:
        """Tell the kinds of columns that are new, from as few records as will do; give them all."""
        undecided = {name for name in columns if name not in self._is_text}
        seen: list[Line] = []
        any_row = False
        while undecided and len(seen) < SAMPLE and (line := next(records, None)):
            seen.append(line)
            try:
                cells = self._cells(columns, line[1])
            except ValueError:
                continue
            any_row = True
            row = dict(zip(columns, cells, strict=True))
            if row.get(self._target or "") in MISSING:  # the row will be left out
                continue
            for name, cell in row.items():
                if name in undecided and cell not in MISSING:
                    self._is_text[name] = not is_number(cell)
                    undecided.remove(name)
        if any_row or len(seen) == SAMPLE:
            self._is_text |= dict.fromkeys(undecided, False)
        return chain(seen, records)

    def _table(
        self, columns: Sequence[str], rows: Mapping[int, Sequence[str]]
    ) -> tuple[Table, dict[int, str]]:
        """The columns of the good rows, and why others, with text for a number, are bad."""
        bad: dict[int, str] = {}
        table: dict[str, Values] = {}
        for name, cells in zip(columns, zip(*rows.values(), strict=True), strict=bool(rows)):
            if name in self._drop:
                continue
            if self._is_text[name]:
                table[name] = [None if cell in MISSING else cell for cell in cells]
            else:
                table[name] = self._numbers(name, zip(rows, cells, strict=True), bad)
        if len(bad) == len(rows):
            return {}, bad
        if bad:
            good = [offset not in bad for offset in rows]
            table = {
                name: values[good] if isinstance(values, np.ndarray) else [*compress(values, good)]
                for name, values in table.items()
            }
        return table, bad

    def _numbers(
        self, name: str, cells: Iterable[tuple[int, str]], bad: dict[int, str]
    ) -> NDArray[Any]:
        """The numbers of a column, and in ``bad`` the rows that have none."""
        read = label if name == self._target else number
        values = []
        for offset, cell in cells:
            try:
                values.append(read(cell))
            except ValueError:
                text = f"column {name!r} holds numbers, but here {cell!r}"
                bad[offset] = LARGE_LABEL if is_number(cell) else text
                values.append(math.nan)
        return np.array(values, dtype=object if name == self._target else np.float64)

    def _fast(self, columns: Sequence[str], chunk: Sequence[bytes | str]) -> Table | None:
        """The same by pyarrow, or None where it is missing or the chunk is not plainly right."""
        if not all(name in self._is_text for name in columns):
            return None
        try:
            import pyarrow as pa
            import pyarrow.csv as pc

            block = b"".join(chunk)  # type: ignore[arg-type]  # a str in it is a TypeError
        except (ImportError, TypeError):
            return None
        if block.startswith(codecs.BOM_UTF8):  # pyarrow would drop it, wherever a chunk begins
            return None
        if b"\r" in block:
            block = block.replace(b"\r\n", b"\n")
            if b"\r" in block or b'"' in block:
                return None
        types: dict[str, Any] = {
            name: pa.string() if self._is_text[name] else pa.float64() for name in columns
        }
        try:
            table = pc.read_csv(
                pa.BufferReader(block),
                pc.ReadOptions(
                    use_threads=False, block_size=len(block) + 1, column_names=list(columns)
                ),
                pc.ParseOptions(delimiter=self._delimiter, newlines_in_values=True),
                pc.ConvertOptions(
                    column_types=types, null_values=list(MISSING), strings_can_be_null=True
                ),
            )
        except (pa.ArrowInvalid, OverflowError):
            return None
        if len(table) != len(chunk):
            return None
        result: dict[str, Values] = {
            name: values.to_pylist() if self._is_text[name] else values.to_numpy()
            for name, values in zip(columns, table.columns, strict=True)
            if name not in self._drop
        }
        labels = result.get(self._target or "")
        if isinstance(labels, np.ndarray) and (np.abs(labels) >= 2**53).any():
            return None
        return result
