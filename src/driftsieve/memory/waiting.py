"""Rows that wait until there are enough of them to derive half-lives from their times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from driftsieve._state.settings import refuse_digit_dates
from driftsieve.bank import Bank
from driftsieve.batch import Batch
from driftsieve.memory.period import FIRST_ROWS
from driftsieve.memory.rungs import as_durations, rungs_of_times

MOST_ROWS = 16 * FIRST_ROWS


class Waiting:
    """The first rows of a stream with ``clock="time"``, from whose times the half-lives follow.

    ``bank`` does not fade yet. It validates the rows, has their names, labels and limits, and is as
    large as the bank with the half-lives will be.
    """

    def __init__(self, bank: Bank, batches: list[Batch] | None = None) -> None:
        self.bank = bank
        self.batches = batches or []
        self.n_rows = sum(batch.n_rows for batch in self.batches)

    def take(self, batch: Batch) -> None:
        """Validate rows and keep them."""
        if batch.n_rows and batch.time is not None and not (self.n_rows or batch.has_dates):
            refuse_digit_dates("number", batch.time)
        self.bank._beside = self.nbytes + _nbytes(batch)
        self.bank.update(batch)
        known = np.isin(batch.y, self.bank.classes)
        batch = batch.part(known, self.bank.n_features)
        X = batch.X.copy()  # the caller may change its arrays
        self.batches.append(replace(batch, X=X, y=batch.y.copy()))
        self.n_rows += batch.n_rows

    @property
    def left(self) -> int:
        """Number of rows until the half-lives may be known."""
        return FIRST_ROWS - self.n_rows % FIRST_ROWS

    @property
    def is_over(self) -> bool:
        """Return whether the half-lives are known; they are not if all rows have the same time."""
        enough = self.n_rows > 0 and self.n_rows % FIRST_ROWS == 0
        return enough and (self.span > 0 or self.n_rows >= MOST_ROWS)

    @property
    def span(self) -> float:
        """Time from the earliest to the latest row."""
        times = [batch.time for batch in self.batches if batch.time is not None and batch.n_rows]
        if not times:
            return 0.0
        return float(max(t.max() for t in times) - min(t.min() for t in times))

    @property
    def nbytes(self) -> int:
        """Size of the rows in memory, in bytes."""
        return sum(map(_nbytes, self.batches))

    @property
    def has_dates(self) -> bool:
        """Whether the times were dates."""
        return any(batch.has_dates for batch in self.batches)

    def bank_with_rungs(self, rungs: Sequence[float] | None = None) -> Bank:
        """Return a bank of these rows, with the given half-lives or those that follow from them.

        It may exceed ``max_bytes`` by what the fading changes: the rows were accepted before.
        """
        bank = self.bank
        rungs = self.rungs() if rungs is None else rungs
        made = Bank(
            bank.epsilon,
            moments=bank.moments,
            quantiles=bank.quantiles,
            half_life=as_durations(rungs) if self.has_dates else rungs,
            clock=bank.clock,
            missing=bank.missing,
            n_threads=bank.n_threads,
            max_features=bank.max_features,
            max_classes=bank.max_classes,
            max_bytes=np.inf,
            on_limit=bank.on_limit,
        )
        for batch in self.batches:
            made.update(batch)
        known, now = bank._header, made._header
        ignored = {name: getattr(known, name) for name in known._fields if "ignored" in name}
        made._core.header = now._replace(limits=known.limits, **ignored)
        return made

    def rungs(self) -> tuple[float, ...]:
        """Return the half-lives that follow from the rows so far; dates have microseconds."""
        span = self.span
        if span > 0 and self.has_dates:
            span = max(span, 1e-6 * self.n_rows)
        return rungs_of_times(span, self.n_rows)

    # --- storing --------------------------------------------------------------------------------

    def stored(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the rows as JSON values and arrays."""
        arrays: dict[str, NDArray[Any]] = {}
        labels = self.bank._header.labels
        meta: dict[str, Any] = {"batches": []}
        for i, batch in enumerate(self.batches):
            X = batch.X
            meta["batches"].append([batch.has_dates, batch.missing, *map(int, X.shape)])
            if isinstance(X, np.ndarray):
                arrays[f"{i} X"] = np.asarray(X, dtype=np.float64)
            else:
                arrays[f"{i} data"] = X.data.astype(np.float64)
                arrays[f"{i} indices"] = X.indices.astype(np.int64)
                arrays[f"{i} indptr"] = X.indptr.astype(np.int64)
            arrays[f"{i} y"] = labels.encode(batch.y)[0].astype(np.int64)
            for name in ("sample_weight", "time"):
                if (column := getattr(batch, name)) is not None:
                    arrays[f"{i} {name}"] = column
        return meta, arrays

    @classmethod
    def restored(
        cls, bank: Bank, meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
    ) -> Waiting:
        """Restore the rows of ``stored``; raise ValueError or LookupError if they are not valid."""
        known = bank._header.labels.array()
        batches = []
        for i, (has_dates, missing, n_rows, n_features) in enumerate(meta["batches"]):
            X: Any = arrays.get(f"{i} X")
            if X is None:
                parts = tuple(arrays[f"{i} {name}"] for name in ("data", "indices", "indptr"))
                X = sparse.csr_array(parts, shape=(n_rows, n_features))
            batch = Batch.of(
                X,
                known[arrays[f"{i} y"]],
                sample_weight=arrays.get(f"{i} sample_weight"),
                time=arrays[f"{i} time"],
                missing=missing,
                feature_names=bank.feature_names,
                has_dates=bool(has_dates),
            )
            batches.append(batch)
        return cls(bank, batches)


def _nbytes(batch: Batch) -> int:
    X = batch.X
    values = [X] if isinstance(X, np.ndarray) else [X.data, X.indices, X.indptr]
    columns = (batch.y, batch.sample_weight, batch.time)
    return sum(array.nbytes for array in (*values, *columns) if array is not None)
