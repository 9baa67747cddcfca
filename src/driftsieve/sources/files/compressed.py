"""bz2 and xz files: compressed streams, one after the other, of which none is passed over."""

from __future__ import annotations

import bz2
import io
import lzma
from collections.abc import Callable
from functools import partial
from itertools import chain
from typing import Any

MAX_MEMORY = 1 << 27  # bytes; xz -9 makes files that need half of it
_BLOCK = 1 << 16


class Streams(io.RawIOBase):
    """The bytes that the streams in a file hold; zeros, in whole units, may follow each of them.

    Whatever else follows a stream must be another. ``BZ2File`` and ``LZMAFile`` end without a word
    where it cannot be read, and all the rows in it would be missing.
    """

    def __init__(self, raw: Any, decoder: Callable[[], Any], unit: int = 1) -> None:
        self._raw = raw
        self._new_decoder = decoder
        self._decoder = decoder()
        self._unit = unit
        self._is_empty = True  # as far as is known

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = b""
        while not data:
            given = b""
            if self._decoder.eof:
                given = self._after_zeros()
                if not given:
                    return 0
                self._decoder = self._new_decoder()
            elif self._decoder.needs_input:
                given = self._raw.read(_BLOCK)
                if not given and self._is_empty:
                    return 0
                if not given:
                    raise EOFError("the file ends before the end of its last stream")
            self._is_empty = False
            data = self._decoder.decompress(given, len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def _after_zeros(self) -> bytes:
        """Return the bytes after a stream and its zero padding; empty at the end of the file."""
        n_zeros, found = 0, b""
        for given in chain([self._decoder.unused_data], iter(partial(self._raw.read, _BLOCK), b"")):
            found = given.lstrip(b"\0")
            n_zeros += len(given) - len(found)
            if found:
                break
        if n_zeros % self._unit:
            raise ValueError(f"{n_zeros} zeros follow a stream, no multiple of {self._unit}")
        return found


def bz2_file(raw: Any) -> Streams:
    """Return the uncompressed bytes of a bz2 file.

    ``bzip2`` warns of zeros and passes over all that follows them: here it is read.
    """
    return Streams(raw, bz2.BZ2Decompressor)


def xz_file(raw: Any) -> Streams:
    """Return the uncompressed bytes of an xz file, within ``MAX_MEMORY``.

    A header may ask for 4 GiB, and ``LZMAFile`` takes them. Padding is zeros in units of four.
    """
    limited = partial(lzma.LZMADecompressor, lzma.FORMAT_AUTO, memlimit=MAX_MEMORY)
    return Streams(raw, limited, unit=4)
