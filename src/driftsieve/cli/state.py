"""Files that hold a state: a checkpoint, a bank or a history."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from driftsieve.bank import Bank
from driftsieve.checkpoint import Checkpoint, Place
from driftsieve.cli.errors import CommandError
from driftsieve.history import ScoreHistory

_CHECKPOINT, _HEADER = b'{"kind":"checkpoint"', 24  # see driftsieve.codec
_HISTORY = b"dshistor"


class State(NamedTuple):
    """What a file holds; a bank or a history alone has no place in any input."""

    bank: Bank | None
    history: ScoreHistory | None = None
    place: Place | None = None


def read_state(path: Path) -> State:
    """The state in a file; an error names the file."""
    data = path.read_bytes()
    try:
        if data.startswith(_HISTORY):
            return State(None, ScoreHistory.from_bytes(data))
        if data.startswith(_CHECKPOINT, _HEADER):
            checkpoint = Checkpoint.from_bytes(data)
            return State(checkpoint.bank, checkpoint.history, checkpoint.place)
        return State(Bank.from_bytes(data))
    except ValueError as error:
        raise CommandError(f"{path}: {error}") from error


def read_bank(path: Path) -> tuple[Bank, Place]:
    """The bank in a file and its place in the input, of which a bank alone tells nothing."""
    bank, _, place = read_state(path)
    if bank is None:
        raise CommandError(f"{path} holds a history, not a bank")
    return bank, place or Place()
