"""Merging of two LearnedBanks, also while their half-lives are not known yet."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from driftsieve.memory.waiting import Waiting

if TYPE_CHECKING:
    from driftsieve.memory.bank import LearnedBank


def merge(learned: LearnedBank, other: LearnedBank, start: float | None) -> None:
    """Add the rows of another one, all or none of them; ValueError if the settings differ."""
    for name, setting in (
        ("score_func", "score_func"),
        ("n_bins", "n_bins"),
        ("half_life", "choices"),
    ):
        ours, theirs = getattr(learned, setting), getattr(other, setting)
        if ours != theirs:
            raise ValueError(
                f"Banks must have the same {name} to be merged, got {ours!r} and {theirs!r}."
            )
    rungs = _rungs(learned, other)
    if rungs is None:
        _wait_together(learned, other)
        return
    ladder, others = (
        one._ladder if one._waiting is None else one._waiting.bank_with_rungs(rungs)
        for one in (learned, other)
    )
    if ladder.half_lives != others.half_lives:
        raise ValueError(
            'half_life must be a list for banks that are to be merged, got "auto", which gave '
            f"half-lives from {ladder.half_lives[0]:g} and from {others.half_lives[0]:g} on: they "
            "follow from the times of the first rows. Pass all banks the same list, such as "
            '["1d", "7d", "30d", None].'
        )
    ladder._beside = learned._beside(fresh=False)
    ladder.merge(others, start)
    learned._sums = learned._sums.plus(other._sums)
    learned._ladder, learned._waiting, learned._made = ladder, None, None
    learned._period = learned._next_period(learned.max_bytes - ladder.nbytes)


def _rungs(learned: LearnedBank, other: LearnedBank) -> tuple[float, ...] | None:
    """Return the half-lives after a merge; None if the rows of both banks can wait together."""
    ours, theirs = learned._waiting, other._waiting
    if ours is None or theirs is None:
        return learned.half_lives if ours is None else other.half_lives
    try:
        if ours.n_rows and theirs.n_rows:
            learned._columns.check(other._columns)
    except ValueError:  # waiting rows have the same columns
        return Waiting(ours.bank, ours.batches + theirs.batches).rungs()
    return None


def _wait_together(learned: LearnedBank, other: LearnedBank) -> None:
    changed = copy.deepcopy(learned)
    for batch in other._waiting.batches if other._waiting else ():
        changed.update(batch)
    vars(learned).update(changed.__getstate__())
