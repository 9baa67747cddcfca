"""CSV and TSV files."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress

from driftsieve._arguments import arg
from driftsieve.exceptions import SourceError, SourceWarning
from driftsieve.sources.base import Options, Rows
from driftsieve.sources.encoding.cells import CellParser, check_utf8, split, split_all
from driftsieve.sources.encoding.kinds import SAMPLE, SAMPLE_BYTES, has_header
from driftsieve.sources.encoding.numbers import Numbers
from driftsieve.sources.encoding.tables import Roles, TableEncoder, check_unique
from driftsieve.sources.files import text
from driftsieve.sources.files.ahead import ahead, n_ahead
from driftsieve.sources.files.csv_records import Records
from driftsieve.sources.files.paths import File

OTHER_DELIMITERS = {";": ";", "\t": r"\t", "|": "|"}  # as typed on the command line


class CsvReader:
    """Reader of csv files with the same columns.

    The first ``SAMPLE`` rows are read before any is returned: ``has_header`` decides whether the
    first row is a header (columns without names are x0, x1, ...), and ``CellParser.decide`` decides
    the kinds of columns. ``Records`` splits rows. pyarrow, if installed, parses chunks without bad
    rows, several times faster.
    """

    usual_delimiter = ","

    def __init__(self, options: Options) -> None:
        self._options = options
        self._delimiter = options.delimiter or self.usual_delimiter
        self._numbers = Numbers(options.na, options.decimal)
        self._parser: CellParser | None = None
        self._encoder = TableEncoder(options)

    @property
    def columns(self) -> dict[str, str]:
        return self._encoder.kinds

    def read(self, file: File) -> Iterator[Rows]:
        with text.open_text(file) as source:
            lines = Records(source, self._delimiter)
            first = next(iter(lines), None)
            if first is None:
                return
            lines.width = len(self._first_cells(file, *first))
            parser, columns, seen = self._start(file, first, lines)
            size = self._options.batch_size
            tasks = (
                ((*chunk, source.bytes_read), parser.parsing(columns, chunk[1]))
                for chunk in text.chunked(seen, lines.take, size)
            )
            for (numbers, chunk, n_bytes), fast in ahead(tasks, n_ahead(file, size)):
                table, bad = parser.parse(columns, chunk) if fast is None else (fast, {})
                encoded = self._encoder.encode(table, len(chunk) - len(bad)) if table else None
                rows = Rows(len(chunk), encoded, bad, numbers, n_bytes)
                if encoded is not None:
                    rows.leave_out(self._encoder.unusable(table, encoded))
                yield rows

    def _start(
        self, file: File, first: text.Line, lines: Records
    ) -> tuple[CellParser, Sequence[str], list[text.Line]]:
        """Read the first rows: decide the parser, column names, and the first row of data."""
        cells = self._first_cells(file, *first)
        seen, n_sampled = _sample(lines)
        rows = self._rows([record for _, record in seen[:n_sampled]], len(cells))
        is_header = self._options.header
        if is_header == "auto":
            is_header = has_header(cells, rows, self._options, self._numbers)
        if is_header:
            check_unique(cells)
        else:
            seen, rows = [first, *seen], [cells, *rows][:SAMPLE]
        columns = cells if is_header else [f"x{i}" for i in range(len(cells))]
        roles = self._roles(file, columns, rows)
        if is_header and isinstance(first[1], bytes):
            self._check_names(file, columns, roles, first[1])
        self._parser = parser = self._parser or CellParser(
            self._delimiter, roles, self._numbers, self._options.kinds
        )
        if rows or len(seen) >= SAMPLE:
            parser.decide(columns, rows, file.name)
        return parser, columns, seen

    def _first_cells(self, file: File, number: int, record: bytes | str) -> list[str]:
        try:
            cells = split(record, self._delimiter, ())
        except ValueError as problem:
            raise SourceError(problem, file.name, f"line {number}") from problem
        if len(cells) == 1 and self._options.delimiter is None:
            for delimiter, shown in OTHER_DELIMITERS.items():
                if delimiter in cells[0]:
                    raise SourceError(
                        "A csv file must have at least two columns, got one. Pass "
                        f"{arg('delimiter', shown)}.",
                        file.name,
                    )
        return cells

    def _rows(self, records: Sequence[bytes | str], width: int) -> list[list[str]]:
        """Return the cells of sampled rows, without bad ones."""
        rows = split_all(records, self._delimiter)
        if rows is None:  # one by one
            rows = []
            for record in records:
                with suppress(ValueError):
                    rows.append(split(record, self._delimiter, ()))
        return [row for row in rows if len(row) == width]

    def _roles(self, file: File, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Roles:
        """Return the roles of the columns, and leave out columns of row numbers without a name.

        pandas and R write such a column first. Empty columns after a delimiter at the end of every
        line are left out too.
        """
        roles = self._encoder.roles(columns)
        if "" not in columns or "" in {*roles.no_features, *roles.categorical}:
            return roles
        place = columns.index("")
        if place and not all(self._numbers.is_missing(row[place]) for row in rows):
            return roles
        if place == 0 and self._parser is None:
            warnings.warn(
                f"{file.name}: The first column has no name. It is read as row numbers and left "
                f"out. Give it a name if it is a feature, else pass {arg('drop', 0)}.",
                SourceWarning,
                stacklevel=2,
            )
        return roles._replace(drop=roles.drop | {""})

    def _check_names(self, file: File, columns: Sequence[str], roles: Roles, record: bytes) -> None:
        try:
            check_utf8((name for name in columns if name not in roles.drop), record)
        except ValueError as problem:
            raise SourceError(problem, file.name, "line 1") from problem


class TsvReader(CsvReader):
    """Reader of tsv files."""

    usual_delimiter = "\t"


def _sample(lines: Records) -> tuple[list[text.Line], int]:
    """Return the first records, and how many of them decide the kinds of columns."""
    seen: list[text.Line] = []
    n_sampled = n_bytes = 0
    while n_sampled == len(seen) < SAMPLE and (chunk := lines.take(SAMPLE - len(seen)))[1]:
        seen += zip(*chunk, strict=True)
        for record in chunk[1]:
            if n_bytes > SAMPLE_BYTES:
                break
            n_bytes += len(record)
            n_sampled += 1
    return seen, n_sampled
