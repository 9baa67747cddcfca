"""The fresh rows, those since the last review, of the features that are compared."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from driftsieve._core import add_csr_to_edges, add_dense_to_edges
from driftsieve._rows.class_index import ClassIndex
from driftsieve.bank import Bank
from driftsieve.batch import Batch
from driftsieve.exceptions import LimitError
from driftsieve.memory.panel import Indices
from driftsieve.memory.predicting import finite, relevances
from driftsieve.memory.relevance import RESPONSE, of_stacked
from driftsieve.scores import ScoreFunction
from driftsieve.snapshot import Floats, Snapshot


def no_limits(bank: Bank) -> Bank:
    """Return an empty bank without fading and limits, for rows that were added to another."""
    fresh = Bank(
        bank.epsilon,
        moments=bank.moments,
        quantiles=bank.quantiles,
        missing=bank.missing,
        n_threads=bank.n_threads,
        max_features=sys.maxsize,
        max_classes=sys.maxsize,
        max_bytes=np.inf,
    )
    if bank._core.absent_is_missing:
        fresh._core.take_absent_as_missing()
    return fresh


@dataclass(slots=True)
class FreshBank:
    """Fresh rows in a bank without fading, for moments and for functions of a snapshot."""

    bank: Bank

    @property
    def nbytes(self) -> int:
        """Size in memory, in bytes."""
        return self.bank.nbytes

    def add(self, batch: Batch, features: Indices, labels: ClassIndex, room: float) -> None:
        """Add rows; LimitError, without a change, if there would be more than ``room`` bytes."""
        self.bank.set_limits(max_bytes=max(1.0, room))
        try:
            self.bank.update(with_features(batch, features))
        finally:  # it is no property of the fresh rows
            self.bank.set_limits(max_bytes=math.inf)

    def relevance(self, score_func: str | ScoreFunction, n_bins: int) -> Floats | None:
        """Return the (m,) relevance in these rows; None if they are of one class."""
        features = np.arange(self.bank.n_features)
        found = relevances(self.bank, features, score_func, n_bins, RESPONSE)
        return None if found is None else found[0]


@dataclass(slots=True)
class FreshSums:
    """Weights of the fresh rows in bins between fixed edges, for scores of quantiles.

    The edges are quantiles of earlier rows, so the bins do not depend on the fresh rows, and the
    relevance is unbiased as it is with quantiles of their own.
    """

    edges: Floats
    """(K - 1, m)"""
    sums: Floats
    """(P, C, m) weights above each edge. Then of missing values the weights and their squares, if
    values may be missing; and of the stored values of sparse rows likewise."""
    totals: Floats
    """(2, C) weights of the classes, and of their squares."""
    absent_is_missing: bool

    @classmethod
    def empty(cls, edges: Floats, bank: Bank) -> FreshSums:
        """Return sums without rows, for (m, K - 1) edges of features of a bank."""
        more = 4 if bank._core.is_sparse else 2 if bank.missing == "ignore" else 0
        sums = np.zeros((edges.shape[1] + more, len(bank._header.labels), len(edges)))
        totals = np.zeros((2, sums.shape[1]))
        return cls(np.ascontiguousarray(edges.T), sums, totals, bank._core.absent_is_missing)

    @property
    def nbytes(self) -> int:
        """Size in memory, in bytes."""
        return self.edges.nbytes + self.sums.nbytes + self.totals.nbytes

    def add(self, batch: Batch, features: Indices, labels: ClassIndex, room: float) -> None:
        """Add rows; LimitError, without a change, if there would be more than ``room`` bytes."""
        classes, X = labels.encode(batch.y)[0], batch.X
        more = ((0, 0), (0, len(labels) - self.totals.shape[1]))
        if more[1][1]:
            if self.nbytes + self.sums.nbytes * more[1][1] > room:
                raise LimitError("The fresh rows do not fit.")
            self.sums = np.pad(self.sums, (*more, (0, 0)))
            self.totals = np.pad(self.totals, more)
        chosen = features.astype(np.uint64)
        into = (classes, batch.sample_weight, chosen, self.edges, self.sums, self.totals)
        if isinstance(X, np.ndarray):
            add_dense_to_edges(X, *into)
        else:
            n_columns = max(X.shape[1], int(features[-1]) + 1)
            how = (n_columns, self.absent_is_missing)
            add_csr_to_edges(X.data, X.indices, X.indptr, *how, *into)

    def relevance(self, score_func: str | ScoreFunction, n_bins: int) -> Floats | None:
        """Return the (m,) relevance in these rows; None if they are of one class."""
        if np.count_nonzero(self.totals[0]) < 2:
            return None
        assert isinstance(score_func, str)
        return finite(of_stacked(RESPONSE[score_func], self._snapshot()))

    def _snapshot(self) -> Snapshot:
        """Return a snapshot with relative weights; only its arrays by feature can be used."""
        n_edges, m = self.edges.shape
        above, rest = self.sums[:n_edges], self.sums[n_edges:]
        weight, squares = (np.repeat(total[:, None], m, axis=1) for total in self.totals)
        effect = None
        if len(rest) == 4 and self.absent_is_missing:
            weight, squares = rest[2], rest[3]
        elif len(rest):
            weight = np.maximum(weight - rest[0], 0.0)
            squares = np.maximum(squares - rest[1], 0.0)
            if len(rest) == 4:
                zero = np.maximum(weight - rest[2], 0.0)
                above = above + zero * (self.edges < 0)[:, None]
                effect = _design_effect(weight, squares, rest[2], rest[3])
        all_weight = self.totals[0].sum()
        ends = np.concatenate([weight[None], above, np.zeros((1, *weight.shape))])
        bins = np.maximum(ends[:-1] - ends[1:], 0.0) / all_weight
        n_classes = len(weight)
        return Snapshot(
            classes=np.arange(n_classes),
            class_weight=self.totals[0] / all_weight,
            class_n_eff=np.zeros(n_classes),
            n_eff=0.0,
            n_features=m,
            feature_names=None,
            first_feature=0,
            weight=weight / all_weight,
            mean=None,
            var=None,
            bin_weights=bins.transpose(2, 0, 1),
            edges=self.edges.T,
            rank_error=None,
            weight_squared=squares / all_weight**2,
            design_effect=effect,
        )


def _design_effect(weight: Floats, squares: Floats, not_0: Floats, not_0_squared: Floats) -> Floats:
    """Return the (m,) design effects of (C, m) sums, as the core does; 1 for equal weights."""
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = np.where(not_0 > 0, squares * not_0 / weight, 0.0).sum(axis=0)
        q = not_0.sum(axis=0) / weight.sum(axis=0)
        k = not_0_squared.sum(axis=0) / expected
        effect = np.maximum(k * (1 - q) + q * (1 - k * q) / (1 - q), 1e-12)
    return np.where((q > 0) & (1 - q > 1e-12) & (expected > 0), effect, 1.0)


def with_features(batch: Batch, features: Indices) -> Batch:
    """Return the rows with some features only, without names and times."""
    X: Any = batch.X
    if not len(features):
        X = np.empty((batch.n_rows, 0))
    elif not (len(features) == batch.n_features == features[-1] + 1):
        X = _columns(X, features)
    return replace(batch, X=X, time=None, has_dates=False, feature_names=None)


def _columns(X: Any, features: Indices) -> Any:
    if isinstance(X, np.ndarray):
        return X.take(features, axis=1)
    place = np.searchsorted(features, X.indices)
    place[place == len(features)] = 0
    kept = features[place] == X.indices
    ends = np.concatenate([[0], np.cumsum(kept)])[X.indptr]
    shape = (X.shape[0], len(features))
    columns = place[kept].astype(X.indices.dtype), ends.astype(X.indptr.dtype)
    return sparse.csr_array((X.data[kept], *columns), shape=shape)


Fresh = FreshBank | FreshSums
