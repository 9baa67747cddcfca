"""Scores and states of banks of both kinds, with and without a learned memory."""

from __future__ import annotations

from typing import Any, TypeAlias

from driftsieve._state.settings import is_auto, is_ladder
from driftsieve._storage import envelope
from driftsieve.bank import Bank
from driftsieve.memory.bank import LearnedBank
from driftsieve.memory.storing import KIND
from driftsieve.scores import ScoreFunction, score_of
from driftsieve.scores.reader import read_bank
from driftsieve.snapshot import Floats

AnyBank: TypeAlias = Bank | LearnedBank


def learns(half_life: Any) -> bool:
    """Return whether a memory is learned: "auto", or a list of half-lives to choose from."""
    return is_auto(half_life) or is_ladder(half_life)


def read_scores(bank: AnyBank, score_func: str | ScoreFunction, n_bins: int) -> Floats:
    """Return the score of every feature, by the learned memory if there is one."""
    if isinstance(bank, LearnedBank) and bank.score_func == score_func:
        return bank.scores(n_bins)
    score = score_of(score_func)
    return read_bank(bank, score.function, score.bins(n_bins))


def bank_from_bytes(data: bytes | memoryview, *, n_threads: int | None = None) -> AnyBank:
    """Restore a bank of either kind; raise StateError if the bytes are not valid."""
    kind = LearnedBank if envelope.kind_of(data) == KIND else Bank
    return kind.from_bytes(data, n_threads=n_threads)
