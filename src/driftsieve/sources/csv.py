"""CSV and TSV files."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from itertools import chain

from driftsieve.sources import text
from driftsieve.sources.base import Options, Rows, SourceError
from driftsieve.sources.cells import CellParser, is_number, row_of, split
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
        # Lines whose quotes are all around fields or doubled are rows: most are, so this is faster.
        comma = re.escape(self._delimiter.encode())
        field = rb'(?:"[^"]*+(?:""[^"]*+)*+"|[^"%b\r\n]*+)' % comma
        self._closed = re.compile(rb"%b(?:%b%b)*+[\r\n]*+" % (field, comma, field))
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
            records = parser.decide(columns, records)
            for numbers, chunk in text.chunked(records, self._options.batch_size):
                table, bad = parser.parse(columns, chunk)
                encoded = self._encoder.encode(table, len(chunk) - len(bad)) if table else None
                yield Rows(len(chunk), encoded, bad, numbers, source.bytes_read)

    def _records(self, source: text.Text) -> Iterator[text.Line]:
        """Lines, joined where a quoted field holds line ends."""
        for number, line in source.lines():
            if isinstance(line, bytes) and b'"' in line and not self._closed.fullmatch(line):
                yield number, self._whole(line, source)
            else:
                yield number, line

    def _whole(self, line: bytes, source: text.Text) -> bytes | str:
        """The record that starts with ``line``: as many lines as the csv module makes a row of."""
        parts = [line]

        def lines() -> Iterator[str]:
            yield from (part.decode("latin-1") for part in parts)
            size = sum(map(len, parts))
            while True:
                more = source.read_line()
                size += len(more)
                if not more or isinstance(more, str) or size > text.MAX_LINE:
                    raise ValueError("a quoted field is not closed")
                parts.append(more)
                yield more.decode("latin-1")

        try:
            row_of(lines, self._delimiter)
        except ValueError as problem:
            return str(problem)
        except csv.Error:
            pass  # it is said when the cells are read
        return b"".join(parts)

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
