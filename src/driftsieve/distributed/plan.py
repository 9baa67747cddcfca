"""What every engine does with its share of the rows: bank them, cut, merge and score the cuts."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, TypedDict

from driftsieve.bank import Bank, ClockName
from driftsieve.batch import Missing
from driftsieve.row_error import RowError
from driftsieve.scores import SCORES
from driftsieve.snapshot import Floats

BLOCK_SIZE = 1024
"""Features in a block: what is merged and scored in one piece."""


class Options(TypedDict, total=False):
    """The keywords that every ``screen`` takes. ``Plan.of`` has their defaults, those of
    ``FeatureScreener`` and ``Bank``, which say what they mean.
    """

    score: str
    n_bins: int
    epsilon: float
    alpha: float
    half_life: float | None
    missing: Missing
    block_size: int
    """Features that are merged and scored in one piece."""


class BlockScores(NamedTuple):
    """The scores of a run of features; no p-values where the score has none."""

    first_feature: int
    scores: Floats
    pvalues: Floats | None


@dataclass(frozen=True)
class Plan:
    """How to screen; the same on every machine. Made by ``Plan.of``, which checks it."""

    score: str
    n_bins: int
    block_size: int
    settings: dict[str, Any]

    @classmethod
    def of(
        cls,
        clock: ClockName,
        *,
        score: str = "mutual_info",
        n_bins: int = 5,
        epsilon: float = 0.01,
        alpha: float = 1.0,
        half_life: float | None = None,
        missing: Missing = "error",
        block_size: int = BLOCK_SIZE,
        whole_bank: bool = False,
    ) -> Plan:
        """A plan whose banks keep only what ``score`` needs, or everything, uncut, for a
        ``whole_bank``.
        """
        if score not in SCORES:
            raise ValueError(f"score must be one of {', '.join(map(repr, SCORES))}, got {score!r}")
        if block_size < 1:
            raise ValueError(f"block_size must be at least 1, got {block_size}.")
        settings = {
            "epsilon": epsilon,
            "moments": whole_bank or SCORES[score].needs == "moments",
            "quantiles": whole_bank or SCORES[score].needs == "quantiles",
            "alpha": alpha,
            "half_life": half_life,
            "clock": clock,
            "missing": missing,
        }
        plan = cls(score, n_bins, sys.maxsize if whole_bank else block_size, settings)
        plan.bank().freeze(n_bins)  # bad settings are the caller's, and are told before any work
        return plan

    @property
    def larger_is_better(self) -> bool:
        return SCORES[self.score].larger_is_better

    @property
    def fades_by_row(self) -> bool:
        """Whether the number of a row matters."""
        bank = self.bank()
        return bank.clock == "sample" and math.isfinite(bank.half_life)

    def bank(self) -> Bank:
        """An empty bank. One thread: the engine has a task for every core."""
        return Bank(**self.settings, n_threads=1)

    def cuts(self, bank: Bank) -> Iterator[tuple[int, Bank]]:
        """The blocks of a bank by number: block b begins at feature b * block_size."""
        yield from _cuts(bank, 0, self.block_size)

    def merged(self, banks: Iterable[Bank]) -> Bank:
        """One bank of the rows of all, each bank's rows coming after those before it.

        None of them is changed: an engine may hand the same one to another task.
        """
        result = self.bank()
        for bank in banks:
            if result.clock == "time" or result.now is None:
                result.merge(bank)
            else:
                result.merge(bank, start=result.now + 1)
        return result

    def scores(self, bank: Bank, first_feature: int = 0) -> BlockScores:
        """The scores of all features of a (cut) bank."""
        snap = bank.freeze(self.n_bins)
        score = SCORES[self.score]
        pvalues = None if score.pvalues is None else score.pvalues(snap)
        return BlockScores(first_feature, score.function(snap), pvalues)


def clock_of(clock: ClockName | None, times: Any, argument: str) -> ClockName:
    """The clock to use: by default the times, if there are any, or else the rows."""
    clock = clock or ("sample" if times is None else "time")
    if clock == "time" and times is None:
        raise ValueError(f'clock="time" needs the timestamps of the rows: pass {argument}.')
    if clock != "time" and times is not None:
        raise ValueError(f'{argument} is used with clock="time" only, got clock={clock!r}.')
    return clock


@contextmanager
def located(where: str, first_row: int = 0) -> Iterator[None]:
    """Errors name the part of the input they are about, its rows counted from ``first_row``."""
    try:
        yield
    except RowError as error:
        cause, row, rest = error.args
        raise RowError(f"In {where}: {cause}", first_row + row, rest) from None
    except (TypeError, ValueError) as error:
        raise type(error)(f"In {where}: {error}") from None


def _cuts(bank: Bank, first_block: int, size: int) -> Iterator[tuple[int, Bank]]:
    # Halving copies the state once a level; cutting block after block would go through all of a
    # sparse bank for every block.
    n_blocks = -(-bank.n_features // size)
    if n_blocks <= 1:
        yield first_block, bank
        return
    half = n_blocks // 2
    yield from _cuts(bank.cut(slice(0, half * size)), first_block, size)
    yield from _cuts(bank.cut(slice(half * size, None)), first_block + half, size)
