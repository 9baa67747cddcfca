"""The headline of a report: one or two sentences about what changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from driftsieve.history import ScoreHistory
from driftsieve.history.selection import Event
from driftsieve.scores import SCORES

_NEAR = 0.05
"""Events within this share of the stream count as one change, or as part of its start."""
_SMALL = 0.1
"""Smallest change of a score to be mentioned, as a share of the range of all scores."""
_AS_GOOD = 0.1
"""Largest distance to the k-th best score to count as equal, as a share of that of the worst."""
_DAY = 86400.0


def headline(history: ScoreHistory | None, content: Mapping[str, Any], unit: str) -> str:
    """Return the headline."""
    limit = content["largest_significant"].get(content["score"])
    is_noise = limit is not None and limit < 0
    change = "" if history is None else _change(history, unit, is_noise=is_noise)
    if change:
        return change
    best = content["names"][: 3 if history is None else min(3, history.k)]
    if is_noise or not best:
        return "No feature separates the classes now."
    verb = "separates" if len(best) == 1 else "separate"
    stayed = ""
    if history is not None and len(history) > 2:
        changed = len(history.events) > _n_initial(history)
        stayed = ", apart from brief changes" if changed else ", as all along"
    return f"{_listed(best)} {verb} the classes best{stayed}."


def places(history: ScoreHistory, positions: ArrayLike) -> list[float]:
    """Return the positions on the axis: the times, if they were recorded."""
    found = np.asarray(positions, dtype=np.float64)
    if history.times is not None:
        found = np.interp(found, history.positions, history.times)
    as_list: list[float] = found.tolist()
    return as_list


def _change(history: ScoreHistory, unit: str, *, is_noise: bool) -> str:
    """Return a sentence on the change that moved the scores most; "" without a change.

    ``is_noise`` says that no feature is significant. Most changes are then due to chance.
    """
    # The ranking of the first rows is uncertain, and often changes without a drift.
    start = history.positions[0] + _NEAR * np.ptp(history.positions)
    scores = history.scores[history.positions > start]
    scores = scores[np.isfinite(scores)]
    smallest = _SMALL * float(np.ptp(scores)) if scores.size else 0.0
    moves = {
        event: move
        for event, move in _moves(history, start).items()
        if event.position > start and move > smallest
    }
    if not moves:
        return ""
    events = list(moves)
    # A feature falls below rank k + margin often a record after another one has entered.
    gap = max(_NEAR * np.ptp(history.positions), 1.5 * np.diff(history.positions).max(initial=0))
    positions = np.array([event.position for event in events])
    near = np.abs(positions - positions[:, None]) <= gap
    found = [_net([events[i] for i in np.flatnonzero(row).tolist()]) for row in near]
    changes = max(found, key=lambda some: sum(moves[event] for event in some))
    others = [event for event in events if event not in changes]
    if not changes or (is_noise and len(others) > len(changes)):
        return ""
    spacing = float(np.diff(places(history, history.positions)).max(initial=0.0))

    def sentence(some: list[Event]) -> str:
        some = sorted(some, key=lambda event: -moves[event])
        parts = []
        for kind, verb in (("left", "left"), ("entered", "came in")):
            if names := [event.name for event in some if event.kind == kind]:
                parts.append(f"{_listed(names)} {verb}")
        where = place(places(history, [some[0].position])[0], unit, spacing)
        return f"{'; '.join(parts)} at about {where}."

    if len(others) > 1:
        return f"{sentence(changes)} There were other changes."
    return " ".join(map(sentence, [changes, others][: 1 + len(others)]))


def _net(events: Sequence[Event]) -> list[Event]:
    """Return the last event of each feature, without features that came back or left again."""
    first: dict[int, Event] = {}
    for event in events:
        first.setdefault(event.feature, event)
    last = {event.feature: event for event in events}
    return [event for f, event in last.items() if event.kind == first[f].kind]


def _moves(history: ScoreHistory, start: float) -> dict[Event, float]:
    """Return by how much the mean score of its feature has changed with each event.

    Means are of the records since the last event of the feature and until the next one. Those up to
    ``start`` do not count: scores of few rows are large by chance. While a feature was not
    followed, its score counts as the worst one of all that were. NaN: there are no other records.

    Features that are always about as good as the k-th best are left out. Such a feature may enter
    and leave without a drift: the two categories of a column have equal scores, for example.
    """
    positions, events = history.positions, history.events[_n_initial(history) :]
    known = np.isfinite(history.scores).any(axis=0) & ~_as_good_as_selected(history)
    finite = history.scores[np.isfinite(history.scores)]
    worst = finite.min if SCORES[history.score_func].larger_is_better else finite.max
    found: dict[Event, float] = {}
    for column in np.flatnonzero(known).tolist():
        own = [event for event in events if event.feature == history.features[column]]
        scores, is_known = history.scores[:, column], np.isfinite(history.scores[:, column])
        levels = []
        for begin, end in pairwise([-np.inf, *(event.position for event in own), np.inf]):
            inside = (positions >= begin) & (positions < end) & (positions > start)
            chosen = scores[inside & is_known]
            unknown = worst() if inside.any() else np.nan
            levels.append(chosen.mean() if chosen.size else unknown)
        found |= dict(zip(own, np.abs(np.diff(levels)).tolist(), strict=True))
    return found


def _as_good_as_selected(history: ScoreHistory) -> NDArray[np.bool_]:
    """Return which features have about the k-th best score in most records with a lower rank."""
    scores, ranks = history.scores, history.ranks
    kth, worst = (
        np.where(ranks == wanted, scores, -np.inf).max(axis=1, keepdims=True)
        for wanted in (history.k, ranks.max(axis=1, keepdims=True))
    )
    with np.errstate(invalid="ignore"):
        as_good = (scores == kth) | (np.abs(scores - kth) < _AS_GOOD * np.abs(worst - kth))
    below = ranks > history.k
    found: NDArray[np.bool_] = 2 * (as_good & below).sum(axis=0) > below.sum(axis=0)
    return found


def _n_initial(history: ScoreHistory) -> int:
    """Return how many of the events are the entries of the first record."""
    events = history.events
    if history.n_events > len(events):
        return 0
    return sum(event.position == events[0].position for event in events)


def _listed(names: Sequence[str], most: int = 4) -> str:
    """Return names as a part of a sentence.

    >>> _listed(["a", "b", "c"]), _listed(list("abcdef"))
    ('a, b and c', 'a, b, c and 3 more')
    """
    names = [name if len(name) <= 40 else name[:39] + "…" for name in names]
    if len(names) > most:
        names = [*names[: most - 1], f"{len(names) - most + 1:,} more"]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def place(position: float, unit: str, spacing: float = 0.0) -> str:
    """Return the position of a change, with a precision that suits the ``spacing`` of records."""
    if unit == "unix":
        exactly = "%Y-%m-%d" if spacing >= _DAY else "%Y-%m-%d %H:%M"
        return datetime.fromtimestamp(position, UTC).strftime(exactly)
    return f"row {position:,.0f}" if unit == "rows" else f"{position:,.10g} {unit}"


def significance(content: Mapping[str, Any]) -> str:
    """Return a sentence on how many features are significant; "" if that is unknown."""
    score, n = content["score"], content["n_features"]
    limit = content["largest_significant"].get(score)
    if limit is None:
        return ""
    found = int((np.array(content["pvalues"][score]) <= limit).sum())
    if not found:
        return "No feature is significant now."
    listed = len(content["pvalues"][score])
    if found == n > 1:
        return f"All {n:,} features are significant now."
    number = f"{'At least ' if found == listed < n else ''}{found:,}"
    return f"{number} of {n:,} features {'is' if found == 1 else 'are'} significant now."
