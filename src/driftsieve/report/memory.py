"""The features that single half-lives would select, compared with those of the learned memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from driftsieve._rows.names import name_of
from driftsieve.memory import LearnedBank
from driftsieve.memory.relevance import RELEVANCE
from driftsieve.scores import SCORES
from driftsieve.scores.ranking import Ranks
from driftsieve.scores.reader import read_bank
from driftsieve.snapshot import Floats

FEW_FEATURES = 20_000
"""With more features, only the shortest and the longest half-life are compared, because each takes
one more pass over the state."""
NAMED = 20


@dataclass(frozen=True, slots=True)
class Alternative:
    """The best k features at one half-life, compared with those of the learned memory.

    Attributes
    ----------
    half_life : float
        In ticks of the clock.
    n_same : int
        How many of the k features are the same.
    added, missed : list of str
        Names of at most 20 features that only this half-life selects, or only the learned memory.
    """

    half_life: float
    n_same: int
    added: list[str]
    missed: list[str]


def alternatives(bank: LearnedBank, learned: Floats, k: int, *, larger: bool) -> list[Alternative]:
    """Return the selection at each half-life, given the scores of the learned memory."""
    if not isinstance(bank.score_func, str):
        return []
    half_lives = bank.half_lives
    if bank.n_features > FEW_FEATURES:
        half_lives = half_lives[:1] + half_lives[-1:]
    chosen = Ranks.of(learned, larger).best(k)
    function, names = RELEVANCE[bank.score_func], bank.feature_names
    n_bins = SCORES[bank.score_func].bins(bank.n_bins)
    found = []
    for half_life in half_lives:
        relevance = read_bank(bank, function, n_bins, one_class=0.0, half_life=half_life)
        best = Ranks.of(relevance, True).best(k)
        added = best[~np.isin(best, chosen)][:NAMED].tolist()
        missed = np.setdiff1d(chosen, best)
        missed = missed[np.argsort(-learned[missed] if larger else learned[missed])][:NAMED]
        found.append(
            Alternative(
                half_life,
                int(np.isin(best, chosen).sum()),
                [name_of(f, names) for f in added],
                [name_of(f, names) for f in missed.tolist()],
            )
        )
    return found
