"""Every reader survives arbitrary bytes; coverage-guided runs of the same are ``make fuzz``."""

from __future__ import annotations

import pickle
import re
import struct
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import driftsieve as ds
from driftsieve._storage import envelope
from driftsieve._storage.envelope import pack_arrays, unpack_arrays
from driftsieve.cli.checkpoint import Checkpoint
from driftsieve.history import ScoreHistory

from .seeds import STATES, inputs
from .targets import TARGETS

READERS = {
    "bank": ds.Bank.from_bytes,
    "history": ScoreHistory.from_bytes,
    "screener": ds.FeatureScreener.from_bytes,
    "checkpoint": Checkpoint.from_bytes,
}
SEEDS = {kind: list(inputs(kind)) for kind in TARGETS}
edits = st.lists(st.tuples(st.integers(0, 1 << 12), st.integers(0, 255)), max_size=6)


@pytest.mark.parametrize("kind", TARGETS)
def test_valid_input_is_accepted(kind):
    for seed in SEEDS[kind]:
        TARGETS[kind](seed)


def test_a_sum_of_squares_that_no_rows_have_does_no_harm():
    bank = ds.Bank().update(sparse.csr_array(np.eye(24)), [0] * 12 + [1] * 12)
    header, payload = envelope.unpack(bank.to_bytes(), "bank")
    twelve = struct.pack("<ddQ", 12.0, 12.0, 12)
    assert twelve in payload.tobytes()
    light = payload.tobytes().replace(twelve, struct.pack("<ddQ", 12.0, 6.7e-308, 12))
    TARGETS["bank"](envelope.pack(header, light))


@pytest.mark.parametrize("kind", TARGETS)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_mutated_input_is_refused_with_a_message_or_works(kind, data):
    seed = bytearray(data.draw(st.sampled_from(SEEDS[kind])))
    for at, byte in data.draw(edits):
        seed[at % len(seed)] = byte
    end = data.draw(st.integers(0, len(seed)))
    tail = data.draw(st.sampled_from([b"", b"\0" * 9, b'{"a":', b"\xff" * 8]))
    TARGETS[kind](bytes(seed[:end]) + tail + bytes(seed[end:]))


@pytest.mark.parametrize("kind", READERS)
def test_corruption_and_invalid_content_have_different_errors(kind):
    sound = SEEDS[kind][-1]
    for at in range(0, len(sound), 7):
        flipped = bytearray(sound)
        flipped[at] ^= 0x10
        with pytest.raises(ValueError) as refusal:
            READERS[kind](bytes(flipped))
        message = str(refusal.value)
        assert "\n" not in message
        if 16 <= at < len(sound) - 4:
            assert "checksum" in message
    for end in range(0, len(sound), 5):
        with pytest.raises(ValueError):
            READERS[kind](sound[:end])


@pytest.mark.parametrize("kind", READERS)
def test_a_newer_version_is_refused_by_number(kind):
    sound = bytearray(SEEDS[kind][-1])
    sound[8:12] = struct.pack("<I", 7)
    with pytest.raises(ValueError, match="version of these bytes must be 1, got 7"):
        READERS[kind](bytes(sound))


@pytest.mark.parametrize("kind", READERS)
def test_nothing_is_unpickled(kind, tmp_path):
    class Bomb:
        def __reduce__(self):
            return Path.touch, (tmp_path / "ran",)

    with pytest.raises(ValueError):
        READERS[kind](pickle.dumps(Bomb()))
    assert not (tmp_path / "ran").exists()


def test_no_module_can_execute_its_input():
    runs = re.compile(r"\b(pickle|marshal|shelve|dill|joblib)\b.*\bload|\b(eval|exec)\(")
    for path in Path(ds.__file__).parent.rglob("*.py"):
        assert not runs.search(path.read_text()), path


def test_other_things_than_bytes_are_refused():
    with pytest.raises(TypeError, match="bytes of a Driftsieve bank, got int"):
        ds.Bank.from_bytes(10**12)


def peak(read, data):
    tracemalloc.start()
    try:
        with pytest.raises(ValueError):
            read(data)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("text", [b"[" * 900, b"{},", b'"\xd1\x8f",', b"0,"])
def test_a_header_takes_at_most_64_times_its_size(text):
    header = b'{"kind":"bank","labels":[' + text * 20_000 + b"0]}"
    data = envelope.pack({"kind": "bank"}, b"")
    body = struct.pack("<Q", len(header)) + header
    from .targets import seal

    data = seal(data[:16] + body)
    assert peak(ds.Bank.from_bytes, data) < 64 * len(data)


@pytest.mark.parametrize(
    ("name", "value"),
    [("max_features", 10**9), ("max_events", 10**30), ("max_records", 10**30), ("k", 10**12)],
)
def test_history_header_cannot_make_it_allocate_much_memory(name, value):
    sound = dict(STATES["history"]())["some"].to_bytes()
    meta, arrays = unpack_arrays(sound, "history")
    meta["parameters"][name] = value
    data = pack_arrays("history", meta, arrays)
    assert peak(ScoreHistory.from_bytes, data) < 64 * len(data) + 65536
