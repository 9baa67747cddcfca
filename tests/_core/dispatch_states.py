"""Run as a program: a bank over each of many data sets, and a digest of its bytes, as JSON.

The kernels are picked once a process, by DRIFTSIEVE_SIMD.
"""

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

import driftsieve as ds

N, P = 2500, 21  # rows for a block and more; columns for two strips and more
BANKS: dict[str, dict[str, Any]] = {
    "default": {},
    "fine": {"epsilon": 0.005},
    "open": {"epsilon": 0.001},  # no block is full
    "faded": {"half_life": 300.0},
    "coarse": {"epsilon": 0.2},
    "moments": {"quantiles": False},
}


def matrices(rng: np.random.Generator) -> Iterator[tuple[str, Any]]:
    normal = rng.normal(size=(N, P))
    yield "normal", normal
    yield "float32", normal.astype(np.float32)
    yield "columns first", np.asfortranarray(normal)
    yield "every other column", np.repeat(normal, 2, axis=1)[:, ::2]
    yield "offset", normal + 1e8
    yield "Cauchy", rng.standard_cauchy((N, P))
    yield "lognormal", rng.lognormal(0.0, 4.0, (N, P))
    yield "half zeros of both signs", normal * rng.choice([0.0, -0.0, 1.0, 1.0], (N, P))
    yield "integers", rng.poisson(20.0, (N, P)).astype(np.float64)
    yield "constant", np.full((N, P), 3.0)
    yield "sorted", np.sort(normal, axis=0)
    yield "zooming in", normal * np.geomspace(1.0, 1e-12, N)[:, None]
    edges = np.array([0.0, -0.0, 5e-324, -5e-324, 2.2e-308, 1.7e308, -1.7e308, 1.0, 1 + 2**-52])
    yield "edges of double", rng.choice(edges, (N, P))
    yield "all magnitudes", np.ldexp(normal, rng.integers(-1060, 1020, (N, P)))
    yield "sparse", sparse.csr_array(normal * (rng.random((N, P)) < 0.2))


def digests() -> Iterator[tuple[str, str]]:
    rng = np.random.default_rng(0)
    y, weight = rng.integers(0, 3, N), rng.exponential(size=N)
    for data, X in matrices(rng):
        for name, options in BANKS.items():
            bank = ds.Bank(n_threads=2, **options).update(X, y)
            yield f"{data}, {name}", digest(bank)
        bank = ds.Bank(n_threads=1).update(X, y, sample_weight=weight)
        yield f"{data}, weighted", digest(bank.merge(bank))
    for n_half_lives in (2, 3, 9, 16):
        yield f"{n_half_lives} half-lives", digest(several_half_lives(rng, n_half_lives))
    holes = np.where(rng.random((N, P)) < 0.1, np.nan, rng.normal(size=(N, P)))
    yield "holes", digest(ds.Bank(missing="ignore").update(holes, y))


def several_half_lives(rng: np.random.Generator, n_half_lives: int) -> ds.Bank:
    """Over three blocks, of columns that spread, repeat their values or have a long tail."""
    n = 20_000
    columns = [rng.normal(size=n), rng.standard_cauchy(n), rng.integers(0, 300, n)]
    half_lives = [10 * 2**i for i in range(n_half_lives - 1)]
    X, y = np.column_stack(columns * 6), rng.integers(0, 3, n)
    return ds.Bank(n_threads=2, half_life=[*half_lives, None]).update(X, y)


def digest(bank: ds.Bank) -> str:
    """Digest of the state and of all results read from it."""
    read = b""
    for snapshot in bank.snapshots().values():
        arrays = (snapshot.mean, snapshot.var, snapshot.bin_weights, snapshot.edges)
        read += b"".join(array.tobytes() for array in arrays if array is not None)
    return hashlib.sha256(bank.to_bytes() + read).hexdigest()


if __name__ == "__main__":
    print(json.dumps(dict(digests())))
