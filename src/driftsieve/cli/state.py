"""Files with a state: a checkpoint, a bank, a screener or a history."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from driftsieve._storage.envelope import MAGIC, kind_of
from driftsieve.cli.checkpoint import Checkpoint, Place
from driftsieve.cli.errors import CommandError
from driftsieve.history import ScoreHistory
from driftsieve.memory.reading import AnyBank, bank_from_bytes
from driftsieve.screener import FeatureScreener


class StoredState(NamedTuple):
    """The content of a file. Only a checkpoint has a position in an input."""

    bank: AnyBank | None
    history: ScoreHistory | None = None
    place: Place | None = None
    score_func: str | None = None
    """Of a screener."""


def read_state(path: Path) -> StoredState:
    """Return the state in a file; an error names the file."""
    data = path.read_bytes()
    if not data.startswith(MAGIC):
        raise CommandError(
            f"{path}: These bytes must be a Driftsieve state, got another format. Make a state "
            "with driftsieve screen --state."
        )
    try:
        kind = kind_of(data)
        if kind == "history":
            return StoredState(None, ScoreHistory.from_bytes(data))
        if kind == "checkpoint":
            checkpoint = Checkpoint.from_bytes(data)
            return StoredState(checkpoint.bank, checkpoint.history, checkpoint.place)
        if kind == "screener":
            screener = FeatureScreener.from_bytes(data)
            if not hasattr(screener, "bank_"):
                raise CommandError(
                    f"{path}: A screener must have been fitted, got one without rows."
                )
            return StoredState(screener.bank_, score_func=screener.score_func)
        return StoredState(bank_from_bytes(data))
    except ValueError as error:
        raise CommandError(f"{path}: {error}") from error


def load_bank(path: Path) -> tuple[AnyBank, Place]:
    """Return the bank in a file and its position in the input, if it has one."""
    state = read_state(path)
    if state.bank is None:
        raise CommandError(f"{path}: The file must hold a bank, got a history.")
    return state.bank, state.place or Place()
