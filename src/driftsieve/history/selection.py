"""The best k features over time with hysteresis, and the events when a feature enters or leaves."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from driftsieve._rows.names import name_of
from driftsieve._storage.envelope import require
from driftsieve.scores.ranking import Ranks


@dataclass(frozen=True, slots=True)
class Event:
    """A feature entered the best k, or fell below rank k + margin and left.

    Parameters
    ----------
    position : float
        Position of the record.
    feature : int
        Index of the feature.
    name : str
        Name of the feature.
    kind : {"entered", "left"}
        What happened.
    rank : int
        Rank of the feature at that record.
    score : float
        Score of the feature at that record.

    See Also
    --------
    driftsieve.ScoreHistory : Its property ``events`` has the events of a history.

    Examples
    --------
    >>> from driftsieve import ScoreHistory
    >>> history = ScoreHistory("t", k=1, every=1000)
    >>> history.record(1000, [0.5, 2.5])
    >>> history.events[0]
    Event(position=1000.0, feature=1, name='x1', kind='entered', rank=1, score=2.5)
    """

    position: float
    feature: int
    name: str
    kind: Literal["entered", "left"]
    rank: int
    score: float


class Selection:
    """The current members: rank k or better enters, a rank worse than k + margin leaves."""

    def __init__(self, k: int, margin: int, max_events: int) -> None:
        self.k = k
        self.margin = margin
        self.members = np.empty(0, np.int64)  # sorted; at most k + margin
        self.events: deque[Event] = deque(maxlen=max_events)
        self.n_events = 0  # including those no longer kept

    def update(
        self,
        position: float,
        scores: NDArray[np.float64],
        ranks: Ranks,
        names: Sequence[str] | None,
    ) -> None:
        """Update the members with new ranks, and append the events."""
        left = self.members[ranks.at(self.members) > self.k + self.margin]
        entered = np.setdiff1d(ranks.best(self.k), self.members)
        self.members = np.union1d(np.setdiff1d(self.members, left), entered)
        self.n_events += left.size + entered.size
        moves: list[tuple[Literal["entered", "left"], NDArray[np.int64]]]
        moves = [("left", left), ("entered", entered)]
        for kind, features in moves:
            for f, place in zip(features.tolist(), ranks.at(features).tolist(), strict=True):
                event = Event(position, f, name_of(f, names), kind, place, float(scores[f]))
                self.events.append(event)

    def to_parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the JSON part and the arrays of the state, for :meth:`restore`."""
        columns = {name: [getattr(e, name) for e in self.events] for name in Event.__slots__}
        meta = {"n_events": self.n_events, "name": columns["name"], "kind": columns["kind"]}
        arrays = {
            "members": self.members,
            "event_position": np.array(columns["position"], np.float64),
            "event_feature": np.array(columns["feature"], np.int64),
            "event_rank": np.array(columns["rank"], np.int64),
            "event_score": np.array(columns["score"], np.float64),
        }
        return meta, arrays

    def restore(
        self, meta: dict[str, Any], arrays: dict[str, NDArray[Any]], n_features: int
    ) -> None:
        """Restore the state of :meth:`to_parts`; raise ValueError if it is not valid."""
        self.n_events, members = meta["n_events"], arrays["members"]
        require(type(self.n_events) is int and self.n_events >= 0, "number of events")
        require(members.dtype == np.int64 and members.ndim == 1, "members")
        require(bool(((members >= 0) & (members < n_features)).all()), "members")
        require(bool((np.diff(members) > 0).all()), "members")
        self.members = members
        names, kinds = meta["name"], meta["kind"]
        require(all(type(name) is str for name in names), "names of events")
        require({*kinds} <= {"entered", "left"}, "kinds of events")
        numbers = {
            key: arrays[f"event_{key}"].tolist() for key in ("position", "feature", "rank", "score")
        }
        columns = numbers | {"name": meta["name"], "kind": meta["kind"]}
        rows = zip(*(columns[key] for key in Event.__slots__), strict=True)
        self.events.extend(Event(*row) for row in rows)
