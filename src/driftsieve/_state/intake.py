"""Rows on their way into the core: within the limits, with classes as numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from driftsieve._core import Bank as CoreBank
from driftsieve._rows.class_index import ClassIndex
from driftsieve._rows.raw import RawRows
from driftsieve._state.header import Header
from driftsieve._state.limits import Sizes
from driftsieve.batch import Batch


class Intake(NamedTuple):
    """Rows, the class number of each, and the labels of all classes including theirs."""

    rows: RawRows
    classes: NDArray[np.uint32]
    labels: ClassIndex
    ignored_values: int = 0  # values of sparse columns that were 0 in every row before

    @classmethod
    def of(cls, rows: RawRows, known: ClassIndex) -> Intake:
        """Return an intake of all rows."""
        return cls(rows, *known.encode(rows.y))

    def part(self, sizes: Sizes, core: CoreBank) -> Intake:
        """Return the rows of the first classes, with the first columns or those seen before."""
        if sizes == (self.rows.n_features, len(self.labels), False):
            return self
        kept = self.classes < sizes.classes
        some = self.rows.part(kept, sizes.features)
        rows = _with_seen_columns(some, core) if sizes.only_seen else some
        labels = self.labels.first(sizes.classes)
        return Intake(rows, self.classes[kept], labels, some.X.size - rows.X.size)

    def admitted(self, core: CoreBank, known: Header, n_threads: int, beside: int) -> Intake:
        """Return the part within the limits of the bank; raise LimitError if there is none.

        Of ``max_bytes``, ``beside`` bytes are used for something else.
        """
        width = self.rows.n_features
        if core.ticks and not core.is_sparse:
            # Dense columns that were left out once stay out, because their earlier rows are
            # unknown.
            width = min(width, core.n_features)

        def bytes_with(sizes: Sizes, limit: float, be_sure: bool) -> float:
            left = max(limit - beside, 0.0)
            return beside + self.part(sizes, core).bytes_with(core, n_threads, left, be_sure)

        now = Sizes(core.n_features if core.ticks else 0, len(known.labels), core.is_sparse)
        wanted = Sizes(max(width, now.features), len(self.labels))
        sizes = known.limits.admit(now, wanted, bytes_with, lambda: core.nbytes + beside)
        return self.part(sizes, core)

    def bytes_with(self, core: CoreBank, n_threads: int, limit: float, be_sure: bool) -> int:
        """Return the size of the state with these rows, see ``BytesWith``."""
        X, how = self.rows.X, (n_threads, isinstance(self.rows, Batch), limit, be_sure)
        if isinstance(X, np.ndarray):
            return core.bytes_with_dense(X, *self._vectors, *how)
        return core.bytes_with_csr(X.data, X.indices, X.indptr, X.shape[1], *self._vectors, *how)

    def call(self, core: CoreBank, n_threads: int, header: Header) -> Callable[[], bool]:
        """Return the call that adds the rows; it returns False, unchanged, for invalid raw rows.

        It is a single call of the core, so that no interrupt can separate its parts.
        """
        X, rest = self.rows.X, (*self._vectors, n_threads, isinstance(self.rows, Batch), header)
        if isinstance(X, np.ndarray):
            return partial(core.update_dense, X, *rest)
        return partial(core.update_csr, X.data, X.indices, X.indptr, X.shape[1], *rest)

    @property
    def _vectors(
        self,
    ) -> tuple[NDArray[np.uint32], NDArray[np.float64] | None, NDArray[np.float64] | None, int]:
        return self.classes, self.rows.sample_weight, self.rows.time, len(self.labels)


def _with_seen_columns(rows: RawRows, core: CoreBank) -> RawRows:
    """Return sparse rows without the values of columns that were 0 in every row so far."""
    seen = core.seen(0, core.n_features)
    if seen is None or isinstance(rows.X, np.ndarray):
        return rows
    X = rows.X
    known = np.frombuffer(seen, dtype=np.bool_)[X.indices]
    ends = np.append(0, np.cumsum(known))[X.indptr]
    kept = sparse.csr_array((X.data[known], X.indices[known], ends), shape=X.shape)
    return replace(rows, X=kept)
