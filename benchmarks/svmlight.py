"""svmlight text to arrays: nanoseconds per byte, ours and scikit-learn's, on one thread."""

import io
import statistics
import time
from collections.abc import Callable

import numpy as np
from sklearn.datasets import load_svmlight_file

from driftsieve._core import SvmlightParser

CHUNK = 1 << 18
ROUNDS = 5
GOAL = 5.0


def make_text(n_bytes: int, row: Callable[[np.random.Generator], str]) -> bytes:
    """About n_bytes of rows: 5000 different ones, over and over, in random order."""
    rng = np.random.default_rng(0)
    rows = [f"{rng.choice(['+1', '-1'])} {row(rng)}\n".encode() for _ in range(5000)]
    n_rows = n_bytes // (sum(map(len, rows)) // len(rows)) + 1
    return b"".join(rows[i] for i in rng.integers(0, len(rows), n_rows))


def url_row(rng: np.random.Generator) -> str:
    """115 of 3.2 million features, low indices more often, 90 % of the values 1."""
    indices = np.unique((3.2e6 * rng.random(115) ** 3).astype(int) + 1)
    values = np.where(rng.random(len(indices)) < 0.9, 1.0, rng.random(len(indices)))
    return " ".join(f"{i}:{v:.6g}" for i, v in zip(indices, values, strict=True))


def real_row(rng: np.random.Generator) -> str:
    """50 features with all the digits of a double."""
    return " ".join(f"{i}:{v!r}" for i, v in enumerate(rng.normal(size=50).tolist(), 1))


def ours(text: bytes) -> int:
    """Every row, taken chunk by chunk as a stream is; the number of non-zeros."""
    parser = SvmlightParser(zero_based=False, max_line=1 << 26)
    file, chunk, n_pairs = io.BytesIO(text), memoryview(bytearray(CHUNK)), 0
    while n := file.readinto(chunk):
        parser.feed(chunk[:n])
        n_pairs += len(parser.take(parser.rows)[2])
    parser.finish()
    return n_pairs + len(parser.take(parser.rows)[2])


def sklearn(text: bytes) -> int:
    X, _ = load_svmlight_file(io.BytesIO(text), zero_based=False)
    return int(X.nnz)


def seconds(function: Callable[[bytes], int], text: bytes) -> tuple[float, int]:
    start = time.perf_counter()
    n_pairs = function(text)
    return time.perf_counter() - start, n_pairs


def main(n_bytes: int = 50_000_000) -> None:
    print(f"{'text':<22}{'ours ns/B':>10}{'sklearn ns/B':>14}{'ratio':>8}{'goal':>7}  met")
    for name, row in (("URL-like, 90 % ones", url_row), ("real values, 17 digits", real_row)):
        text = make_text(n_bytes, row)
        times: dict[Callable[[bytes], int], list[float]] = {ours: [], sklearn: []}
        for _ in range(ROUNDS):
            counts = set()
            for function, taken in times.items():
                duration, n_pairs = seconds(function, text)
                taken.append(duration)
                counts.add(n_pairs)
            assert len(counts) == 1, counts
        us, them = (statistics.median(t) * 1e9 / len(text) for t in times.values())
        met = "yes" if them / us >= GOAL else "NO"
        print(f"{name:<22}{us:>10.2f}{them:>14.2f}{them / us:>8.1f}{GOAL:>7.1f}  {met}")


if __name__ == "__main__":
    main()
