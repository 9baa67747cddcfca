"""ScoreHistory: scores and ranks over a stream, in bounded memory."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Sequence
from typing import Any, Literal, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from driftsieve._frames import Backend, frame_of
from driftsieve._storage.envelope import malformed, pack_arrays, require, unpack_arrays
from driftsieve.history.chart import line_chart, long_form
from driftsieve.history.selection import Event, Selection
from driftsieve.history.trace import Trace
from driftsieve.memory import LearnedBank
from driftsieve.memory.reading import AnyBank
from driftsieve.memory.summary import Memory
from driftsieve.scores import SCORES
from driftsieve.scores.ranking import Ranks
from driftsieve.selection.stability import jaccard, nogueira
from driftsieve.snapshot import Snapshot

_PARAMETERS = ("score_func", "k", "every", "margin", "max_records", "max_features", "max_events")


@runtime_checkable
class Screener(Protocol):
    """The parts of a fitted screener that a record needs."""

    score_func: Any
    bank_: AnyBank

    @property
    def scores_(self) -> NDArray[np.float64]:
        """Score of each feature."""


class ScoreHistory:
    """Scores and ranks over a stream of any length and width, in memory fixed by the parameters.

    Call :meth:`due` after each update. When it returns True, call :meth:`record` with the position
    (rows seen, or the clock) and a snapshot of all features.

    - **Records.** Each call of :meth:`record` adds a record until there are ``max_records``. Then
      every second record is dropped, and from then on only every second (fourth, ...) one is kept.
      The newest is always kept. So the records span the whole stream evenly.
    - **Features.** The best ``max_features // 2`` features are followed. When a new one needs
      space, the feature that was last among these the longest ago is dropped (of several, the one
      with the worst rank). A feature has no scores from before it was followed.
    - **Events.** A feature enters when its rank is k or better. It leaves when its rank is worse
      than ``k + margin``, so that ranks that vary around k cause no events. Every call of
      :meth:`record` finds events, also those whose records are dropped later. The newest
      ``max_events`` are kept.
    - **Memory.** :attr:`nbytes` is always 8 · max_records · (2 · max_features + k + 2)
      + 16 · max_features, and 8 · max_records more for the time and for each half-life if these
      are recorded. In addition there are the names of at most ``max_features`` features,
      ``max_events`` events, and the indices of at most ``k + margin`` members.

    Parameters
    ----------
    score_func : str
        A key of ``driftsieve.scores.SCORES``.
    k : int
        Number of features that count as selected.
    every : float
        Length of the intervals of :meth:`due`, in rows or clock units.
    margin : int, optional
        Number of ranks below k at which a member stays. Default: a fifth of k, at least 1.
    max_records : int
        Largest number of records, an even number.
    max_features : int, optional
        Largest number of followed features, at least ``2 * (k + margin)``. Default: 100, or that
        number if it is larger.
    max_events : int
        Number of events to keep.

    See Also
    --------
    driftsieve.FeatureScreener.report : Shows one in a report.

    Examples
    --------
    >>> history = ScoreHistory("mutual_info", k=1, every=100)
    >>> for rows, scores in [(100, [3, 2, 1]), (200, [2, 3, 1]), (300, [0, 3, 1])]:
    ...     if history.due(rows):
    ...         history.record(rows, scores)
    >>> [(e.position, e.name, e.kind) for e in history.events]
    [(100.0, 'x0', 'entered'), (200.0, 'x1', 'entered'), (300.0, 'x0', 'left')]
    """

    def __init__(
        self,
        score_func: str = "mutual_info",
        *,
        k: int = 10,
        every: float = 1000,
        margin: int | None = None,
        max_records: int = 256,
        max_features: int | None = None,
        max_events: int = 1000,
    ) -> None:
        if score_func not in SCORES:
            names = ", ".join(map(repr, SCORES))
            raise ValueError(f"score_func must be one of {names}, got {score_func!r}.")
        self.score_func = score_func
        self.k = _at_least(1, "k", k)
        self.every = float(every)
        if not (math.isfinite(self.every) and self.every > 0):
            raise ValueError(f"every must be a finite number above 0, got {every!r}.")
        self.margin = _at_least(0, "margin", max(1, k // 5) if margin is None else margin)
        self.max_records = _at_least(2, "max_records", max_records)
        if max_records % 2:
            raise ValueError(f"max_records must be even, got {max_records}.")
        least = 2 * (self.k + self.margin)
        self.max_features = _at_least(
            least, "max_features", max(100, least) if max_features is None else max_features
        )
        self.max_events = _at_least(0, "max_events", max_events)
        self._trace = Trace(self.k, self.max_records, self.max_features)
        self._selection = Selection(self.k, self.margin, self.max_events)

    def __repr__(self) -> str:
        return (
            f"<driftsieve.ScoreHistory: {self.score_func}, {len(self)} records of "
            f"{self.features.size} features, {self.n_events} events>"
        )

    def __len__(self) -> int:
        """Return the number of records."""
        return self._trace.rows

    @property
    def nbytes(self) -> int:
        """Size of the tables in bytes, which the parameters determine."""
        return self._trace.nbytes

    @property
    def positions(self) -> NDArray[np.float64]:
        """Position of each record, ascending."""
        return self._trace.position[: len(self)].copy()

    @property
    def n_features(self) -> int:
        """Number of features at the newest record, followed or not."""
        return self._trace.known

    @property
    def features(self) -> NDArray[np.int64]:
        """Indices of the followed features, ordered by their current rank."""
        return self._trace.feature[self._trace.columns]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of :attr:`features`."""
        return tuple(self._trace.names[c] for c in self._trace.columns)

    @property
    def scores(self) -> NDArray[np.float64]:
        """Scores, (records, features); NaN from before a feature was followed."""
        return self._trace.score[: len(self), self._trace.columns]

    @property
    def ranks(self) -> NDArray[np.int64]:
        """Ranks among all features, (records, features); 0 from before a feature was followed."""
        return self._trace.rank[: len(self), self._trace.columns]

    @property
    def selections(self) -> list[NDArray[np.int64]]:
        """Indices of the best k features of each record, ascending."""
        return [row[row >= 0] for row in self._trace.best[: len(self)]]

    @property
    def times(self) -> NDArray[np.float64] | None:
        """Clock at each record, or None if it was not recorded with all of them."""
        times = self._trace.time[: len(self)]
        return times.copy() if times.size and np.isfinite(times).all() else None

    @property
    def half_lives(self) -> tuple[float, ...]:
        """Half-lives of the learned memory; empty if none was recorded."""
        return self._trace.half_lives

    @property
    def memory_weights(self) -> NDArray[np.float64] | None:
        """Weights of :attr:`half_lives`, (records, half-lives); NaN where they are not known.

        None if no learned memory was recorded.
        """
        return self._trace.weights[: len(self)].copy() if self.half_lives else None

    @property
    def members(self) -> NDArray[np.int64]:
        """Indices of the features that entered and did not leave, ascending.

        There are between k and k + margin of them.
        """
        return self._selection.members.copy()

    @property
    def events(self) -> list[Event]:
        """The newest ``max_events`` events, oldest first."""
        return list(self._selection.events)

    @property
    def n_events(self) -> int:
        """Number of all events so far."""
        return self._selection.n_events

    def due(self, position: float) -> bool:
        """Return whether a record is due: ``position`` is in a new interval of length ``every``.

        An interval is new if it does not contain the last record; before the first record, if it
        does not begin at 0.

        Parameters
        ----------
        position : float
            Rows seen, or the clock.

        Returns
        -------
        bool

        See Also
        --------
        record : Record the scores.

        Examples
        --------
        >>> history = ScoreHistory(every=100)
        >>> history.due(99), history.due(100)
        (False, True)
        """
        last = self._trace.position[len(self) - 1] if len(self) else 0.0
        return self._interval(position) != self._interval(last)

    def _interval(self, position: float) -> int:
        """Return the index of the interval that contains a position.

        A position less than a millionth of an interval before the next one counts for that: 0.3 /
        0.1 is below 3 in floating point.
        """
        number = position / self.every
        return math.floor(number + 1e-6 + 4 * sys.float_info.epsilon * abs(number))

    def record(
        self,
        position: float,
        scores: Snapshot | ArrayLike | Screener,
        feature_names: Sequence[str] | None = None,
        *,
        memory: Memory | None = None,
        time: float | None = None,
    ) -> None:
        """Record the scores of all features at a position.

        Parameters
        ----------
        position : float
            Rows seen, or the clock. Positions must increase.
        scores : FeatureScreener, Snapshot or array-like of shape (n_features,)
            A fitted screener, a snapshot of all features, or the score of each. Later records may
            add features at the end, but must not remove or reorder any.
        feature_names : sequence of str, optional
            The names of the features. Default: those of the screener or the snapshot, or x0, x1,
            ...
        memory : Memory, optional
            The learned memory. Default: that of the screener, if it has one.
        time : float, optional
            The clock, in seconds since 1970, if the position is another one. Charts then have
            dates.

        Raises
        ------
        ValueError
            If the position does not increase, if a score is NaN, or if features were removed or
            renamed.

        See Also
        --------
        due : Whether a record is due.

        Examples
        --------
        >>> history = ScoreHistory("t", k=1)
        >>> history.record(1000, [0.5, 2.5], feature_names=["width", "height"])
        >>> history.names, history.selections
        (('height', 'width'), [array([1])])
        """
        if isinstance(scores, Screener):
            if scores.score_func != self.score_func:
                raise ValueError(
                    f"scores must be by {self.score_func!r}, as this history, got a screener with "
                    f"score_func={scores.score_func!r}."
                )
            bank = scores.bank_
            feature_names = bank.feature_names if feature_names is None else feature_names
            memory = bank.memory if isinstance(bank, LearnedBank) and memory is None else memory
            scores = scores.scores_
        elif isinstance(scores, Snapshot):
            if scores.first_feature:
                raise ValueError(
                    "scores must be a snapshot of all features, got one that starts at feature "
                    f"{scores.first_feature}."
                )
            if scores.feature_names is not None:
                feature_names = scores.feature_names
            scores = SCORES[self.score_func].function(scores)
        values = np.asarray(scores, dtype=np.float64)
        if values.ndim != 1 or values.size == 0:
            raise ValueError(f"scores must have shape (n_features,), got {values.shape}.")
        if (bad := np.isnan(values)).any():
            raise ValueError(f"scores must be numbers, got nan for feature {bad.argmax()}.")
        if feature_names is not None and len(feature_names) != values.size:
            raise ValueError(
                f"feature_names must have {values.size} names, one per score, got "
                f"{len(feature_names)}."
            )
        if not math.isfinite(position):
            raise ValueError(f"position must be a finite number, got {position!r}.")
        if len(self):
            last = self._trace.position[len(self) - 1]
            if position <= last:
                raise ValueError(
                    f"position must be after the last record, at {last}, got {position!r}."
                )
            if values.size < (known := self.n_features):
                raise ValueError(
                    f"scores must have at least {known} features, as the last record, got "
                    f"{values.size}. Do not remove features."
                )
        if feature_names is not None:
            self._trace.check_names(feature_names)
        ranks = Ranks.of(values, SCORES[self.score_func].larger_is_better)
        self._trace.add(position, values, ranks, feature_names)
        half_lives, weights = (memory.half_lives, memory.weights) if memory else ((), ())
        self._trace.note(time, half_lives, weights)
        self._selection.update(float(position), values, ranks, feature_names)

    def stability(self) -> float:
        """Compute the stability of the best k features over all records.

        Returns
        -------
        float
            Nogueira's measure; NaN where it is undefined.

        See Also
        --------
        driftsieve.selection.stability.nogueira : The measure.

        Examples
        --------
        >>> history = ScoreHistory("t", k=1)
        >>> for position in (1, 2, 3):
        ...     history.record(position, [0.5, 2.5, 1.0])
        >>> history.stability()
        1.0
        """
        return nogueira(self.selections, self.n_features)

    def stability_over_time(self, window: int = 10) -> dict[str, NDArray[np.float64]]:
        """Compute the stability of the best k features around each record.

        Parameters
        ----------
        window : int
            Number of records for ``nogueira``.

        Returns
        -------
        dict of str to ndarray of shape (records,)
            ``position``; ``nogueira``, the stability of the last ``window`` records; ``jaccard``,
            the overlap with the record before. NaN where a value is undefined.

        See Also
        --------
        stability : The stability over all records.

        Examples
        --------
        >>> history = ScoreHistory("t", k=1)
        >>> for position in (1, 2):
        ...     history.record(position, [0.5, 2.5, 1.0])
        >>> history.stability_over_time()["jaccard"]
        array([nan,  1.])
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
        """Return a data frame with one row for each record of each feature followed then.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}
            The library of the data frame.

        Returns
        -------
        DataFrame
            With the columns position, feature (the index), name, score and rank, sorted by
            position, then rank.

        See Also
        --------
        plot : Draw the ranks or scores.

        Examples
        --------
        >>> history = ScoreHistory("t", k=1)
        >>> history.record(1000, [0.5, 2.5])
        >>> history.to_frame()
           position  feature name  score  rank
        0    1000.0        1   x1    2.5     1
        1    1000.0        0   x0    0.5     2
        """
        return frame_of(long_form(self), backend, "to_frame")

    def plot(
        self, what: Literal["rank", "score"] = "rank", *, top: int = 10, unit: str = "rows"
    ) -> Any:
        """Draw the ranks or scores of the currently best features over time.

        Parameters
        ----------
        what : {"rank", "score"}
            What to draw.
        top : int
            Number of features to draw.
        unit : str
            What the positions count. Where times were recorded, the axis has dates instead.

        Returns
        -------
        altair.Chart

        Raises
        ------
        ImportError
            If the extra ``report`` is not installed.

        See Also
        --------
        to_frame : The records as a data frame.
        driftsieve.FeatureScreener.report : A report with these charts.

        Examples
        --------
        >>> history = ScoreHistory("t", k=1)
        >>> history.record(1000, [0.5, 2.5])
        >>> chart = history.plot("score", top=1)
        """
        return line_chart(self, what, top, unit)

    def to_bytes(self) -> bytes:
        """Serialize the history, so that :meth:`from_bytes` continues it exactly.

        Returns
        -------
        bytes
            In the layout of docs/byte_format.md.

        See Also
        --------
        from_bytes : The inverse.

        Examples
        --------
        >>> history = ScoreHistory("t", k=1)
        >>> history.record(1000, [0.5, 2.5])
        >>> ScoreHistory.from_bytes(history.to_bytes()).names
        ('x1', 'x0')
        """
        trace, tables = self._trace.to_parts()
        selection, events = self._selection.to_parts()
        parameters = {name: getattr(self, name) for name in _PARAMETERS}
        meta = {"parameters": parameters, "trace": trace, "selection": selection}
        return pack_arrays("history", meta, tables | events)

    @classmethod
    def from_bytes(cls, data: bytes | memoryview) -> Self:
        """Restore a history from the bytes of :meth:`to_bytes`.

        Parameters
        ----------
        data : bytes or memoryview
            A serialized history.

        Returns
        -------
        ScoreHistory

        Raises
        ------
        StateError
            If the bytes are not a valid history.

        See Also
        --------
        to_bytes : The inverse.

        Examples
        --------
        >>> history = ScoreHistory("t", k=1, every=1000)
        >>> history.record(1000, [0.5, 2.5])
        >>> len(ScoreHistory.from_bytes(history.to_bytes()))
        1
        """
        meta, arrays = unpack_arrays(data, "history")
        try:
            names = meta["trace"]["names"]
            # before memory is allocated
            require(len(names) == meta["parameters"]["max_features"], "names")
            self = cls(**meta["parameters"])
            self._trace.restore(meta["trace"], arrays)
            self._selection.restore(meta["selection"], arrays, self.n_features)
        except (ArithmeticError, LookupError, MemoryError, TypeError, ValueError) as error:
            raise malformed(error) from error
        return self


def _at_least(low: int, name: str, value: object) -> int:
    if not isinstance(value, int | np.integer) or value < low:
        raise ValueError(f"{name} must be an integer of at least {low}, got {value!r}.")
    return int(value)
