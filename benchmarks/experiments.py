"""Time and state as one thing grows and all else stays: rows, features, classes, ε, batch size.

Data are drawn in chunks, off the clock, so that memory stays modest however long the stream is.
Everything runs on one thread, so the clock is that of the processor.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

import driftsieve as ds
from benchmarks.peers import BATCH, Labels

Chunks = Callable[[], Iterable[tuple[Any, Labels]]]


@dataclass(frozen=True)
class Point:
    """One measurement: median seconds of the rounds, and bytes of state at the end."""

    experiment: str
    series: str
    x: float
    seconds: float
    nbytes: int


def measure(
    options: dict[str, Any], chunks: Chunks, rounds: int, snapshot: bool = False
) -> tuple[float, int]:
    """Seconds of the updates, and of a snapshot if requested, and bytes of state."""
    times, nbytes = [], 0
    for _ in range(rounds):
        state, seconds = ds.Bank(n_threads=1, **options), 0.0
        for X, y in chunks():
            start = time.process_time()
            state.update(X, y)
            seconds += time.process_time() - start
        if snapshot:
            start = time.process_time()
            state.snapshot()
            seconds += time.process_time() - start
        times.append(seconds)
        nbytes = state.nbytes
    return statistics.median(times), nbytes


def dense_chunks(n: int, p: int, chunk: int) -> Chunks:
    def draw() -> Iterator[tuple[Any, Labels]]:
        rng = np.random.default_rng(n + p)
        room = np.empty((min(chunk, n), p))
        for begin in range(0, n, chunk):
            X = room[: min(chunk, n - begin)]
            rng.standard_normal(out=X)
            yield X, rng.integers(0, 2, len(X))

    return draw


def sparse_chunks(n: int, p: int, non_zeros: int, chunk: int) -> Chunks:
    """One feature in every stretch of columns, so that indices are sorted as they are drawn."""

    def draw() -> Iterator[tuple[Any, Labels]]:
        rng = np.random.default_rng(n + p)
        stretch = p // non_zeros
        first = np.arange(non_zeros, dtype=np.int32) * stretch
        flag = rng.random(p) < 0.9
        for begin in range(0, n, chunk):
            rows = min(chunk, n - begin)
            places = rng.integers(0, stretch, (rows, non_zeros), dtype=np.int32)
            indices = (first + places).reshape(-1)
            data = np.where(flag[indices], 1.0, rng.random(len(indices)))
            indptr = np.arange(rows + 1, dtype=np.int32) * non_zeros
            X = sparse.csr_array((data, indices, indptr), shape=(rows, p))
            yield X, rng.integers(0, 2, rows)

    return draw


def rows(quick: bool) -> Iterator[Point]:
    """16 dense features; 100 sparse ones, ten a row."""
    rounds = 1 if quick else 3
    for n in [10**k for k in ((3, 4) if quick else range(3, 8))]:
        for series, options in (("dense", {}), ("dense, fading", {"half_life": 1e4})):
            yield Point("rows", series, n, *measure(options, dense_chunks(n, 16, 16384), rounds))
        yield Point("rows", "sparse", n, *measure({}, sparse_chunks(n, 100, 10, 16384), rounds))


def features(quick: bool) -> Iterator[Point]:
    """256 rows and a snapshot; sparse ones have 100 non-zeros whatever the width."""
    rounds = 1 if quick else 3
    for p in [10**k for k in ((2, 3) if quick else range(2, 7))]:
        chunks = dense_chunks(256, p, 64)
        options = {"epsilon": 0.05, "max_bytes": float("inf")}
        yield Point("features", "dense", p, *measure(options, chunks, rounds, snapshot=True))
        chunks = sparse_chunks(20000 if not quick else 100, p, 100, 2048)
        yield Point("features", "sparse", p, *measure({}, chunks, rounds))


def classes(quick: bool) -> Iterator[Point]:
    n, p = (500, 8) if quick else (16000, 200)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    for n_classes in (2, 5) if quick else (2, 3, 5, 10, 20, 50, 100):
        y = rng.integers(0, n_classes, n)
        for epsilon in (0.001, 0.01):
            found = measure({"epsilon": epsilon}, batches(X, y, BATCH), 1 if quick else 3)
            yield Point("classes", f"ε = {epsilon}", n_classes, *found)


def epsilon(quick: bool) -> Iterator[Point]:
    """Table 2 of the paper: batches of 250 rows, with the bins at the end."""
    n, p = (500, 8) if quick else (16000, 200)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, p)), rng.integers(0, 2, n)
    seconds = offline(X, y, 1 if quick else 3)
    for inverse in (5, 50) if quick else (5, 50, 100, 500, 1000, 1500, 2000):
        options = {"epsilon": 1 / inverse}
        found = measure(options, batches(X, y, BATCH), 1 if quick else 3, snapshot=True)
        yield Point("1/ε", "online", inverse, *found)
        yield Point("1/ε", "offline", inverse, seconds, X.nbytes)


def batch_size(quick: bool) -> Iterator[Point]:
    """Table 1 of the paper: ε = 0.001, with the bins at the end."""
    n, p = (256, 8) if quick else (16384, 200)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, p)), rng.integers(0, 2, n)
    seconds = offline(X, y, 1 if quick else 3)
    for size in (1, 16) if quick else [2**k for k in range(15)]:
        options = {"epsilon": 0.001}
        found = measure(options, batches(X, y, size), 1 if quick else 3, snapshot=True)
        yield Point("batch size", "online", size, *found)
        yield Point("batch size", "offline", size, seconds, X.nbytes)


def batches(X: Any, y: Labels, size: int) -> Chunks:
    return lambda: ((X[i : i + size], y[i : i + size]) for i in range(0, len(y), size))


def offline(X: Any, y: Labels, rounds: int) -> float:
    """Bins of all rows at once: sorted columns, cut at the quantiles."""
    times = []
    for _ in range(rounds):
        start = time.process_time()
        ds.offline.snapshot(X, y)
        times.append(time.process_time() - start)
    return statistics.median(times)


EXPERIMENTS = (rows, features, classes, epsilon, batch_size)


def slope(points: Iterable[Point], what: Callable[[Point], float]) -> float:
    """Slope of the growth: 1 is in proportion, 0 is constant."""
    x, y = np.log(np.array([(point.x, what(point)) for point in points]).T)
    return float(np.polyfit(x, y, 1)[0])
