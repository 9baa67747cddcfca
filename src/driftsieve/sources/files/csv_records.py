"""Records of csv text: one line each, or several if a quoted field has line ends."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from typing import Any

from driftsieve.sources.encoding.cells import row_of
from driftsieve.sources.files.text import MAX_LINE, Chunk, Line, Text, without_blank

NOT_CLOSED = "A quoted field must be closed, got no closing quote."
# largest number of lines of a record, because they are copied for each field that is not closed
_AT_ONCE = 2048


class Records:
    """The records of a text, as the csv module defines them, with one exception.

    A quoted field may continue on the next line only if its closing quote is followed by a
    delimiter or a line end, and if the record then has ``width`` columns. Otherwise the quote is an
    error: the line is bad, and the next line is parsed separately.
    """

    def __init__(self, source: Text, delimiter: str) -> None:
        self.width: int | None = None  # not known yet
        self._source = source
        self._delimiter = delimiter
        self._again = io.BytesIO()  # lines in which the end of a field was not found
        self._too_long = ""  # the line after them, as text
        self._number = 0
        comma = re.escape(delimiter.encode())
        within = rb'[^"]*+(?:""[^"]*+)*+'
        unquoted = rb'[^"%b\r\n][^%b\r\n]*+' % (comma, comma)
        strict = rb'(?:"%b"|[^"%b\r\n]*+)' % (within, comma)
        loose = rb'(?:"%b"[^%b\r\n]*+|%b|)' % (within, comma, unquoted)
        opening = rb'"%b' % within
        # Most lines have quotes only around fields, or doubled ones. This check is faster.
        self._closed = re.compile(rb"%b(?:%b%b)*+[\r\n]*+" % (strict, comma, strict))
        self._opens = re.compile(rb"(?:%b%b)*+%b" % (loose, comma, opening))
        self._goes_on = re.compile(within)
        self._closes = re.compile(rb'%b"(?:%b%b)*+[\r\n]*+' % (within, comma, loose))
        self._reopens = re.compile(rb'%b"%b(?:%b%b)*+%b' % (within, comma, loose, comma, opening))

    def take(self, n: int) -> Chunk:
        """Return up to ``n`` records with the numbers of their lines; none at the end.

        Lines that are complete records, as most are, are taken in chunks.
        """
        while not self._has_lines_again and (lines := self._source.read_lines(min(n, _AT_ONCE))):
            whole = self._n_whole(lines)
            rest: list[Any] = lines[whole:]
            self._again = io.BytesIO(b"".join(rest))
            self._number += whole
            if whole:
                chunk = without_blank(lines[:whole], self._number - whole + 1)
                if chunk[1]:
                    return chunk
        found = next(iter(self), None)
        return ([], []) if found is None else ([found[0]], [found[1]])

    @property
    def _has_lines_again(self) -> bool:
        return bool(self._too_long) or self._again.tell() < len(self._again.getbuffer())

    def _n_whole(self, lines: Sequence[Any]) -> int:
        """Return how many of the lines, from the first on, are complete records."""
        if isinstance(lines[0], bytes) and self._source.has_quotes:
            for i, line in enumerate(lines):
                if self._is_open(line):
                    return i
        return len(lines)

    def _is_open(self, line: bytes) -> bool:
        """Return whether a quoted field continues on the next line."""
        return (
            b'"' in line
            and not self._closed.fullmatch(line)
            and self._opens.fullmatch(line) is not None
        )

    def __iter__(self) -> Iterator[Line]:
        while line := self._next():
            number = self._number
            if isinstance(line, str):
                yield number, line
            elif self._is_open(line):
                yield number, self._whole(line)
            elif line.strip(b" \r\n"):
                yield number, line

    def _next(self) -> bytes | str:
        self._number += 1
        line: bytes | str = self._again.readline()
        if not line:
            line, self._too_long = self._too_long, ""
        return line or self._source.read_line()

    def _whole(self, line: bytes) -> bytes | str:
        """Return the record that starts with ``line``, or the cause of a bad line."""
        number, record = self._number, io.BytesIO()
        record.write(line)
        problem = self._add_lines(record) or self._wrong_width(record)
        if not problem:
            return record.getvalue()
        record.seek(len(line))
        self._again = io.BytesIO(record.read() + self._again.read())
        self._number = number
        return problem

    def _add_lines(self, record: io.BytesIO) -> str | None:
        """Read to the end of the record; return False if it has none."""
        fields = 1
        while record.tell() <= MAX_LINE and (self.width is None or fields <= self.width):
            more = self._next()
            if isinstance(more, str):
                self._too_long = more
                break
            record.write(more)
            if self._closes.fullmatch(more):
                return None
            if self._reopens.fullmatch(more):
                fields += 1
            elif not more or not self._goes_on.fullmatch(more):
                break
        return NOT_CLOSED

    def _wrong_width(self, record: io.BytesIO) -> str | None:
        if self.width is None:
            return None
        text = record.getvalue().decode("latin-1")
        try:
            found = len(row_of(lambda: iter([text]), self._delimiter))
        except csv.Error:
            return NOT_CLOSED
        if found == self.width:
            return None
        return f"A row must have {self.width} columns, got {found} up to the end of a quoted field."
