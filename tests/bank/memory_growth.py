"""Run as a program: feeds a bank and prints its nbytes and by how much the process grew."""

from __future__ import annotations

import ctypes
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import driftsieve as ds


def resident() -> int:
    """Bytes in memory, after the C library has returned its free memory."""
    ctypes.CDLL(None).malloc_trim(0)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def dense_rows(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    return rng.normal(size=(n, 1000)), rng.integers(0, 3, n)


def sparse_rows(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    """200 of a million columns: of those ever seen, every tenth is real-valued, the rest flags."""
    first = np.arange(200, dtype=np.int32) * 5000
    indices = (first + rng.integers(0, 2000, (n, 200), dtype=np.int32)).reshape(-1)
    data = np.where(indices % 10 == 0, rng.random(len(indices)), 1.0)
    indptr = np.arange(n + 1, dtype=np.int32) * 200
    return sparse.csr_array((data, indices, indptr), shape=(n, 10**6)), rng.integers(0, 3, n)


def main(rows: str, n_batches: int, options: dict[str, Any]) -> None:
    draw = {"dense": dense_rows, "sparse": sparse_rows}[rows]
    rng = np.random.default_rng(0)
    # Memory that is allocated once, such as pages of the program.
    first = ds.Bank(**options).update(*draw(rng, 50))
    before = resident()
    bank = ds.Bank(**options)
    for _ in range(n_batches):
        bank.update(*draw(rng, 500))
    print(json.dumps({"nbytes": bank.nbytes, "grew": resident() - before}))
    del first  # not before


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3]))
