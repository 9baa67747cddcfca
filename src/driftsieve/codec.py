"""The envelope of a stored state: magic, version, checksum, a JSON header and a binary payload.

    offset  size  what
    0       8     magic: 89 44 53 56 0D 0A 1A 0A (".DSV", CR LF, ctrl-Z, LF: text mode breaks it)
    8       4     version, u32
    12      4     CRC-32 of everything from offset 16 on, u32
    16      8     length h of the header, u64
    24      h     header, JSON in UTF-8
    24 + h  ...   payload, to the end

All numbers are little-endian. Nothing in it can run code. docs/byte_format.md has the payload.
"""

from __future__ import annotations

import json
import struct
import zlib
from typing import Any

MAGIC = b"\x89DSV\r\n\x1a\n"
VERSION = 2
_FIXED = struct.Struct("<8sIIQ")


def pack(header: dict[str, Any], *payload: bytes | memoryview) -> bytes:
    """The envelope around ``header`` (anything JSON holds, with a "kind") and a payload in parts.

    A state may be large, so its parts are copied once, and here.
    """
    text = _json(header)
    parts = (struct.pack("<Q", len(text)), text, *payload)
    checksum = 0
    for part in parts:
        checksum = zlib.crc32(part, checksum)
    return b"".join((MAGIC, struct.pack("<II", VERSION, checksum), *parts))


def _json(header: dict[str, Any]) -> bytes:
    try:
        return json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:  # a file may have a name that is no text: it is spelled out
        return json.dumps(header, separators=(",", ":")).encode()


def unpack(data: bytes | memoryview, kind: str) -> tuple[dict[str, Any], memoryview]:
    """Take an envelope apart; ValueError says in one sentence what is wrong with it.

    ``kind`` is what the header's "kind" must say: a history is not a bank. The payload is where it
    was, within ``data``.
    """
    if not isinstance(data, bytes | bytearray | memoryview):  # bytes(10**9) would make as many
        raise TypeError(f"A Driftsieve {kind} is read from bytes, got {type(data).__name__}.")
    data = memoryview(data)
    data = data.cast("B") if data.c_contiguous else memoryview(bytes(data))
    if len(data) < _FIXED.size or data[: len(MAGIC)] != MAGIC:
        raise ValueError(f"These bytes are not a Driftsieve {kind}: they do not begin as one does.")
    _, version, checksum, length = _FIXED.unpack_from(data)
    if version != VERSION:
        way_out = "upgrade driftsieve" if version > VERSION else "make the state anew from the rows"
        raise ValueError(
            f"These bytes are a Driftsieve state of version {version}, and this release reads "
            f"version {VERSION}: {way_out}."
        )
    if zlib.crc32(data[16:]) != checksum:
        raise ValueError("These bytes are truncated or corrupted: their checksum does not match.")
    if length > len(data) - _FIXED.size:
        raise ValueError("These bytes are malformed: the header is longer than they are.")
    text, payload = data[_FIXED.size : _FIXED.size + length], data[_FIXED.size + length :]
    try:
        header = json.loads(bytes(text))
    except (ValueError, RecursionError) as error:
        raise ValueError("These bytes are malformed: their header is not JSON.") from error
    if not isinstance(header, dict) or header.get("kind") != kind:
        found = header.get("kind") if isinstance(header, dict) else None
        raise ValueError(f"These bytes hold a {str(found)[:40]!r}, not a Driftsieve {kind}.")
    return header, payload


def malformed(problem: Exception, what: str = "These bytes") -> ValueError:
    """The one sentence for bytes whose checksum is right and whose content is not.

    The problem may quote the content, so it is cut to a line of bounded length.
    """
    line = " ".join(str(problem).split())
    return ValueError(f"{what} are malformed: {line if len(line) <= 300 else line[:297] + '...'}")
