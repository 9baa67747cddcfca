"""Text files, by lines (numbered, of bounded length) or by blocks."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

from driftsieve.sources.base import SourceError
from driftsieve.sources.files import READ_ERRORS, File, opened

MAX_LINE = 64 << 20  # bytes; a longer line is a file without line ends, not a row
BLOCK = 1 << 16
MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"PK\x03\x04": "zip",
}

UNPACK = {"gzip": "gunzip -c", "bzip2": "bunzip2 -c", "xz": "xz -dc", "zstd": "zstd -dc"}

Line = tuple[int, bytes | str]  # its number from 1 and its bytes, or why it cannot be used


class Text:
    """An open text file, which is read either by lines or by blocks."""

    def __init__(self, file: File, raw: Any, stream: Any) -> None:
        self._file = file
        self._raw = raw
        self._stream = stream
        self._line = 0  # how many were read
        self._at_start = True

    @property
    def bytes_read(self) -> int:
        """How far reading has come in the file as it lies on disk."""
        return 0 if self._file.size is None else self._raw.tell()

    def lines(self) -> Iterator[Line]:
        """The lines that are not blank."""
        while line := self.read_line():
            if isinstance(line, str) or line.strip(b" \r\n"):
                yield self._line, line

    def blocks(self) -> Iterator[bytes]:
        while block := self._read(self._stream.read1, BLOCK):
            self._line += block.count(b"\n")
            yield block

    def read_line(self) -> bytes | str:
        """The next line, blank or not, or why it cannot be used; empty at the end."""
        line = self._read(self._stream.readline, MAX_LINE + 1)
        self._line += 1
        if len(line) <= MAX_LINE:
            return line
        while line and not line.endswith(b"\n"):
            line = self._read(self._stream.readline, BLOCK)
        return f"the line is longer than {MAX_LINE} bytes"

    def _read(self, read: Callable[[int], bytes], size: int) -> bytes:
        try:
            data = read(size)
        except READ_ERRORS as problem:
            # Decompressors fail a block at a time, and keep what comes before to themselves.
            where = f"{'near ' if self._file.compression else ''}line {self._line + 1}"
            raise SourceError(f"cannot be read: {problem}", self._file.name, where) from problem
        return self._start(data) if self._at_start else data

    def _start(self, data: bytes) -> bytes:
        self._at_start = False
        for magic, kind in MAGIC.items():
            if data.startswith(magic):
                raise self._error(f"is a {kind} file, not what its name says", kind)
        if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise self._error("is UTF-16 text: make it UTF-8, as by iconv -f UTF-16 -t UTF-8")
        if b"\0" in data[:100].partition(b"\n")[0]:
            raise self._error("is a binary file, not text")
        return data.removeprefix(b"\xef\xbb\xbf")  # the mark that some editors put before UTF-8

    def _error(self, cause: str, kind: str = "") -> SourceError:
        if self._file.name == "-" and kind in UNPACK:
            cause = (
                f"is {kind} data: unpack it first ({UNPACK[kind]}), or pass the file by its name"
            )
        return SourceError(cause, self._file.name)


def not_utf8(problem: UnicodeDecodeError) -> str:
    """What is wrong with a line, and how files of other encodings are made to do."""
    byte = problem.object[problem.start]
    return f"not valid UTF-8 (byte {byte:#x}): if it is Latin-1, iconv -f LATIN1 -t UTF-8 will help"


@contextmanager
def open_text(file: File) -> Iterator[Text]:
    """The file, for as long as it is read."""
    with opened(file) as (raw, stream):
        yield Text(file, raw, stream)


def chunked(lines: Iterable[Line], size: int) -> Iterator[tuple[list[int], list[bytes | str]]]:
    """Chunks of ``size`` lines: their numbers and what they hold."""
    iterator = iter(lines)
    while chunk := list(islice(iterator, size)):
        yield [number for number, _ in chunk], [line for _, line in chunk]
