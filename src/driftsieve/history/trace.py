"""The tables behind a history: some records of some features, of fixed size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftsieve._rows.names import name_of
from driftsieve._storage.envelope import require
from driftsieve.scores.ranking import Ranks

_TABLES = ("position", "width", "best", "score", "rank")  # one row for each record
_OPTIONAL = ("time", "weights")  # likewise, from the first record on that has them
_COLUMNS = ("feature", "last_best")  # one entry for each column


class Trace:
    """At most ``max_records`` records of at most ``max_features`` features.

    :class:`ScoreHistory` describes which records and features are kept.
    """

    def __init__(self, k: int, max_records: int, max_features: int) -> None:
        self.max_records = max_records
        self.half = max_features // 2
        self.count = 0  # records added so far
        self.stride = 1  # row i holds record (i + 1) * stride; the last row holds the newest
        self.rows = 0
        self.position = np.zeros(max_records)
        self.width = np.zeros(max_records, np.int64)  # number of features
        # Rows are filled on first use: untouched pages take no physical memory.
        self.best = np.zeros((max_records, k), np.int64)  # the best k; -1 if there are fewer
        self.score = np.zeros((max_records, max_features))
        self.rank = np.zeros((max_records, max_features), np.int64)  # 0: not followed
        self.feature = np.full(max_features, -1, np.int64)  # feature of each column; -1: none
        self.last_best = np.zeros(max_features, np.int64)  # count when last in the best half
        self.names = [""] * max_features
        self.time = np.zeros(0)  # the clock at each record; empty: it is not recorded
        self.half_lives: tuple[float, ...] = ()
        self.weights = np.zeros((0, 0))  # of the half-lives at each record; NaN: not known

    @property
    def nbytes(self) -> int:
        """Size of the tables in bytes."""
        return sum(getattr(self, name).nbytes for name in _TABLES + _OPTIONAL + _COLUMNS)

    @property
    def known(self) -> int:
        """Number of features at the newest record."""
        return int(self.width[self.rows - 1]) if self.rows else 0

    @property
    def columns(self) -> NDArray[np.int64]:
        """Columns in use, ordered by the current rank of their features."""
        used = np.flatnonzero(self.feature >= 0)
        return used[np.argsort(self.rank[self.rows - 1, used])]

    def add(
        self,
        position: float,
        scores: NDArray[np.float64],
        ranks: Ranks,
        names: Sequence[str] | None,
    ) -> None:
        """Add a record."""
        self._next_row()
        self._follow(ranks, names)
        row = self.rows - 1
        best = np.sort(ranks.best(self.best.shape[1]))
        self.position[row], self.width[row] = position, scores.size
        self.best[row] = -1
        self.best[row, : best.size] = best
        used = self.feature >= 0
        self.score[row] = np.where(used, scores[self.feature], np.nan)
        self.rank[row] = np.where(used, ranks.at(self.feature), 0)

    def note(
        self, time: float | None, half_lives: tuple[float, ...], weights: Sequence[float]
    ) -> None:
        """Add the clock, and the weights of the half-lives of a learned memory, to the record."""
        row = self.rows - 1
        if time is not None and not self.time.size:
            self.time = np.full(self.max_records, np.nan)
        if half_lives and half_lives != self.half_lives:
            self.half_lives = half_lives
            self.weights = np.full((self.max_records, len(half_lives)), np.nan)
        if self.time.size:
            self.time[row] = np.nan if time is None else time
        if self.weights.size:
            self.weights[row] = weights if half_lives else np.nan

    def check_names(self, names: Sequence[str]) -> None:
        """Raise ValueError if a followed feature has a new name."""
        for column in self.columns.tolist() if self.rows else ():
            known, name = self.names[column], str(names[self.feature[column]])
            if name != known:
                raise ValueError(
                    "feature_names must be those of the last record, in the same order, got "
                    f"{name!r} for feature {self.feature[column]}, which was {known!r}. Reorder "
                    "the scores."
                )

    def _next_row(self) -> None:
        if self.count % self.stride == 0:  # keep the newest row; otherwise overwrite it
            if self.rows == self.max_records:
                self.rows //= 2
                self.stride *= 2
                for table in (getattr(self, name) for name in _TABLES + _OPTIONAL):
                    table[: self.rows] = table[1::2]
            self.rows += 1
        self.count += 1

    def _follow(self, ranks: Ranks, names: Sequence[str] | None) -> None:
        best = np.sort(ranks.best(self.half))
        new = np.setdiff1d(best, self.feature)
        kept = np.isin(self.feature, best)
        behind = np.where(self.feature >= 0, ranks.at(self.feature), 0)
        order = np.lexsort((-behind, self.last_best))  # unused columns first: last_best is 0
        columns = order[~kept[order]][: new.size]
        self.feature[columns] = new
        self.score[: self.rows, columns] = np.nan
        self.rank[: self.rows, columns] = 0
        for column, feature in zip(columns.tolist(), new.tolist(), strict=True):
            self.names[column] = name_of(feature, names)
        kept[columns] = True
        self.last_best[kept] = self.count

    def to_parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the JSON part and the arrays of the state, for :meth:`restore`."""
        meta = {"count": self.count, "stride": self.stride, "names": self.names}
        if self.half_lives:
            meta["half_lives"] = list(map(str, self.half_lives))  # JSON has no infinity
        tables = [*_TABLES, *(name for name in _OPTIONAL if getattr(self, name).size)]
        rows = {name: getattr(self, name)[: self.rows] for name in tables}
        return meta, rows | {name: getattr(self, name) for name in _COLUMNS}

    def restore(self, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Restore the state of :meth:`to_parts`; raise ValueError if it is not valid."""
        self.count, self.stride = meta["count"], meta["stride"]
        require(type(self.count) is int, "count")
        require(type(self.stride) is int and self.stride >= 1, "stride")
        self.rows = -(-self.count // self.stride)
        self.names = [str(name) for name in meta["names"]]
        require(0 <= self.rows <= self.max_records, "number of records")
        require(len(self.names) == self.feature.size, "names")
        self.half_lives = tuple(map(float, meta.get("half_lives", ())))
        self.weights = np.zeros((self.max_records if self.half_lives else 0, len(self.half_lives)))
        self.time = np.zeros(self.max_records if "time" in arrays else 0)
        for name, mine in self.to_parts()[1].items():
            theirs = arrays[name]
            require(theirs.shape == mine.shape and theirs.dtype == mine.dtype, name)
            mine[...] = theirs
        is_feature = (self.feature >= -1) & (self.feature < self.known)
        require(bool(is_feature.all()), "followed features")
        used, rows = self.feature[self.feature >= 0], slice(0, self.rows)
        is_valid = (
            used.size == np.unique(used).size
            and np.isfinite(self.position[rows]).all()
            and (np.diff(self.position[rows]) > 0).all()
            and (self.width[rows] >= 1).all()
            and (np.diff(self.width[rows]) >= 0).all()
            and (self.best[rows] >= -1).all()
            and (self.best[rows] < self.width[rows, None]).all()
            and (self.rank[rows] >= 0).all()
        )
        require(bool(is_valid), "tables")
