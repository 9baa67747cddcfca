"""A small dictionary and some arrays as bytes, without pickle.

::

    offset      bytes  content
    0           8      magic, says what the bytes hold
    8           4      version of the layout, unsigned, little endian (as all numbers here)
    12          4      length H of the header, unsigned
    16          H      header: UTF-8 JSON {"meta": {...}, "arrays": [[name, dtype, shape], ...]}
    16 + H      ...    the arrays in that order, C order, nothing between them
    end - 4     4      CRC-32 of everything before it

The same content always gives the same bytes.
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

from driftsieve.codec import malformed

_PREFIX = struct.Struct("<8sII")
_DTYPES = ("<f8", "<i8")


def pack(
    magic: bytes, version: int, meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> bytes:
    """The bytes of ``meta`` (anything JSON holds) and ``arrays`` (float64 and int64)."""
    little = {name: np.asarray(a, a.dtype.newbyteorder("<")) for name, a in arrays.items()}
    listed = [[name, a.dtype.str, a.shape] for name, a in little.items()]
    header = json.dumps(
        {"meta": meta, "arrays": listed}, sort_keys=True, allow_nan=False, separators=(",", ":")
    ).encode()
    body = b"".join(a.tobytes() for a in little.values())
    data = _PREFIX.pack(magic, version, len(header)) + header + body
    return data + struct.pack("<I", zlib.crc32(data))


def unpack(
    data: bytes | memoryview, magic: bytes, version: int, what: str
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """What :func:`pack` was given; ValueError where the bytes are not such, or were damaged."""
    if len(data) < _PREFIX.size + 4 or data[:8] != magic:
        raise ValueError(f"these bytes are not {what}: expected them to begin with {magic!r}")
    _, found, length = _PREFIX.unpack_from(data)
    if found != version:
        raise ValueError(f"{what} of version {found}; this release reads version {version}")
    if zlib.crc32(memoryview(data)[:-4]) != int.from_bytes(data[-4:], "little"):
        raise ValueError(f"the bytes of {what} are damaged or cut short: the checksum differs")
    start = _PREFIX.size
    try:
        header = json.loads(bytes(data[start : start + length]))
        arrays: dict[str, NDArray[Any]] = {}
        start += length
        for name, dtype, shape in header["arrays"]:
            if dtype not in _DTYPES or any(type(n) is not int or n < 0 for n in shape):
                raise ValueError(f"array {name!r} is {dtype!r} of shape {shape!r}")
            count = math.prod(shape)
            if count * 8 > len(data) - 4 - start:
                raise ValueError(f"array {name!r} is longer than the bytes")
            array = np.frombuffer(data, dtype, count, start).reshape(shape)
            arrays[name] = array.astype(array.dtype.newbyteorder("="))
            start += array.nbytes
        if start != len(data) - 4:
            raise ValueError("there are bytes left over")
        return dict(header["meta"]), arrays
    except (KeyError, OverflowError, RecursionError, TypeError, ValueError) as error:
        raise malformed(error, f"the bytes of {what}") from error
