"""Checkpoints come back as they were, and nothing else passes for one."""

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from driftsieve import Bank
from driftsieve._storage import envelope
from driftsieve._storage.fingerprint import Seen
from driftsieve.cli.checkpoint import Checkpoint, Place
from driftsieve.history import ScoreHistory

SETTINGS = {"target": "y", "half_life": 100.0, "drop": ["id"], "header": "auto"}


def rows(seed: int, n: int = 500) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, (X[:, 1] + rng.normal(size=n) > 0).astype(int)


@pytest.fixture
def checkpoint() -> Checkpoint:
    bank = Bank(half_life=100).update(*rows(0))
    history = ScoreHistory(k=1, every=100)
    history.record(500, bank.snapshot())
    place = Place(500, 2, ("mail.csv, line 3: no",), [Seen("mail.csv", 9, 7, "ab")], SETTINGS)
    return Checkpoint(bank, place, history)


def test_file_names_that_are_not_text_are_stored(checkpoint: Checkpoint) -> None:
    place = Place(500, 1, ("caf\udce9 ü.csv, line 3: no",), None, SETTINGS)
    again = Checkpoint.from_bytes(Checkpoint(checkpoint.bank, place).to_bytes())
    assert again.place == place


def test_round_trip_restores_everything(checkpoint: Checkpoint, tmp_path: Path) -> None:
    checkpoint.save(tmp_path / "bank.dsv")
    again = Checkpoint.load(tmp_path / "bank.dsv")
    assert again.place == checkpoint.place
    assert again.bank.to_bytes() == checkpoint.bank.to_bytes()
    assert again.history is not None
    assert again.history.to_bytes() == checkpoint.history.to_bytes()  # type: ignore[union-attr]
    assert again.to_bytes() == checkpoint.to_bytes()


def test_counts_of_left_out_values_are_stored(checkpoint: Checkpoint) -> None:
    place = Place(500, values_ignored=3)
    data = Checkpoint(checkpoint.bank, place).to_bytes()
    assert Checkpoint.from_bytes(data).place == place
    header, payload = envelope.unpack(data, "checkpoint")
    del header["values_ignored"]
    earlier = Checkpoint.from_bytes(envelope.pack(header, payload))
    assert earlier.place == Place(500)
    assert earlier.to_bytes() == envelope.pack(header, payload)


def test_positions_can_be_numpy_integers(checkpoint: Checkpoint) -> None:
    position: Any = np.int64(5)
    again = Checkpoint.from_bytes(Checkpoint(checkpoint.bank, Place(position)).to_bytes())
    assert again.place == Place(5)


def test_history_and_files_may_be_absent(checkpoint: Checkpoint) -> None:
    again = Checkpoint.from_bytes(Checkpoint(checkpoint.bank, Place()).to_bytes())
    assert again.history is None
    assert again.place == Place()


def test_restored_bank_continues_to_the_same_bits(checkpoint: Checkpoint) -> None:
    again = Checkpoint.from_bytes(checkpoint.to_bytes())
    for seed in (1, 2, 3):
        again.bank.update(*rows(seed))
        checkpoint.bank.update(*rows(seed))
    assert again.bank.to_bytes() == checkpoint.bank.to_bytes()


def test_any_byte_changed_or_missing_is_noticed(checkpoint: Checkpoint) -> None:
    data = checkpoint.to_bytes()
    for at in {*range(200), *range(0, len(data), 997), len(data) - 1}:
        with pytest.raises(ValueError):
            Checkpoint.from_bytes(data[:at])
        with pytest.raises(ValueError):
            Checkpoint.from_bytes(data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :])


def broken(key: str, value: Any) -> Callable[[dict[str, Any]], None]:
    return lambda header: header.update({key: value})


@pytest.mark.parametrize(
    "change",
    [
        broken("position", -1),
        broken("position", True),
        broken("position", 1.5),
        broken("rows_skipped", None),
        broken("reasons", "no"),
        broken("reasons", [1]),
        broken("files", {}),
        broken("files", [["mail.csv", 9, 7]]),
        broken("files", [["mail.csv", 9, "7", "ab"]]),
        broken("settings", []),
        broken("values_ignored", -1),
        broken("values_ignored", None),
        broken("bank_bytes", 10**12),
        broken("bank_bytes", -1),
        broken("bank_bytes", None),
        broken("bank_bytes", 100),
        lambda header: header.clear(),
    ],
)
def test_impossible_header_is_refused(
    change: Callable[[dict[str, Any]], None], checkpoint: Checkpoint
) -> None:
    header, payload = envelope.unpack(checkpoint.to_bytes(), "checkpoint")
    change(header)
    json.dumps(header)  # the checksum is right, the content is not
    with pytest.raises(ValueError):
        Checkpoint.from_bytes(envelope.pack(header, payload))


def test_a_large_state_is_read_where_it_is() -> None:
    X = np.random.default_rng(0).normal(size=(1000, 200))
    bank = Bank().update(X, X[:, 0] > 0)
    data = Checkpoint(bank, Place()).to_bytes()
    assert len(data) > X.nbytes  # rows are kept as they are
    tracemalloc.start()
    again = Checkpoint.from_bytes(data)
    copied = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert again.bank.to_bytes() == bank.to_bytes()
    assert copied < len(data) / 4


@pytest.mark.parametrize("buffer", [bytearray, memoryview, lambda data: np.frombuffer(data, "u1")])
def test_arbitrary_bytes_are_parsed_or_reported(
    buffer: Callable[[bytes], Any], checkpoint: Checkpoint
) -> None:
    data = checkpoint.to_bytes()
    assert Checkpoint.from_bytes(memoryview(buffer(data))).to_bytes() == data
    strided = np.repeat(np.frombuffer(data, "u1"), 2)[::2]
    assert Checkpoint.from_bytes(memoryview(strided)).to_bytes() == data


def test_bytes_of_a_bank_are_refused_as_a_checkpoint(checkpoint: Checkpoint) -> None:
    with pytest.raises(ValueError, match="must be a Driftsieve checkpoint, got a 'bank'"):
        Checkpoint.from_bytes(checkpoint.bank.to_bytes())
