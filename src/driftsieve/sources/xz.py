"""xz files, whose headers are not believed about the memory they need."""

from __future__ import annotations

import io
import lzma
from typing import Any

MAX_MEMORY = 1 << 27  # bytes; xz -9 makes files that need half of it
_BLOCK = 1 << 16


class XzFile(io.RawIOBase):
    """The bytes that an xz file holds, as ``lzma.LZMAFile`` has them.

    A header may ask for 4 GiB, and LZMAFile takes them; here it is an ``LZMAError`` beyond
    ``MAX_MEMORY``.
    """

    def __init__(self, raw: Any) -> None:
        self._raw = raw
        self._decoder = _decoder()
        self._begun = False  # with the present one of the streams that follow each other

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = b""
        while not data:
            given = b""
            if self._decoder.eof:
                given = self._decoder.unused_data.lstrip(b"\0")  # streams are padded with zeros
                self._decoder, self._begun = _decoder(), False
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


def _decoder() -> lzma.LZMADecompressor:
    return lzma.LZMADecompressor(lzma.FORMAT_AUTO, memlimit=MAX_MEMORY)
