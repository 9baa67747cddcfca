"""A very long faded stream of changing features; its scores are compared with offline ones.

    python tests/hardening/soak.py --rows 100_000_000

Two banks live through the same rows: one of dense columns (drifting, constant, whole numbers, far
from 0, skewed), one of sparse columns of which a few are in use at a time. At the end every score
is held against the definitions over the last rows, those that have not faded to nothing.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from dataclasses import dataclass

import numpy as np
from scipy import sparse

import driftsieve as ds
from driftsieve.snapshot import Snapshot

N_COLUMNS, ACTIVE = 400, 20
FADED = 45  # half-lives after which a row weighs 3e-14 and no longer shows
GONE = 25  # half-lives after which a column that is no longer in use is not compared


@dataclass(frozen=True)
class Stream:
    """Rows by chunk; any chunk can be made again."""

    half_life: int
    chunk: int
    stay: int  # chunks for which the same sparse columns are in use

    def rows(self, k: int) -> tuple[np.ndarray, sparse.csr_array, np.ndarray]:
        rng = np.random.default_rng([8, k])
        n = self.chunk
        y = (rng.random(n, dtype=np.float32) < 0.3).astype(np.int64)
        y[::1000] = 2  # a rare class
        shift = y.astype(np.float32)
        X = rng.standard_normal((n, 8), dtype=np.float32)
        X[:, 0] += np.float32(np.sin(k / 7)) * shift  # drifts
        X[:, 1] = 3.0
        X[:, 2] = np.floor(X[:, 2] * 3 + shift)
        X[:, 3] = 1e4 + X[:, 3] + shift / 4
        np.exp(X[:, 4], out=X[:, 4])
        X[:, 5] = (X[:, 5] > 0.5) | (y == 2)
        X[:, 6] *= 1e-30
        first = ACTIVE * (k // self.stay % (N_COLUMNS // ACTIVE))
        columns = np.empty((n, 3), dtype=np.int32)
        columns[:, 0] = rng.integers(0, 6, n, dtype=np.int32)
        columns[:, 1] = rng.integers(6, 13, n, dtype=np.int32)
        columns[:, 2] = rng.integers(13, ACTIVE, n, dtype=np.int32)
        values = np.ones((n, 3), dtype=np.float32)
        values[:, 1] = np.floor(rng.random(n, dtype=np.float32) * 5) + 1 + y
        values[:, 2] = X[:, 7] + shift
        indptr = np.arange(0, 3 * n + 1, 3, dtype=np.int32)
        data = (values.ravel(), columns.ravel() + first, indptr)
        return X, sparse.csr_array(data, shape=(n, N_COLUMNS)), y


@dataclass(frozen=True)
class Result:
    rows: int
    seconds: float
    nbytes: dict[int, int]  # rows to the bytes of both banks
    peak_rss_mb: dict[int, int]  # rows to the largest resident set so far
    compared: int  # columns that were in use in the last GONE half-lives
    gone: float  # largest Fisher score of the others, which is 0 except for faded rows
    moments: float  # largest relative difference of T and Fisher
    exact: float  # largest difference of the others, for columns of few values
    sketched: float  # the same for columns of many values
    rank_error: float  # largest rank error of a class at an edge, as a share of epsilon * W


def soak(n_rows: int, half_life: int = 50_000, chunk: int = 250_000, stay: int = 4) -> Result:
    stream = Stream(half_life, chunk, stay)
    dense, thin = ds.Bank(half_life=half_life), ds.Bank(half_life=half_life)
    start = time.monotonic()
    n_chunks = n_rows // chunk
    nbytes, rss = {}, {}
    tenth = max(1, n_chunks // 10)
    for k in range(n_chunks):
        X, S, y = stream.rows(k)
        dense.update(X, y)
        thin.update(S, y)
        if k + 1 in (4, n_chunks) or (k >= 4 and (k + 1) % tenth == 0):
            nbytes[dense.n_rows] = dense.nbytes + thin.nbytes
            rss[dense.n_rows] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    seconds = time.monotonic() - start
    assert dense.n_rows == thin.n_rows == n_chunks * chunk
    window = range(max(0, n_chunks - (FADED * half_life) // chunk - 1), n_chunks)
    parts = [stream.rows(k) for k in window]
    y = np.concatenate([part[2] for part in parts])
    weight = np.exp2(-np.arange(len(y) - 1, -1, -1) / half_life)
    differences = [
        compare(dense.snapshot(), np.vstack([part[0] for part in parts]), y, weight, dense.epsilon),
        compare(
            thin.snapshot(), sparse.vstack([part[1] for part in parts]).tocsr(), y, weight, 0.01
        ),
    ]
    n_compared = sum(compared for compared, *_ in differences)
    largest = map(max, zip(*(rest for _, *rest in differences), strict=True))
    return Result(dense.n_rows, seconds, nbytes, rss, n_compared, *largest)


def compare(
    snap: Snapshot, X: np.ndarray, y: np.ndarray, weight: np.ndarray, epsilon: float
) -> tuple[float, ...]:
    """The number of columns in use and the five differences of ``Result``."""
    truth = ds.offline.snapshot(X, y, sample_weight=weight)
    by_column = sparse.csc_array(X)
    alive = (weight @ (by_column != 0)) > 2.0**-GONE
    few = np.array([len(np.unique(by_column[:, [j]].data)) < 50 for j in range(snap.n_features)])
    differences = []
    for name, score in ds.scores.SCORES.items():
        ours, theirs = score.function(snap), score.function(truth)
        assert np.isfinite(ours).all(), name
        scale = np.maximum(np.abs(theirs), 1.0 if score.needs == "quantiles" else 1e-300)
        if name == "chi2":
            scale = np.full_like(scale, weight.sum())
        differences.append(np.abs(ours - theirs) / scale)
    assert snap.edges is not None
    assert snap.bin_weights is not None
    worst = 0.0
    for j in np.flatnonzero(~few & alive):
        column = by_column[:, [j]].toarray().ravel()
        for c, label in enumerate(snap.classes):
            of_class = y == label
            ranks = [weight[of_class & (column <= edge)].sum() for edge in snap.edges[j]]
            estimated = snap.bin_weights[j, :, c].cumsum()[:-1]
            worst = max(worst, np.abs(estimated - ranks).max() / (epsilon * weight.sum()))
    quantiles = np.max(differences[2:], axis=0)
    return (
        int(alive.sum()),
        float(ds.scores.fisher(snap)[~alive].max(initial=0.0)),
        float(np.max(differences[:2], axis=0)[alive].max()),
        float(quantiles[few & alive].max(initial=0.0)),
        float(quantiles[~few & alive].max(initial=0.0)),
        worst,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000_000)
    print(json.dumps(vars(soak(parser.parse_args().rows)), indent=2))
