"""Text files by lines (numbered, of bounded length) or by blocks."""

from __future__ import annotations

import codecs
import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import compress
from typing import Any

from driftsieve.exceptions import SourceError
from driftsieve.sources.files.paths import READ_ERRORS, File, opened

MAX_LINE = 64 << 20  # bytes; a longer line means a file without line ends
BLOCK = 1 << 16
SIGNATURES = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"PK\x03\x04": "zip",
}

_START = 8  # number of bytes that decide the kind of a file
UNPACK = {"gzip": "gunzip -c", "bzip2": "bunzip2 -c", "xz": "xz -dc", "zstd": "zstd -dc"}

Line = tuple[int, bytes | str]  # its number from 1, and its bytes or the cause of a bad line
Chunk = tuple[list[int], list[bytes | str]]  # numbers of lines, and the lines


class Text:
    """An open text file that is read by lines or by blocks."""

    def __init__(self, file: File, raw: Any, stream: Any) -> None:
        self._file = file
        self._raw = raw
        self._stream = stream
        self._line = 0  # number of lines read
        self._at_start = True
        self._lines: list[bytes | str] = []  # lines of the last block
        self._next = 0  # index of the first one that was not read
        self._rest: list[bytes] = []  # parts of a line that continues in the next block
        self._too_long = False  # the line is too long, and its parts are not kept
        self._has_long = False  # a line of the last block is too long

    @property
    def bytes_read(self) -> int:
        """Position in the file on disk."""
        return 0 if self._file.size is None else self._raw.tell()

    def take(self, n: int) -> Chunk:
        """Return up to ``n`` lines that are not blank; none at the end."""
        while lines := self.read_lines(n):
            chunk = without_blank(lines, self._line - len(lines) + 1)
            if chunk[1]:
                return chunk
        return [], []

    def blocks(self) -> Iterator[bytes]:
        while block := self._read_block():
            self._line += block.count(b"\n")
            yield block

    def read_line(self) -> bytes | str:
        """Return the next line, blank or not, or the cause of a bad line; empty at the end."""
        return next(iter(self.read_lines(1)), b"")

    def read_lines(self, n: int) -> list[bytes | str]:
        """Return up to ``n`` of the next lines, blank or not, that are in memory; none at the end.

        The cause of a bad line is returned alone.
        """
        if self._next == len(self._lines):
            self._lines, self._next = self._split(), 0
        lines = self._lines[self._next : self._next + (1 if self._has_long else n)]
        self._next += len(lines)
        self._line += len(lines)
        return lines

    def _split(self) -> list[bytes | str]:
        """Return the lines that end in the next block that has a line end."""
        while block := self._read_block():
            end = block.rfind(b"\n") + 1
            lines = self._with_rest(block[:end]) if end else []
            self._rest.append(block[end:])
            if self._too_long or sum(map(len, self._rest)) > MAX_LINE:
                self._rest, self._too_long = [], True
            if lines:
                return lines
        return self._with_rest(b"")

    def _with_rest(self, block: bytes) -> list[bytes | str]:
        """Return the lines of a block, the first of which began in earlier blocks."""
        data = b"".join([*self._rest, block])
        lines: list[bytes | str] = [*io.BytesIO(data).readlines()]
        problem = f"A line must have at most {MAX_LINE} bytes, got more."
        self._has_long = self._too_long or len(data) > MAX_LINE
        if self._too_long:  # its end is the first of the lines, if there is one
            lines[:1] = [problem]
        if self._has_long:
            lines = [line if len(line) <= MAX_LINE else problem for line in lines]
        self._rest, self._too_long = [], False
        return lines

    def _read_block(self) -> bytes:
        try:
            block: bytes = self._stream.read1(BLOCK)
            if self._at_start:  # a pipe may return one byte at a time
                while len(block) < _START and b"\n" not in block:
                    if not (more := self._stream.read1(BLOCK)):
                        break
                    block += more
        except READ_ERRORS as problem:
            # Decompressors fail for a whole block, and do not return the bytes before the error.
            where = f"{'near ' if self._file.compression else ''}line {self._line + 1}"
            raise SourceError(
                f"The file cannot be read: {problem}", self._file.name, where
            ) from problem
        return self._start(block) if self._at_start else block

    def _start(self, data: bytes) -> bytes:
        self._at_start = False
        for magic, kind in SIGNATURES.items():
            if data.startswith(magic):
                raise self._error(
                    f"A file must have the format of its suffix, got a {kind} file.", kind
                )
        if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise self._error("Text must be UTF-8, got UTF-16. Use iconv -f UTF-16 -t UTF-8.")
        if b"\0" in data[:100].partition(b"\n")[0]:
            raise self._error("A file must be text, got binary data.")
        return data.removeprefix(b"\xef\xbb\xbf")  # byte order mark

    def _error(self, cause: str, kind: str = "") -> SourceError:
        if self._file.name == "-" and kind in UNPACK:
            cause = (
                f"Standard input must be text, got {kind} data. Unpack it first ({UNPACK[kind]}), "
                "or pass the name of the file."
            )
        return SourceError(cause, self._file.name)


def not_utf8(problem: UnicodeDecodeError) -> str:
    """Return the cause of a bad line, with advice on encodings."""
    byte = problem.object[problem.start]
    return f"Text must be UTF-8, got byte {byte:#x}. For Latin-1 use iconv -f LATIN1 -t UTF-8."


@contextmanager
def open_text(file: File) -> Iterator[Text]:
    """Open a text file."""
    with opened(file) as (raw, stream):
        yield Text(file, raw, stream)


def chunked(seen: Sequence[Line], take: Callable[[int], Chunk], size: int) -> Iterator[Chunk]:
    """Yield chunks of ``size`` lines: those that were read before, then those of ``take``."""
    start = 0
    while True:
        first = seen[start : start + size]
        start += size
        numbers, lines = [number for number, _ in first], [line for _, line in first]
        while len(lines) < size and (more := take(size - len(lines)))[1]:
            numbers += more[0]
            lines += more[1]
        if not lines:
            return
        yield numbers, lines


def without_blank(lines: list[bytes | str], first: int) -> Chunk:
    """Return the lines that are not blank with their numbers, given that of the first one."""
    numbers = [*range(first, first + len(lines))]
    if isinstance(lines[0], str) or not any(map(bytes.isspace, lines)):  # type: ignore[arg-type]
        return numbers, lines
    kept = [isinstance(line, str) or bool(line.strip(b" \r\n")) for line in lines]
    return [*compress(numbers, kept)], [*compress(lines, kept)]
