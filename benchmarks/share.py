"""One executor's share of a run over 10⁹ rows × 10⁶ sparse features on 100 executors, measured.

10⁷ rows go into one bank, which is cut into blocks; 100 pieces of a block are merged and scored.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.csr import NON_ZEROS
from benchmarks.harness import Row, Work
from driftsieve.bank import Bank
from driftsieve.distributed.plan import Plan

EXECUTORS, ROWS, FEATURES = 100, 10_000_000, 1_000_000


def work(quick: bool) -> Work:
    n, p = (10_000, 1000) if quick else (ROWS, FEATURES)
    return Work("share", {}, (), facts=lambda: share(n, p, n // 50))


def share(n: int, p: int, batch: int) -> list[Row]:
    """The figures, in processor time of one thread."""
    plan = Plan.of("row", block_size=1024 if p > 1024 else 16)
    rng = np.random.default_rng(0)
    X = rows(rng, batch, p)
    bank, seconds, non_zeros = plan.bank(), 0.0, 0
    for _ in range(n // batch):
        # New values and labels in the same places: drawing places would take longer than the work.
        X.data = np.where(X.indices % 10 > 0, 1.0, rng.lognormal(size=X.nnz))
        y = rng.integers(0, 2, batch)
        seconds += clock(lambda y=y: bank.update(X, y))[0]
        non_zeros += X.nnz
    cutting, pieces = clock(lambda: [cut.to_bytes() for _, cut in plan.cuts(bank)])
    # Blocks of one executor are used instead of one block of all: they have as many values.
    stand_ins = [pieces[i % (len(pieces) - 1)] for i in range(EXECUTORS)]
    merging, merged = clock(
        lambda: plan.merged(Bank.from_bytes(piece, n_threads=1) for piece in stand_ins)
    )
    scoring, _ = clock(lambda: plan.scores(merged))
    return [
        Row("share: update", seconds / non_zeros * 1e9, "ns/non-zero"),
        Row("share: bank in memory", bank.nbytes / p, "bytes/feature"),
        Row("share: pieces", sum(map(len, pieces)) / p, "bytes/feature"),
        Row("share: cutting into pieces", cutting / p * 1e6, "µs/feature"),
        Row(f"share: merging {EXECUTORS}", merging / merged.n_features * 1e6, "µs/feature"),
        Row("share: merged block", len(merged.to_bytes()) / merged.n_features, "bytes/feature"),
        Row("share: snapshot and score", scoring / merged.n_features * 1e6, "µs/feature"),
    ]


def rows(rng: np.random.Generator, n: int, p: int) -> sparse.csr_array:
    """Places of the non-zeros: low columns are more common, as words and hosts are."""
    columns = (p * rng.random((n, NON_ZEROS)) ** 2).astype(np.int32)
    indptr = np.arange(0, columns.size + 1, NON_ZEROS)
    X = sparse.csr_array((np.ones(columns.size), columns.ravel(), indptr), shape=(n, p))
    X.sum_duplicates()
    return X


def clock(work: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.process_time()
    result = work()
    return time.process_time() - begin, result
