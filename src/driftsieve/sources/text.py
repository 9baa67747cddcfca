"""Lines of text files: numbered, of bounded length, a chunk at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import BinaryIO

from driftsieve.sources.base import SourceError
from driftsieve.sources.files import READ_ERRORS, File, opened

MAX_LINE = 64 << 20  # bytes; a longer line is a file without line ends, not a row
MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"PK\x03\x04": "zip",
}

Line = tuple[int, bytes | str]  # its number from 1 and its bytes, or why it cannot be used


class Lines(Iterator[Line]):
    """The lines of a file that are not blank; ``bytes_read`` of the file so far."""

    def __init__(self, file: File, raw: BinaryIO, stream: BinaryIO) -> None:
        self._file = file
        self._raw = raw
        self._stream = stream
        self._number = 0

    @property
    def bytes_read(self) -> int:
        return 0 if self._file.size is None else self._raw.tell()

    def __next__(self) -> Line:
        while line := self.read():
            if isinstance(line, str) or line.strip(b" \r\n"):
                return self._number, line
        raise StopIteration

    def read(self) -> bytes | str:
        """The next line, blank or not, or why it cannot be used; empty at the end."""
        self._number += 1
        try:
            line = self._stream.readline(MAX_LINE + 1)
            if len(line) > MAX_LINE:
                while line and not line.endswith(b"\n"):
                    line = self._stream.readline(1 << 20)
                return f"the line is longer than {MAX_LINE / 2**20:g} MiB"
        except READ_ERRORS as problem:
            where = f"line {self._number}"
            raise SourceError(f"cannot be read: {problem}", self._file.name, where) from problem
        return self._first(line) if self._number == 1 else line

    def _first(self, line: bytes) -> bytes:
        for magic, kind in MAGIC.items():
            if line.startswith(magic):
                raise SourceError(f"is a {kind} file, not what its name says", self._file.name)
        if b"\0" in line:
            raise SourceError("is a binary file, not text", self._file.name)
        return line.removeprefix(b"\xef\xbb\xbf")


@contextmanager
def lines_of(file: File) -> Iterator[Lines]:
    """The lines of the file while it is open."""
    with opened(file) as (raw, stream):
        yield Lines(file, raw, stream)


def chunked(lines: Iterable[Line], size: int) -> Iterator[tuple[list[int], list[bytes | str]]]:
    """Chunks of ``size`` lines: their numbers and what they hold."""
    iterator = iter(lines)
    while chunk := list(islice(iterator, size)):
        yield [number for number, _ in chunk], [line for _, line in chunk]
