"""bz2 and xz files: one or more compressed streams, all of which are read."""

from __future__ import annotations

import bz2
import io
import lzma
from collections.abc import Callable
from functools import partial
from itertools import chain
from typing import Any

MAX_MEMORY = 1 << 27  # bytes; files made by xz -9 need half of it
_BLOCK = 1 << 16


class Streams(io.RawIOBase):
    """The bytes of the streams in a file. Each may be followed by zeros, in whole units.

    Anything else after a stream must be another stream. ``BZ2File`` and ``LZMAFile`` end silently
    at data that they cannot read, and its rows would be missing.
    """

    def __init__(self, raw: Any, decoder: Callable[[], Any], unit: int = 1) -> None:
        self._raw = raw
        self._new_decoder = decoder
        self._decoder = decoder()
        self._unit = unit
        self._is_empty = True  # None if not known yet

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

    ``bzip2`` warns of zeros and ignores what follows them. Here it is read.
    """
    return Streams(raw, bz2.BZ2Decompressor)


def xz_file(raw: Any) -> Streams:
    """Return the uncompressed bytes of an xz file, within ``MAX_MEMORY``.

    A header may request 4 GiB, which ``LZMAFile`` would allocate. Padding is zeros in units of
    four.
    """
    limited = partial(lzma.LZMADecompressor, lzma.FORMAT_AUTO, memlimit=MAX_MEMORY)
    return Streams(raw, limited, unit=4)
