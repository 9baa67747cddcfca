"""Cells of CSV text to columns of numbers or of text."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from typing import Any

import numpy as np

from driftsieve.sources.columns import Table, Values

MISSING = frozenset(("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "?"))


def split(record: bytes | str, delimiter: str) -> list[str]:
    """The cells of one record; ValueError says why there are none."""
    if isinstance(record, str):
        raise ValueError(record)
    try:
        return next(csv.reader([record.decode()], delimiter=delimiter))
    except UnicodeDecodeError as problem:
        raise ValueError(f"not valid UTF-8 (byte {record[problem.start]:#x})") from None
    except csv.Error as problem:
        raise ValueError(str(problem)) from None


def number(cell: str) -> float:
    """The number that the cell holds, NaN if it is a mark of a missing one, else ValueError."""
    if cell in MISSING:
        return float("nan")
    if "_" in cell:  # Python would read 1_000
        raise ValueError(cell)
    return float(cell)


def is_number(cell: str) -> bool:
    """Whether the cell holds a number that is not missing."""
    try:
        return not np.isnan(number(cell))
    except ValueError:
        return False


class CellParser:
    """Makes columns of chunks of records, in the kinds that the first chunk decides.

    A column is numeric if its first value is a number (or the chunk has none), text otherwise. A
    value that is no number in a numeric column makes its row a bad one.
    """

    def __init__(self, delimiter: str, categorical: Sequence[str]) -> None:
        self._delimiter = delimiter
        self._is_text: dict[str, bool] = dict.fromkeys(categorical, True)

    def parse(
        self, columns: Sequence[str], chunk: Sequence[bytes | str]
    ) -> tuple[Table, dict[int, str]]:
        """The columns, without the bad rows; and the offsets of those with their causes."""
        fast = self._fast(columns, chunk)
        if fast is not None:
            return fast, {}
        bad: dict[int, str] = {}
        good: dict[int, list[str]] = {}
        for offset, record in enumerate(chunk):
            try:
                cells = split(record, self._delimiter)
            except ValueError as problem:
                bad[offset] = str(problem)
                continue
            if len(cells) == len(columns):
                good[offset] = cells
            else:
                bad[offset] = f"{len(cells)} columns where there should be {len(columns)}"
        if good:
            self._decide(columns, list(good.values()))
        mixed = {
            offset: f"column {name!r} holds numbers, but here {cell!r}"
            for offset, cells in good.items()
            for name, cell in zip(columns, cells, strict=True)
            if not self._is_text[name] and not (cell in MISSING or is_number(cell))
        }
        rows = [cells for offset, cells in good.items() if offset not in mixed]
        if not rows:
            return {}, bad | mixed
        cells_of = zip(columns, zip(*rows, strict=True), strict=True)
        return {name: self._values(name, cells) for name, cells in cells_of}, bad | mixed

    def _decide(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        for j, name in enumerate(columns):
            if name not in self._is_text:
                first = next((row[j] for row in rows if row[j] not in MISSING), "0")
                self._is_text[name] = not is_number(first)

    def _values(self, name: str, cells: Sequence[str]) -> Values:
        if self._is_text[name]:
            return [None if cell in MISSING else cell for cell in cells]
        return np.array([number(cell) for cell in cells])

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
        return {
            name: values.to_pylist() if self._is_text[name] else values.to_numpy()
            for name, values in zip(columns, table.columns, strict=True)
        }
