"""Stored states are restored unchanged, and damaged ones are refused."""

import struct
import zlib

import numpy as np
import pytest

from driftsieve import StateError
from driftsieve._storage.envelope import (
    MAGIC,
    VERSION,
    kind_of,
    pack_arrays,
    unpack,
    unpack_arrays,
)

META = {"name": "café", "n": 3, "x": 0.1}
ARRAYS = {
    "a": np.array([[1.5, np.nan], [np.inf, -0.0]]),
    "b": np.arange(3),
    "empty": np.zeros((0, 4)),
}


def sealed(header, payload=bytes(8), version=VERSION):
    body = struct.pack("<Q", len(header)) + header + payload
    return MAGIC + struct.pack("<II", version, zlib.crc32(body)) + body


def test_arrays_round_trip():
    data = pack_arrays("test", META, ARRAYS)
    meta, arrays = unpack_arrays(data, "test")
    assert kind_of(data) == "test"
    assert meta == META
    assert list(arrays) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        assert arrays[name].shape == array.shape
        assert arrays[name].tobytes() == array.tobytes()
        assert arrays[name].flags.writeable


def test_arrays_are_packed_in_the_documented_layout():
    header = b'{"kind":"test","meta":{},"arrays":[["a","<f8",[1]]]}'
    want = sealed(header, struct.pack("<d", 1.0))
    assert pack_arrays("test", {}, {"a": np.array([1.0])}) == want


def test_another_kind_and_another_version_are_refused():
    data = pack_arrays("test", META, ARRAYS)
    with pytest.raises(StateError, match="must be a Driftsieve bank, got a 'test'"):
        unpack(data, "bank")
    other = sealed(b'{"kind":"test"}', version=VERSION + 1)
    with pytest.raises(
        StateError, match=rf"format version .* got {VERSION + 1}\. Upgrade driftsieve"
    ):
        unpack(other, "test")


def test_every_cut_and_every_flipped_bit_is_refused():
    data = pack_arrays("test", {"n": 1}, {"a": np.array([1.0])})
    for n in range(len(data)):
        with pytest.raises(StateError):
            unpack_arrays(data[:n], "test")
        for bit in range(8):
            flipped = bytearray(data)
            flipped[n] ^= 1 << bit
            with pytest.raises(StateError):
                unpack_arrays(bytes(flipped), "test")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b'{"meta":{},"arrays":[["a","<f8",[9]]]}',
        b'{"meta":{},"arrays":[["a","<f8",[-1]]]}',
        b'{"meta":{},"arrays":[["a","<f8",[0,1000000000000000000000000]]]}',
        b'{"meta":{},"arrays":[["a","|O",[1]]]}',
        b'{"meta":{},"arrays":[["a","<f8",["1"]]]}',
        b'{"meta":{},"arrays":[]}',
        b'{"meta":3,"arrays":[["a","<f8",[1]]]}',
    ],
)
def test_a_header_with_wrong_content_is_refused(content):
    header = content.replace(b"{", b'{"kind":"test",', 1).replace(b",}", b"}")
    with pytest.raises(StateError, match="malformed"):
        unpack_arrays(sealed(header), "test")


def test_a_header_that_is_not_json_is_refused():
    with pytest.raises(StateError, match="header must be JSON"):
        unpack_arrays(sealed(b"[" * 100_000), "test")
