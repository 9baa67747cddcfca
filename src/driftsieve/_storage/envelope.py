"""The envelope of every stored state: magic, version, checksum, a JSON header and a payload.

    offset  size  content
    0       8     magic: 89 44 53 56 0D 0A 1A 0A (".DSV", CR LF, ctrl-Z, LF: text mode breaks it)
    8       4     version, u32
    12      4     CRC-32 of everything from offset 16 on, u32
    16      8     length h of the header, u64
    24      h     header, JSON in UTF-8; its "kind" says what the payload is
    24 + h  ...   payload, to the end

All numbers are little-endian. Reading never runs code. docs/byte_format.md describes the payloads.
"""

from __future__ import annotations

import json
import math
import struct
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftsieve.exceptions import StateError

MAGIC = b"\x89DSV\r\n\x1a\n"
VERSION = 1
_FIXED = struct.Struct("<8sIIQ")
_DTYPES = ("<f8", "<i8")

Bytes = bytes | bytearray | memoryview


def pack(header: Mapping[str, Any], *payload: bytes | memoryview) -> bytes:
    """Return the envelope of ``header`` (JSON values, with a "kind") and the parts of a payload.

    A state may be large, so its parts are copied only once, here.
    """
    text = _json(header)
    parts = (struct.pack("<Q", len(text)), text, *payload)
    checksum = 0
    for part in parts:
        checksum = zlib.crc32(part, checksum)
    return b"".join((MAGIC, struct.pack("<II", VERSION, checksum), *parts))


def _json(header: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:  # a file name that is not valid text is escaped
        return json.dumps(header, separators=(",", ":")).encode()


def unpack(data: Bytes, kind: str) -> tuple[dict[str, Any], memoryview]:
    """Return header and payload of an envelope; raise StateError unless it is of this kind.

    The payload is a view of ``data``.
    """
    header, payload = _opened(data, kind)
    if header.get("kind") != kind:
        found = str(header.get("kind"))[:40]
        raise StateError(f"These bytes must be a Driftsieve {kind}, got a {found!r}.")
    return header, payload


def kind_of(data: Bytes) -> str:
    """Return the kind of state in an envelope; raise StateError if it is not valid."""
    return str(_opened(data, "state")[0].get("kind"))


def _opened(data: Bytes, kind: str) -> tuple[dict[str, Any], memoryview]:
    if not isinstance(data, Bytes):  # bytes(10**9) would allocate as many
        raise TypeError(f"data must be bytes of a Driftsieve {kind}, got {type(data).__name__}.")
    data = memoryview(data)
    data = data.cast("B") if data.c_contiguous else memoryview(bytes(data))
    if len(data) < _FIXED.size or data[: len(MAGIC)] != MAGIC:
        raise StateError(
            f"These bytes must be a Driftsieve {kind}, got bytes without its magic number."
        )
    _, version, checksum, length = _FIXED.unpack_from(data)
    if version != VERSION:
        raise StateError(
            f"The format version of these bytes must be {VERSION}, got {version}. Upgrade "
            "driftsieve, or rebuild the state from the data."
        )
    if zlib.crc32(data[16:]) != checksum:
        raise StateError(
            "These bytes must match their checksum, got truncated or corrupted bytes. Restore them "
            "from a copy, or rebuild the state from the data."
        )
    if length > len(data) - _FIXED.size:
        raise malformed("The header must not be longer than the bytes.")
    text, payload = data[_FIXED.size : _FIXED.size + length], data[_FIXED.size + length :]
    try:
        header = json.loads(bytes(text))
    except (ValueError, RecursionError) as error:
        raise malformed("The header must be JSON.") from error
    return header if isinstance(header, dict) else {}, payload


def pack_arrays(kind: str, meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return an envelope of ``meta`` (JSON values) and float64 or int64 arrays.

    Equal content gives equal bytes.
    """
    little = {name: np.asarray(a, a.dtype.newbyteorder("<")) for name, a in arrays.items()}
    listed = [[name, a.dtype.str, a.shape] for name, a in little.items()]
    json.dumps(meta, allow_nan=False)  # raises for values that are not JSON
    header = {"kind": kind, "meta": dict(sorted(meta.items())), "arrays": listed}
    return pack(header, *(a.tobytes() for a in little.values()))


def unpack_arrays(data: Bytes, kind: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the arguments of ``pack_arrays``; raise StateError if the bytes are not valid."""
    header, payload = unpack(data, kind)
    arrays: dict[str, NDArray[Any]] = {}
    start = 0
    try:
        for name, dtype, shape in header["arrays"]:
            if dtype not in _DTYPES or any(type(n) is not int or n < 0 for n in shape):
                raise ValueError(f"Array {name!r} must be valid, got {dtype!r} of shape {shape!r}.")
            count = math.prod(shape)
            if count * 8 > len(payload) - start:
                raise ValueError(f"Array {name!r} must not be longer than the bytes.")
            array = np.frombuffer(payload, dtype, count, start).reshape(shape)
            arrays[name] = array.astype(array.dtype.newbyteorder("="))
            start += array.nbytes
        if start != len(payload):
            raise ValueError("The bytes must end after the arrays, got more bytes.")
        return dict(header["meta"]), arrays
    except (KeyError, OverflowError, RecursionError, TypeError, ValueError) as error:
        raise malformed(error) from error


def require(is_valid: bool, what: str) -> None:
    """Raise ValueError unless a part of a restored state is valid."""
    if not is_valid:
        raise ValueError(f"The {what} must be valid and fit the rest of the state.")


def malformed(problem: Exception | str) -> StateError:
    """Return the error for bytes with a correct checksum and invalid content.

    The problem may quote the content, so it is cut to one line of bounded length.
    """
    line = " ".join(str(problem).split())
    line = line if len(line) <= 300 else line[:297] + "..."
    return StateError(f"These bytes must be a valid state, got a malformed one. {line}")
