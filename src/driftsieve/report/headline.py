"""The headline of a report: one or two sentences about what changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from driftsieve.history import ScoreHistory
from driftsieve.history.selection import Event
from driftsieve.scores import SCORES

_NEAR = 0.05
"""Events within twice this share of the stream count as one change; once, as part of its start."""
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
    # The score of a feature falls often a record after that of another one has risen.
    gap = max(_NEAR * np.ptp(history.positions), 1.5 * np.diff(history.positions).max(initial=0))
    events = _lasting(moves, 2 * gap)
    if not events:
        return ""
    positions = np.array([event.position for event in events])
    later = positions - positions[:, None]
    near = (later >= 0) & (later <= 2 * gap)
    found = [[events[i] for i in np.flatnonzero(row).tolist()] for row in near]
    changes = max(found, key=lambda some: sum(moves[event] for event in some))
    others = [event for event in events if event not in changes]
    if is_noise and len(moves) > 2 * len(changes):
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


def _lasting(events: Iterable[Event], gap: float) -> list[Event]:
    """Return the events without those of features that came back or left again within a gap."""
    found: list[Event] = []
    for event in events:
        last = found[-1] if found else None
        is_same = last is not None and last.feature == event.feature and last.kind != event.kind
        if last is not None and is_same and event.position - last.position <= gap:
            found.pop()
        else:
            found.append(event)
    return found


def _moves(history: ScoreHistory, start: float) -> dict[Event, float]:
    """Return events at the rows where the score of their feature has changed, and by how much.

    An event waits until the rank has changed, and a score may have fallen long before. So each is
    moved to the record that parts the scores since the last event of the feature and until the next
    one best. Records up to ``start`` do not count: scores of few rows are large by chance. While a
    feature was not followed, its score counts as the worst one of all that were.

    Features that are always about as good as the k-th best are left out. Such a feature may enter
    and leave without a drift: the two categories of a column have equal scores, for example.
    """
    events = history.events[_n_initial(history) :]
    known = np.isfinite(history.scores).any(axis=0) & ~_as_good_as_selected(history)
    finite = history.scores[np.isfinite(history.scores)]
    worst = finite.min if SCORES[history.score_func].larger_is_better else finite.max
    late = history.positions > start
    found: dict[Event, float] = {}
    for column in np.flatnonzero(known).tolist():
        own = [event for event in events if event.feature == history.features[column]]
        scores = history.scores[:, column]
        scores = np.where(np.isfinite(scores), scores, worst())
        ends = [-np.inf, *(event.position for event in own), np.inf]
        for event, begin, end in zip(own, ends, ends[2:], strict=False):
            inside = late & (history.positions >= begin) & (history.positions < end)
            if inside.sum() > 1:
                at, move = _step(scores[inside])
                position = float(history.positions[inside][at])
                found[replace(event, position=position)] = move
    return found


def _step(values: NDArray[np.float64]) -> tuple[int, float]:
    """Return the index from which on values differ most from those before, and by how much.

    >>> _step(np.array([0.0, 0.0, 2.0, 2.0]))
    (2, 2.0)
    """
    n = np.arange(1, len(values))
    before = np.cumsum(values)[:-1]
    moves = np.abs((values.sum() - before) / n[::-1] - before / n)
    best = int(np.argmax(n * n[::-1] * moves**2))
    return best + 1, float(moves[best])


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
