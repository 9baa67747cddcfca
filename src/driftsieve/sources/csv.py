"""CSV and TSV files."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import chain

from driftsieve.sources import text
from driftsieve.sources.base import Options, Rows, SourceError
from driftsieve.sources.cells import CellParser, is_number, split
from driftsieve.sources.columns import TableEncoder, check_unique
from driftsieve.sources.files import File


class CsvReader:
    """Reads CSV files that have the same columns; what is a number ``CellParser`` says.

    The first row is a header unless it holds a number (but not if one of its cells is the target);
    without a header the columns are called ``f0``, ``f1`` and so on. The csv module decides what
    a row is; where pyarrow is installed it reads chunks without bad rows, several times faster.
    """

    def __init__(self, options: Options, delimiter: str = ",") -> None:
        self._options = options
        self._delimiter = options.delimiter or delimiter
        self._parser: CellParser | None = None
        self._encoder = TableEncoder(options)

    def read(self, file: File) -> Iterator[Rows]:
        with text.open_text(file) as source:
            records = self._records(source)
            first = next(records, None)
            if first is None:
                return
            columns, is_data = self._columns(file, *first)
            if is_data:
                records = chain([first], records)
            roles = self._encoder.roles(columns)
            self._parser = parser = self._parser or CellParser(self._delimiter, roles)
            for numbers, chunk in text.chunked(records, self._options.batch_size):
                table, bad = parser.parse(columns, chunk)
                wanted = {name: table[name] for name in table if name not in roles.drop}
                encoded = self._encoder.encode(wanted, len(chunk) - len(bad)) if table else None
                yield Rows(len(chunk), encoded, bad, numbers, source.bytes_read)

    def _records(self, source: text.Text) -> Iterator[text.Line]:
        """Lines, joined where a quoted field holds line ends."""
        for number, line in source.lines():
            if isinstance(line, bytes) and line.count(b'"') % 2 and self._is_open(line):
                yield number, _closed(line, source)
            else:
                yield number, line

    def _is_open(self, line: bytes) -> bool:
        """Whether the line ends inside a quoted field; quotes elsewhere are mere characters."""
        try:
            next(csv.reader([line.decode("latin-1")], delimiter=self._delimiter, strict=True))
        except csv.Error as problem:
            return "end of data" in str(problem)
        return False

    def _columns(self, file: File, number: int, record: bytes | str) -> tuple[list[str], bool]:
        """The columns that the first record names or has, and whether it is a row of data."""
        try:
            cells = split(record, self._delimiter)
        except ValueError as problem:
            raise SourceError(problem, file.name, f"line {number}") from problem
        has_header = self._options.header
        if has_header == "auto":
            has_header = self._options.target in cells or not any(map(is_number, cells))
        if not has_header:
            return [f"f{i}" for i in range(len(cells))], True
        check_unique(cells)
        return cells, False


def _closed(line: bytes, source: text.Text) -> bytes | str:
    """The record that starts with ``line``, up to the line that closes its quote."""
    parts, size, quotes = [line], len(line), 1
    while quotes % 2:
        more = source.read_line()
        size += len(more)
        if not more or isinstance(more, str) or size > text.MAX_LINE:
            return "a quoted field is not closed"
        parts.append(more)
        quotes += more.count(b'"')
    return b"".join(parts)
