"""Exact ranks to hold a bank's quantiles against."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import driftsieve as ds
from driftsieve.snapshot import Snapshot

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RankErrors:
    """Largest rank errors of one feature, in units of weight, and what bounds them."""

    of_class: Floats  # (C,)
    class_weight: Floats  # (C,)
    overall: float
    certificate: float
    slack: float
    """What reading ranks from bins may add between two edges, rounding included."""

    def check(self, epsilon: float) -> None:
        assert (self.of_class <= self.certificate + self.slack).all(), self
        assert self.overall <= epsilon * self.class_weight.sum() + self.slack, self
        assert self.overall <= self.certificate + self.slack, self
        assert self.certificate <= epsilon * self.class_weight.sum() * (1 + 1e-9), self


def rank_errors(bank: ds.Bank, X: Floats, y: NDArray, weight: Floats) -> list[RankErrors]:
    """Rank errors of every column at all values whatever: at the edges of very many bins, and
    just below them, where an entry that hides mass is off the most. `weight` is seen from now.
    """
    n_bins = int(max(1000, 100 / bank.epsilon))
    snapshot = bank.snapshot(n_bins=n_bins)
    return [_errors(snapshot, j, X[:, j], y, weight) for j in range(X.shape[1])]


def _errors(snapshot: Snapshot, j: int, x: Floats, y: NDArray, weight: Floats) -> RankErrors:
    known = np.flatnonzero(~np.isnan(x))
    order = known[np.argsort(x[known], kind="stable")]
    value, label, weight = x[order], y[order], weight[order].astype(np.longdouble)
    edges = snapshot.edges[j]
    counts = snapshot.bin_weights[j]  # (K, C)
    assert (np.diff(edges) >= 0).all()
    estimated = np.cumsum(counts, axis=0)  # row k: at edge k, and up to just below edge k + 1
    at = np.searchsorted(value, edges, side="right")
    below = np.searchsorted(value, edges, side="left")
    true_at, true_below, totals = [], [], []
    for c in snapshot.classes:
        running = np.append(0.0, np.cumsum(np.where(label == c, weight, 0.0)))
        true_at.append(running[at])
        true_below.append(running[below])
        totals.append(running[-1])
    class_weight = np.array(totals, dtype=np.float64)
    np.testing.assert_allclose(counts.sum(axis=0), class_weight, rtol=1e-11)
    np.testing.assert_allclose(snapshot.weight[:, j], class_weight, rtol=1e-11)
    # an entry heavier than a bin is several edges: just below the first of them nothing of it is in
    first = np.searchsorted(edges, edges, side="left")
    before = np.vstack([np.zeros(len(totals)), estimated])[first]
    off = np.array([np.array(true_at).T - estimated[:-1], np.array(true_below).T - before])
    total = class_weight.sum()
    return RankErrors(
        of_class=np.abs(off).max(axis=(0, 1)).astype(np.float64),
        class_weight=class_weight,
        overall=float(np.abs(off.sum(axis=2)).max()),
        certificate=float(snapshot.rank_error[j]),
        slack=float(total / len(counts) + 1e-11 * total),
    )
