"""Bytes are an API: what goes in comes out, and what was damaged is refused."""

import struct
import zlib

import numpy as np
import pytest

from driftsieve.pack import pack, unpack

META = {"name": "café", "n": 3, "x": 0.1}
ARRAYS = {
    "a": np.array([[1.5, np.nan], [np.inf, -0.0]]),
    "b": np.arange(3),
    "empty": np.zeros((0, 4)),
}


def read(data):
    return unpack(data, b"dstest\0\0", 2, "a test")


def test_round_trip():
    meta, arrays = read(pack(b"dstest\0\0", 2, META, ARRAYS))
    assert meta == META
    assert list(arrays) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        assert arrays[name].shape == array.shape
        assert arrays[name].tobytes() == array.tobytes()
        assert arrays[name].flags.writeable


def test_layout():
    data = pack(b"dstest\0\0", 2, {}, {"a": np.array([1.0])})
    header = b'{"arrays":[["a","<f8",[1]]],"meta":{}}'
    body = b"dstest\0\0" + struct.pack("<II", 2, len(header)) + header + struct.pack("<d", 1.0)
    assert data == body + struct.pack("<I", zlib.crc32(body))


def test_every_cut_and_every_flipped_bit_is_refused():
    data = pack(b"dstest\0\0", 2, {"n": 1}, {"a": np.array([1.0])})
    for n in range(len(data)):
        with pytest.raises(ValueError, match="a test"):
            read(data[:n])
        for bit in range(8):
            flipped = bytearray(data)
            flipped[n] ^= 1 << bit
            with pytest.raises(ValueError, match="a test"):
                read(bytes(flipped))


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"[1]",
        b"{}",
        b'{"meta":{},"arrays":[["a","<f8",[9]]]}',
        b'{"meta":{},"arrays":[["a","<f8",[-1]]]}',
        b'{"meta":{},"arrays":[["a","<f8",[0,1000000000000000000000000]]]}',
        b'{"meta":{},"arrays":[["a","|O",[1]]]}',
        b'{"meta":{},"arrays":[["a","<f8",["1"]]]}',
        b'{"meta":{},"arrays":[]}',
        b'{"meta":3,"arrays":[["a","<f8",[1]]]}',
        b"[" * 100_000,
    ],
)
def test_a_header_that_lies_is_refused(header):
    body = b"dstest\0\0" + struct.pack("<II", 2, len(header)) + header + bytes(8)
    with pytest.raises(ValueError, match="malformed"):
        read(body + struct.pack("<I", zlib.crc32(body)))
