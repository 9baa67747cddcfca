"""Hints about a stream for the user: one line each, only if they apply."""

from __future__ import annotations

import math

import numpy as np

from driftsieve._rows.names import name_of
from driftsieve.cli.neighbours import Neighbours
from driftsieve.cli.show import count
from driftsieve.memory import LearnedBank
from driftsieve.memory.reading import AnyBank
from driftsieve.scores.reader import Certificate
from driftsieve.snapshot import Floats, Snapshot

_FEW = 10  # effective rows below which a class is nearly absent
_COARSE = 0.25  # largest rank error as a share of a class
_WORTH = 1.5  # rows that count as one
_NO_DRIFT = 0.02


def hints(
    bank: AnyBank, quality: Certificate, neighbours: Neighbours, *, has_history: bool
) -> list[str]:
    """Return the hints that apply to the rows that were screened."""
    longest = None if isinstance(bank, LearnedBank) else bank.half_lives[-1]
    now = bank.snapshot(features=slice(0), half_life=longest)
    fades = isinstance(bank, LearnedBank) or longest != math.inf
    found = [
        _sorted(bank, neighbours, fades=fades),
        _absent(now),
        _rare(now, quality, bank.epsilon),
        _shuffled(neighbours, learns=isinstance(bank, LearnedBank), has_history=has_history),
        _autocorrelated(bank, neighbours),
    ]
    return [f"Hint: {text}" for text in found if text]


def look_shuffled(bank: LearnedBank, neighbours: Neighbours) -> bool:
    """Return whether a long memory is best and neighbouring rows are not similar."""
    memory = bank.memory
    is_steady = memory.gain < _NO_DRIFT and memory.length > bank.n_rows / 8  # NaN: unknown
    return bank.clock == "row" and is_steady and neighbours.look_independent


def _sorted(bank: AnyBank, neighbours: Neighbours, *, fades: bool) -> str:
    is_whole = neighbours.n_rows == bank.n_rows
    if not (fades and is_whole and neighbours.are_sorted(len(bank.classes))):
        return ""
    return (
        "the rows are sorted by the label, so each class fades as the next one comes: shuffle "
        "them, or pass --half-life none."
    )


def _absent(now: Snapshot) -> str:
    rows = _rows_of_classes(now)
    few = np.flatnonzero(rows < _FEW)
    if not few.size:
        return ""
    parts = [f"{now.classes[c]} ({rows[c]:.2g})" for c in few[:3]]
    more = f" and {few.size - 3:,} more" if few.size > 3 else ""
    return (
        f"classes with few effective rows: {', '.join(parts)}{more}. Scores say little about them."
    )


def _rows_of_classes(now: Snapshot) -> Floats:
    """Return effective rows of each class, fewer where it has faded against the others."""
    rows: Floats = np.minimum(now.class_n_eff, now.n_eff * now.class_weight / now.W)
    return rows


def _rare(now: Snapshot, quality: Certificate, epsilon: float) -> str:
    shares = np.where(_rows_of_classes(now) < _FEW, np.inf, now.class_weight / now.W)
    rarest = int(shares.argmin())
    share = float(shares[rarest])
    if quality.largest <= _COARSE * share:
        return ""
    digits = -math.floor(math.log10(_COARSE * share))
    better = min(math.floor(_COARSE * share * 10**digits) / 10**digits, epsilon / 2)
    return (
        f"class {now.classes[rarest]} has {100 * share:.2g} % of the weight, and ranks are known "
        f"within {100 * quality.largest:.2g} %: pass --epsilon {better:g} for finer scores."
    )


def _shuffled(neighbours: Neighbours, *, learns: bool, has_history: bool) -> str:
    share = neighbours.n_back / max(neighbours.n_rows, 1)
    if share < _COARSE:
        return ""
    on = " and ".join(["the learned memory"] * learns + ["the history"] * has_history)
    return on and (
        f"the rows look shuffled: {100 * share:.0f} % are earlier than the row before them. Scores "
        f"do not depend on the order, but {on} may: sort the rows by time."
    )


def _autocorrelated(bank: AnyBank, neighbours: Neighbours) -> str:
    if neighbours.n_pairs < 200 or neighbours.are_sorted(len(bank.classes)):
        return ""
    both = np.clip(neighbours.columns, 0, 0.999) * min(max(neighbours.label, 0.0), 0.999)
    worth = (1 + both) / (1 - both)  # for autoregressions of order 1
    if worth.max(initial=1.0) < _WORTH:
        return ""
    best = int(worth.argmax())
    return (
        f"rows resemble those before them (autocorrelation {neighbours.label:.2f} of the label, "
        f"{neighbours.columns[best]:.2f} of {name_of(best, bank.feature_names)}): about "
        f"{worth[best]:.2g} of them count as one, so p-values are too small."
    )


def about_top(top: int, n_features: int, *, selects: bool) -> str:
    """Return a note if ``--top`` exceeds the number of features, otherwise "".

    >>> about_top(50, 6, selects=True)
    '--top 50: all 6 features are listed; the best quarter counts as selected.'
    >>> about_top(5, 6, selects=True)
    ''
    """
    if top <= n_features:
        return ""
    selected = "; the best quarter counts as selected" if selects else ""
    return f"--top {top}: all {count(n_features, 'feature')} are listed{selected}."
