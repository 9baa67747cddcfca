"""The table behind a history: some records of some features, of a size fixed from the start."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_TABLES = ("position", "width", "best", "score", "rank")  # one row for each record
_COLUMNS = ("feature", "last_best")  # one entry for each column


class Trace:
    """At most ``max_records`` records of at most ``max_features`` features.

    Which records stay and which features are followed is said at :class:`ScoreHistory`.
    """

    def __init__(self, k: int, max_records: int, max_features: int) -> None:
        self.max_records = max_records
        self.half = max_features // 2
        self.count = 0  # of records ever added
        self.stride = 1  # row i holds the ((i + 1) * stride)-th of them; the last row the newest
        self.rows = 0
        self.position = np.zeros(max_records)
        self.width = np.zeros(max_records, np.int64)  # how many features there were
        # Rows are filled when they come into use: until then they take no memory of the machine.
        self.best = np.zeros((max_records, k), np.int64)  # the best k; -1 where there are fewer
        self.score = np.zeros((max_records, max_features))
        self.rank = np.zeros((max_records, max_features), np.int64)  # 0: not followed then
        self.feature = np.full(max_features, -1, np.int64)  # the feature a column follows; -1: none
        self.last_best = np.zeros(max_features, np.int64)  # the count when last in the best half
        self.names = [""] * max_features

    @property
    def nbytes(self) -> int:
        return sum(getattr(self, name).nbytes for name in _TABLES + _COLUMNS)

    @property
    def known(self) -> int:
        """The number of features at the newest record."""
        return int(self.width[self.rows - 1]) if self.rows else 0

    @property
    def columns(self) -> NDArray[np.int64]:
        """The columns in use, the best of now first."""
        used = np.flatnonzero(self.feature >= 0)
        return used[np.argsort(self.rank[self.rows - 1, used])]

    def add(
        self,
        position: float,
        scores: NDArray[np.float64],
        ranks: NDArray[np.int64],
        names: Sequence[str] | None,
    ) -> None:
        self._next_row()
        self._follow(ranks, names)
        row = self.rows - 1
        best = np.flatnonzero(ranks <= self.best.shape[1])
        self.position[row], self.width[row] = position, scores.size
        self.best[row] = -1
        self.best[row, : best.size] = best
        used = self.feature >= 0
        self.score[row] = np.where(used, scores[self.feature], np.nan)
        self.rank[row] = np.where(used, ranks[self.feature], 0)

    def _next_row(self) -> None:
        if self.count % self.stride == 0:  # the newest row stays; otherwise it is written anew
            if self.rows == self.max_records:
                self.rows //= 2
                self.stride *= 2
                for table in (getattr(self, name) for name in _TABLES):
                    table[: self.rows] = table[1::2]
            self.rows += 1
        self.count += 1

    def _follow(self, ranks: NDArray[np.int64], names: Sequence[str] | None) -> None:
        best = np.flatnonzero(ranks <= self.half)
        new = np.setdiff1d(best, self.feature)
        kept = np.isin(self.feature, best)
        behind = np.where(self.feature >= 0, ranks[self.feature], 0)
        order = np.lexsort((-behind, self.last_best))  # unused columns come first: last_best is 0
        columns = order[~kept[order]][: new.size]
        self.feature[columns] = new
        self.score[: self.rows, columns] = np.nan
        self.rank[: self.rows, columns] = 0
        for column, feature in zip(columns.tolist(), new.tolist(), strict=True):
            self.names[column] = name_of(feature, names)
        kept[columns] = True
        self.last_best[kept] = self.count

    def to_parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """What JSON holds and what arrays hold of it, for :meth:`restore`."""
        meta = {"count": self.count, "stride": self.stride, "names": self.names}
        rows = {name: getattr(self, name)[: self.rows] for name in _TABLES}
        return meta, rows | {name: getattr(self, name) for name in _COLUMNS}

    def restore(self, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Become the trace that had these parts; ValueError where none can have had them."""
        self.count, self.stride = meta["count"], meta["stride"]
        if type(self.count) is not int or type(self.stride) is not int or self.stride < 1:
            raise ValueError(f"count {self.count!r}, stride {self.stride!r}")
        self.rows = -(-self.count // self.stride)
        self.names = [str(name) for name in meta["names"]]
        if not 0 <= self.rows <= self.max_records or len(self.names) != self.feature.size:
            raise ValueError(f"{self.rows} records, {len(self.names)} names")
        for name, mine in self.to_parts()[1].items():
            theirs = arrays[name]
            if theirs.shape != mine.shape or theirs.dtype != mine.dtype:
                raise ValueError(f"{name} is {theirs.dtype} of shape {theirs.shape}")
            mine[...] = theirs
        if (self.feature >= self.known).any() or (self.feature < -1).any():
            raise ValueError("it follows features that do not exist")
        used, rows = self.feature[self.feature >= 0], slice(0, self.rows)
        sound = (
            used.size == np.unique(used).size
            and np.isfinite(self.position[rows]).all()
            and (np.diff(self.position[rows]) > 0).all()
            and (self.width[rows] >= 1).all()
            and (np.diff(self.width[rows]) >= 0).all()
            and (self.best[rows] >= -1).all()
            and (self.best[rows] < self.width[rows, None]).all()
            and (self.rank[rows] >= 0).all()
        )
        if not sound:
            raise ValueError("its tables contradict each other")


def name_of(feature: int, names: Sequence[str] | None) -> str:
    """The name of a feature; x3 for the feature 3 of a stream without names, as scikit-learn."""
    return f"x{feature}" if names is None else str(names[feature])
