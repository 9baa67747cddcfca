"""The fresh rows, those since the last review, of the features that are compared."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from driftsieve._core import add_csr_rows, add_dense_rows
from driftsieve._rows.class_index import ClassIndex
from driftsieve.bank import Bank
from driftsieve.batch import Batch
from driftsieve.exceptions import LimitError
from driftsieve.memory.panel import Indices
from driftsieve.memory.predicting import clipped, relevances
from driftsieve.memory.relevance import RESPONSE, of_stacked
from driftsieve.scores import SCORES, ScoreFunction
from driftsieve.snapshot import Floats, Snapshot


def empty_without_limits(bank: Bank) -> Bank:
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
    """Fresh rows in a bank without fading: for functions, and for quantiles of few features."""

    bank: Bank
    score: str | ScoreFunction
    n_bins: int

    @property
    def nbytes(self) -> int:
        """Size in memory, in bytes."""
        return self.bank.nbytes

    def add(self, batch: Batch, features: Indices, _labels: ClassIndex, room: float) -> None:
        """Add rows; LimitError, without a change, if there would be more than ``room`` bytes."""
        self.bank.set_limits(max_bytes=max(1.0, room))
        try:
            self.bank.update(with_features(batch, features))
        finally:  # it is no property of the fresh rows
            self.bank.set_limits(max_bytes=math.inf)

    def relevance(self) -> Floats | None:
        """Return the (m,) relevance in these rows; None if they are of one class."""
        features = np.arange(self.bank.n_features)
        found = relevances(self.bank, features, self.score, self.n_bins, RESPONSE)
        return None if found is None else found[0]


@dataclass(slots=True)
class FreshSums:
    """Sums over the fresh rows.

    For scores of quantiles they are weights in bins between fixed edges. The edges are quantiles of
    earlier rows, so the bins do not depend on the fresh rows, and the relevance is as unbiased as
    with quantiles of their own.
    """

    origin: Floats
    """(K - 1, m) edges, or (1, m) values that are subtracted for moments."""
    sums: Floats
    """(P, C, m) weights above each edge, or the sums of the values and of their squares. Then of
    missing values the weights and their squares, if values may be missing; and of the stored values
    of sparse rows likewise."""
    totals: Floats
    """(2, C) weights of the classes, and of their squares."""
    score: str
    absent_is_missing: bool

    @classmethod
    def empty(cls, origin: Floats, score: str, bank: Bank) -> FreshSums:
        """Return sums without rows, for features of a bank."""
        n_first = 2 if _are_moments(score) else len(origin)
        more = 4 if bank._core.is_sparse else 2 if bank.missing == "ignore" else 0
        sums = np.zeros((n_first + more, len(bank._header.labels), origin.shape[1]))
        totals = np.zeros((2, sums.shape[1]))
        absent_is_missing = bank._core.absent_is_missing
        return cls(np.ascontiguousarray(origin), sums, totals, score, absent_is_missing)

    @classmethod
    def after(cls, snap: Snapshot, columns: slice, score: str, bank: Bank) -> FreshSums:
        """Return sums without rows, for these columns of a snapshot of earlier ones."""
        if snap.edges is not None:
            return cls.empty(snap.edges[columns].T, score, bank)
        assert snap.mean is not None
        weight, mean = snap.weight[:, columns], snap.mean[:, columns]
        all_weight = weight.sum(axis=0)
        origin = np.divide((weight * mean).sum(axis=0), np.where(all_weight > 0, all_weight, 1.0))
        return cls.empty(origin[None], score, bank)

    @property
    def are_moments(self) -> bool:
        """Whether the first sums are those of values and of their squares."""
        return _are_moments(self.score)

    @property
    def nbytes(self) -> int:
        """Size in memory, in bytes."""
        return self.origin.nbytes + self.sums.nbytes + self.totals.nbytes

    def add(self, batch: Batch, features: Indices, labels: ClassIndex, room: float) -> None:
        """Add rows; LimitError, without a change, if there would be more than ``room`` bytes."""
        classes, X = labels.encode(batch.y)[0], batch.X
        n_new = len(labels) - self.totals.shape[1]
        if n_new:
            if self.nbytes + n_new * (self.sums[:, :1].nbytes + 16) > room:
                raise LimitError("The fresh rows do not fit.")
            self.sums = np.pad(self.sums, ((0, 0), (0, n_new), (0, 0)))
            self.totals = np.pad(self.totals, ((0, 0), (0, n_new)))
        into = (self.origin, self.sums, self.totals, self.are_moments)
        how = (classes, batch.sample_weight, features.view(np.uint64), *into)
        if isinstance(X, np.ndarray):
            add_dense_rows(X, *how)
        else:
            n_columns = max(X.shape[1], int(features[-1]) + 1)
            add_csr_rows(X.data, X.indices, X.indptr, n_columns, self.absent_is_missing, *how)

    def relevance(self) -> Floats | None:
        """Return the (m,) relevance in these rows; None if they are of one class."""
        if np.count_nonzero(self.totals[0]) < 2:
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            return clipped(of_stacked(RESPONSE[self.score], self.snapshot()))

    def snapshot(self) -> Snapshot:
        """Return a snapshot with relative weights; only its arrays by feature can be used."""
        n_first = 2 if self.are_moments else len(self.origin)
        m = self.origin.shape[1]
        first, rest = self.sums[:n_first], self.sums[n_first:]
        weight, squares = (np.repeat(total[:, None], m, axis=1) for total in self.totals)
        effect = None
        if len(rest) == 4 and self.absent_is_missing:
            weight, squares = rest[2], rest[3]
        elif len(rest):
            weight = np.maximum(weight - rest[0], 0.0)
            squares = np.maximum(squares - rest[1], 0.0)
            if len(rest) == 4:
                first = first + self._of_zeros(np.maximum(weight - rest[2], 0.0))
                effect = _design_effect(weight, squares, rest[2], rest[3])
        mean = var = bins = None
        all_weight = self.totals[0].sum()
        if self.are_moments:
            known = np.where(weight > 0, weight, 1.0)
            mean = first[0] / known
            var = np.maximum(first[1] / known - mean**2, 0.0)
        else:
            ends = np.concatenate([weight[None], first, np.zeros((1, *weight.shape))])
            bins = (np.maximum(ends[:-1] - ends[1:], 0.0) / all_weight).transpose(2, 0, 1)
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
            mean=None if mean is None else mean + self.origin[0],
            var=var,
            bin_weights=bins,
            edges=None if bins is None else self.origin.T,
            rank_error=None,
            centred_mean=mean,
            weight_squared=squares / all_weight**2,
            design_effect=effect,
        )

    def _of_zeros(self, weight: Floats) -> Floats:
        """Return what zeros of this weight add to the first sums."""
        if self.are_moments:
            return np.stack([-self.origin * weight, self.origin**2 * weight])
        return weight * (self.origin < 0)[:, None]


def _are_moments(score: str) -> bool:
    return SCORES[score].needs == "moments"


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
