"""ScoreHistory: scores and ranks over a stream in bounded memory."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from driftsieve.codec import malformed
from driftsieve.frames import Backend, frame_of
from driftsieve.history.chart import line_chart, long_form
from driftsieve.history.selection import Event, Selection
from driftsieve.history.trace import Trace
from driftsieve.pack import pack, unpack
from driftsieve.scores import SCORES, rank
from driftsieve.snapshot import Snapshot
from driftsieve.stability import jaccard, nogueira

_MAGIC, _VERSION = b"dshistor", 1
_PARAMETERS = ("score", "k", "every", "margin", "max_records", "max_features", "max_events")


class ScoreHistory:
    """Scores and ranks over a stream of any length and width, in memory fixed by the parameters.

    Compose it with whatever learns: ask :meth:`due` after each update, and where it says so give
    :meth:`record` the position (rows seen, or the clock) and a snapshot of all features.

    - **Records.** Each call of :meth:`record` adds one until there are ``max_records``; then every
      second one is dropped, and from there on every second (fourth, ...) stays. The newest is
      always there. So the records span the whole stream evenly.
    - **Features.** Those among the best ``max_features // 2`` are followed. When a newcomer needs
      room, the feature that was last among these the longest ago is forgotten (of several, the
      one that ranks worst now). A feature has no scores from before it was followed.
    - **Events.** A feature enters when its rank is k or better, and leaves when its rank is worse
      than ``k + margin``: what swings about rank k makes no events. Every call of
      :meth:`record` looks for them, those that are dropped later too. The newest ``max_events``
      stay.
    - **Memory.** :attr:`nbytes`, at any time, is 8 · max_records · (2 · max_features + k + 2)
      + 16 · max_features; besides that there are the names of at most ``max_features`` features,
      ``max_events`` events, and the numbers of at most ``k + margin`` members.

    Parameters
    ----------
    score : str
        A key of ``driftsieve.scores.SCORES``.
    k : int
        How many features count as selected.
    every : float
        :meth:`due` is true once in each interval of this length, in rows or clock units.
    margin : int, optional
        How many ranks behind k a member may fall; default a fifth of k, at least 1.
    max_records : int
        An even number.
    max_features : int, optional
        At least ``2 * (k + margin)``; default that or 100, whichever is more.
    max_events : int
        How many events stay.

    >>> history = ScoreHistory("mutual_info", k=1, every=100)
    >>> for rows, scores in [(100, [3, 2, 1]), (200, [2, 3, 1]), (300, [0, 3, 1])]:
    ...     if history.due(rows):
    ...         history.record(rows, scores)
    >>> [(e.position, e.name, e.kind) for e in history.events]
    [(100.0, 'x0', 'entered'), (200.0, 'x1', 'entered'), (300.0, 'x0', 'left')]
    """

    def __init__(
        self,
        score: str = "mutual_info",
        *,
        k: int = 10,
        every: float = 1000,
        margin: int | None = None,
        max_records: int = 256,
        max_features: int | None = None,
        max_events: int = 1000,
    ) -> None:
        if score not in SCORES:
            raise ValueError(f"score={score!r} is unknown; expected one of {', '.join(SCORES)}")
        self.score = score
        self.k = _at_least(1, "k", k)
        self.every = float(every)
        if not (math.isfinite(self.every) and self.every > 0):
            raise ValueError(f"every={every!r}; expected a finite number above 0")
        self.margin = _at_least(0, "margin", max(1, k // 5) if margin is None else margin)
        self.max_records = _at_least(2, "max_records", max_records)
        if max_records % 2:
            raise ValueError(f"max_records={max_records} is odd; expected an even number")
        least = 2 * (self.k + self.margin)
        self.max_features = _at_least(
            least, "max_features", max(100, least) if max_features is None else max_features
        )
        self.max_events = _at_least(0, "max_events", max_events)
        self._trace = Trace(self.k, self.max_records, self.max_features)
        self._selection = Selection(self.k, self.margin, self.max_events)

    def __repr__(self) -> str:
        return (
            f"<ScoreHistory of {self.score}: {len(self)} records of {self.features.size} features, "
            f"{self.n_events} events>"
        )

    def __len__(self) -> int:
        """The number of records there are now."""
        return self._trace.rows

    @property
    def nbytes(self) -> int:
        """The bytes of the tables: fixed by the parameters, see the class."""
        return self._trace.nbytes

    @property
    def positions(self) -> NDArray[np.float64]:
        """Where each record was made, increasing."""
        return self._trace.position[: len(self)].copy()

    @property
    def n_features(self) -> int:
        """How many features there were at the newest record, followed or not."""
        return self._trace.known

    @property
    def features(self) -> NDArray[np.int64]:
        """The features followed, the best of now first."""
        return self._trace.feature[self._trace.columns]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of :attr:`features`."""
        return tuple(self._trace.names[c] for c in self._trace.columns)

    @property
    def scores(self) -> NDArray[np.float64]:
        """(records, features): the scores; nan from before a feature was followed."""
        return self._trace.score[: len(self), self._trace.columns]

    @property
    def ranks(self) -> NDArray[np.int64]:
        """(records, features): the ranks among all features; 0 from before one was followed."""
        return self._trace.rank[: len(self), self._trace.columns]

    @property
    def selections(self) -> list[NDArray[np.int64]]:
        """The best k of each record, sorted by feature."""
        return [row[row >= 0] for row in self._trace.best[: len(self)]]

    @property
    def members(self) -> NDArray[np.int64]:
        """The features that entered and did not leave, sorted: k to k + margin of them."""
        return self._selection.members.copy()

    @property
    def events(self) -> list[Event]:
        """The newest ``max_events`` events, oldest first."""
        return list(self._selection.events)

    @property
    def n_events(self) -> int:
        """How many events there ever were."""
        return self._selection.n_events

    def due(self, position: float) -> bool:
        """Whether ``position`` is in another interval of length ``every`` than the last record.

        Before the first record: in another than the one that begins at 0.
        """
        last = self._trace.position[len(self) - 1] if len(self) else 0.0
        return math.floor(position / self.every) != math.floor(last / self.every)

    def record(
        self,
        position: float,
        scores: Snapshot | ArrayLike,
        feature_names: Sequence[str] | None = None,
    ) -> None:
        """Take in a snapshot of all features, or the score of each, as of ``position``.

        Positions increase. Features may be added at the end but not taken away. Names are those
        of the snapshot, or ``feature_names``; without any, feature 3 is x3.
        """
        if isinstance(scores, Snapshot):
            if scores.first_feature:
                raise ValueError(
                    f"the snapshot begins at feature {scores.first_feature}; freeze all features"
                )
            if scores.feature_names is not None:
                feature_names = scores.feature_names
            scores = SCORES[self.score].function(scores)
        values = np.asarray(scores, dtype=np.float64)
        if values.ndim != 1 or values.size == 0:
            raise ValueError(f"expected one score for each feature; got shape {values.shape}")
        if (bad := np.isnan(values)).any():
            raise ValueError(f"the score of feature {bad.argmax()} is nan; expected a number")
        if feature_names is not None and len(feature_names) != values.size:
            raise ValueError(f"got {len(feature_names)} feature names for {values.size} scores")
        if not math.isfinite(position):
            raise ValueError(f"position={position!r}; expected a finite number")
        if len(self):
            last = self._trace.position[len(self) - 1]
            if position <= last:
                raise ValueError(f"position={position!r} is not after the last record, at {last}")
            if values.size < (known := self.n_features):
                raise ValueError(f"got {values.size} features after {known}; none may go away")
        ranks = rank(values, SCORES[self.score].larger_is_better)
        self._trace.add(position, values, ranks, feature_names)
        self._selection.update(float(position), values, ranks, feature_names)

    def stability(self) -> float:
        """Nogueira's stability of the best k over all records; nan where it is undefined."""
        return nogueira(self.selections, self.n_features)

    def stability_over_time(self, window: int = 10) -> dict[str, NDArray[np.float64]]:
        """For each record its ``position`` and the stability of the best k around it.

        ``nogueira`` is over the last ``window`` records, ``jaccard`` against the record before;
        nan where there is none.
        """
        _at_least(2, "window", window)
        chosen, width = self.selections, self._trace.width
        around = [chosen[max(0, i - window) : i] for i in range(1, len(self) + 1)]
        pairs = itertools.pairwise(chosen)
        return {
            "position": self.positions,
            "nogueira": np.array(
                [nogueira(c, int(w)) for c, w in zip(around, width, strict=False)]
            ),
            "jaccard": np.array([math.nan, *(jaccard(a, b) for a, b in pairs)][: len(self)]),
        }

    def to_frame(self, backend: Backend = "pandas") -> Any:
        """A frame with a row for each record of each feature followed then.

        Its columns are position, feature (the number), name, score, rank; sorted by position,
        then rank.
        """
        return frame_of(long_form(self), backend, "to_frame")

    def plot(self, what: Literal["rank", "score"] = "rank", *, top: int = 10) -> Any:
        """An ``altair.Chart`` of the ranks or scores of the ``top`` best of now over time.

        It needs the extra ``report``.
        """
        return line_chart(self, what, top)

    def to_bytes(self) -> bytes:
        """Everything, so that :meth:`from_bytes` goes on as if nothing had happened.

        The layout is that of ``driftsieve.pack``.
        """
        trace, tables = self._trace.to_parts()
        selection, events = self._selection.to_parts()
        parameters = {name: getattr(self, name) for name in _PARAMETERS}
        meta = {"parameters": parameters, "trace": trace, "selection": selection}
        return pack(_MAGIC, _VERSION, meta, tables | events)

    @classmethod
    def from_bytes(cls, data: bytes | memoryview) -> Self:
        """The history that :meth:`to_bytes` wrote; ValueError where the bytes are not one."""
        meta, arrays = unpack(data, _MAGIC, _VERSION, "a ScoreHistory")
        try:
            names = meta["trace"]["names"]
            if len(names) != meta["parameters"]["max_features"]:  # before room is made for them
                raise ValueError(f"{len(names)} names for the features")
            self = cls(**meta["parameters"])
            self._trace.restore(meta["trace"], arrays)
            self._selection.restore(meta["selection"], arrays, self.n_features)
        except (ArithmeticError, LookupError, MemoryError, TypeError, ValueError) as error:
            raise malformed(error, "the bytes of a ScoreHistory") from error
        return self


def _at_least(low: int, name: str, value: object) -> int:
    if not isinstance(value, int | np.integer) or value < low:
        raise ValueError(f"{name}={value!r}; expected an integer of at least {low}")
    return int(value)
