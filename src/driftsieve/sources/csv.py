"""CSV and TSV files."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from driftsieve.sources import text
from driftsieve.sources.base import Options, Rows, SourceError
from driftsieve.sources.cells import CellParser, is_number, split
from driftsieve.sources.columns import TableEncoder, check_unique, is_position
from driftsieve.sources.files import File
from driftsieve.sources.records import Records


class CsvReader:
    """Reads CSV files that have the same columns; what is a number ``CellParser`` says.

    The first row is a header unless it holds a number (a header nonetheless if one of its cells is
    the target, which must be no integer: that is a position). Without a header the columns are
    called ``f0``, ``f1`` and so on. ``Records`` says what a row is; where pyarrow is installed it
    reads chunks without bad rows, several times faster.
    """

    def __init__(self, options: Options, delimiter: str = ",") -> None:
        self._options = options
        self._delimiter = options.delimiter or delimiter
        self._parser: CellParser | None = None
        self._encoder = TableEncoder(options)

    def read(self, file: File) -> Iterator[Rows]:
        with text.open_text(file) as source:
            lines = Records(source, self._delimiter)
            records = iter(lines)
            first = next(records, None)
            if first is None:
                return
            columns, is_data = self._columns(file, *first)
            lines.width = len(columns)
            if is_data:
                records = chain([first], records)
            roles = self._encoder.roles(columns)
            self._parser = parser = self._parser or CellParser(self._delimiter, roles)
            records = parser.decide(columns, records)
            for numbers, chunk in text.chunked(records, self._options.batch_size):
                table, bad = parser.parse(columns, chunk)
                encoded = self._encoder.encode(table, len(chunk) - len(bad)) if table else None
                rows = Rows(len(chunk), encoded, bad, numbers, source.bytes_read)
                if encoded is not None:
                    rows.leave_out(self._encoder.unusable(table, encoded))
                yield rows

    def _columns(self, file: File, number: int, record: bytes | str) -> tuple[list[str], bool]:
        """The columns that the first record names or has, and whether it is a row of data."""
        try:
            cells = split(record, self._delimiter)
        except ValueError as problem:
            raise SourceError(problem, file.name, f"line {number}") from problem
        has_header = self._options.header
        if has_header == "auto":
            target = self._options.target
            named = target in cells and not is_position(target)
            has_header = named or not any(map(is_number, cells))
        if not has_header:
            return [f"f{i}" for i in range(len(cells))], True
        check_unique(cells)
        return cells, False
