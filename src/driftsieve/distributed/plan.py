"""The steps of every engine: put rows into banks, cut the banks, merge and score the cuts."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypedDict

from driftsieve._state.settings import HalfLives, is_auto
from driftsieve.bank import Bank, ClockName
from driftsieve.batch import Missing
from driftsieve.exceptions import RowError
from driftsieve.scores import SCORES
from driftsieve.snapshot import Floats

BLOCK_SIZE = 1024
"""Number of features in a block, which are merged and scored together."""


LEARN_FIRST = (
    "A batch job reads its rows in no order, so that it cannot learn from them. Fit "
    'FeatureScreener(half_life="auto") to a part of the rows, in their order, and pass its '
    "memory_.half_life; where times are dates, pass timedelta(seconds=memory_.half_life), or None "
    "if it is inf. Spark streams learn with screen_stream."
)
"""What to do about a half-life that is to be learned."""


class ScreenOptions(TypedDict, total=False):
    """Keyword arguments of every ``screen``.

    ``Plan.of`` has their defaults, which are those of ``FeatureScreener`` and ``Bank``.
    """

    score_func: str
    n_bins: int
    epsilon: float
    decay: float | None
    half_life: HalfLives | None
    missing: Missing
    block_size: int
    """Number of features that are merged and scored together."""


def check_given(half_life: Any) -> None:
    """Raise ValueError for a half-life that is to be learned, which takes rows in their order."""
    if is_auto(half_life):
        raise ValueError(
            "half_life must be a number, a duration or a list of them in a batch job, got "
            f'"auto". {LEARN_FIRST}'
        )


class BlockScores(NamedTuple):
    """The scores of consecutive features; no p-values if the score has none."""

    half_life: float
    first_feature: int
    scores: Floats
    pvalues: Floats | None


@dataclass(frozen=True)
class Plan:
    """The parameters of a screen, the same on every machine. ``Plan.of`` validates them."""

    score_func: str
    n_bins: int
    block_size: int
    settings: dict[str, Any]
    learns: bool = False
    """Whether it is learned which of the half-lives count."""

    @classmethod
    def of(
        cls,
        clock: ClockName,
        *,
        score_func: str = "mutual_info",
        n_bins: int = 5,
        epsilon: float = 0.01,
        decay: float | None = None,
        half_life: HalfLives | None = None,
        missing: Missing = "error",
        block_size: int = BLOCK_SIZE,
        whole_bank: bool = False,
    ) -> Plan:
        """Return a plan whose banks keep only what ``score_func`` needs.

        With ``whole_bank`` they keep everything and are not cut.
        """
        if score_func not in SCORES:
            names = ", ".join(map(repr, SCORES))
            raise ValueError(f"score_func must be one of {names}, got {score_func!r}.")
        keeps = SCORES[score_func].keeps
        check_given(half_life)
        if block_size < 1:
            raise ValueError(f"block_size must be at least 1, got {block_size}.")
        settings = {
            "epsilon": epsilon,
            "moments": whole_bank or keeps["moments"],
            "quantiles": whole_bank or keeps["quantiles"],
            "decay": decay,
            "half_life": half_life,
            "clock": clock,
            "missing": missing,
        }
        plan = cls(score_func, n_bins, sys.maxsize if whole_bank else block_size, settings)
        plan.bank().snapshots(n_bins)  # raises for bad settings before any work
        return plan

    @property
    def larger_is_better(self) -> bool:
        """Whether larger scores are better."""
        return SCORES[self.score_func].larger_is_better

    @property
    def fades_by_row(self) -> bool:
        """Whether the index of a row matters."""
        bank = self.bank()
        return bank.clock == "row" and math.isfinite(bank.half_lives[0])

    def bank(self) -> Bank:
        """Return an empty bank with one thread: the engine has a task for every core."""
        return Bank(**self.settings, n_threads=1)

    @property
    def fresh(self) -> Plan:
        """The same without forgetting, for the rows since the last review."""
        return replace(self, settings=self.settings | {"half_life": None, "clock": "row"})

    def cuts(self, bank: Bank) -> Iterator[tuple[int, Bank]]:
        """Yield number and bank of each block: block b begins at feature b * block_size."""
        yield from _cuts(bank, 0, self.block_size)

    def merged(self, banks: Iterable[Bank]) -> Bank:
        """Merge banks in the order of their rows.

        The banks are not changed, because an engine may pass the same one to another task.
        """
        result = self.bank()
        for bank in banks:
            if result.clock == "time" or result.now is None:
                result.merge(bank)
            else:
                result.merge(bank, start=result.now + 1)
        return result

    @property
    def has_ladder(self) -> bool:
        """Return whether there are several half-lives, each with scores of its own."""
        return len(self.bank().half_lives) > 1

    def scores(self, bank: Bank, first_feature: int = 0) -> list[BlockScores]:
        """Return the scores of all features of a (cut) bank, at each half-life."""
        score = SCORES[self.score_func]
        return [
            BlockScores(
                half_life,
                first_feature,
                score.function(snap),
                None if score.pvalues is None else score.pvalues(snap),
            )
            for half_life, snap in bank.snapshots(self.n_bins).items()
        ]


def clock_of(clock: ClockName | None, times: Any, argument: str) -> ClockName:
    """Return the clock to use; the default is "time" if there are times, else "row"."""
    clock = clock or ("row" if times is None else "time")
    if clock == "time" and times is None:
        raise ValueError(f'{argument} must be given with clock="time", got None.')
    if clock != "time" and times is not None:
        raise ValueError(f'clock must be "time" with {argument}, got {clock!r}.')
    return clock


@contextmanager
def located(where: str, first_row: int = 0) -> Iterator[None]:
    """Add the part of the input to errors, with rows counted from ``first_row``."""
    try:
        yield
    except RowError as error:
        cause, row, rest = error.args
        raise RowError(f"In {where}: {cause}", first_row + row, rest) from None
    except (TypeError, ValueError) as error:
        raise type(error)(f"In {where}: {error}") from None


def _cuts(bank: Bank, first_block: int, size: int) -> Iterator[tuple[int, Bank]]:
    # Halving copies the state once per level. Cutting one block after the other would visit the
    # whole sparse bank for every block.
    n_blocks = -(-bank.n_features // size)
    if n_blocks <= 1:
        yield first_block, bank
        return
    half = n_blocks // 2
    yield from _cuts(bank.cut(slice(0, half * size)), first_block, size)
    yield from _cuts(bank.cut(slice(half * size, None)), first_block + half, size)
