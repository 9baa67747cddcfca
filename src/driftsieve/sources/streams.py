"""bz2 and xz files: compressed streams, one after the other, of which none is passed over."""

from __future__ import annotations

import bz2
import io
import lzma
from collections.abc import Callable
from typing import Any

MAX_MEMORY = 1 << 27  # bytes; xz -9 makes files that need half of it
_BLOCK = 1 << 16


class Streams(io.RawIOBase):
    """The bytes that the streams in a file hold; zeros may follow each of them.

    Whatever else follows a stream must be another. ``BZ2File`` and ``LZMAFile`` end without a word
    where it cannot be read, and all the rows in it would be missing.
    """

    def __init__(self, raw: Any, decoder: Callable[[], Any]) -> None:
        self._raw = raw
        self._new_decoder = decoder
        self._decoder = decoder()
        self._begun = False  # with the present stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = b""
        while not data:
            given = b""
            if self._decoder.eof:
                given = self._decoder.unused_data.lstrip(b"\0")
                self._decoder, self._begun = self._new_decoder(), False
            if not given and self._decoder.needs_input:
                given = self._raw.read(_BLOCK)
                given = given if self._begun else given.lstrip(b"\0")
                if not given and not self._begun:
                    return 0
                if not given:
                    raise EOFError("the file ends before the end of its last stream")
            self._begun = True
            data = self._decoder.decompress(given, len(buffer))
        buffer[: len(data)] = data
        return len(data)


def bz2_file(raw: Any) -> Streams:
    """The bytes that a bz2 file holds."""
    return Streams(raw, bz2.BZ2Decompressor)


def xz_file(raw: Any) -> Streams:
    """The bytes that an xz file holds; ``LZMAError`` if they take more than ``MAX_MEMORY``.

    A header may ask for 4 GiB, and ``LZMAFile`` takes them.
    """
    return Streams(raw, lambda: lzma.LZMADecompressor(lzma.FORMAT_AUTO, memlimit=MAX_MEMORY))
