"""svmlight files to CSR rows: nanoseconds per byte, ours and scikit-learn's, on one thread."""

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from sklearn.datasets import load_svmlight_file

from driftsieve._core import SvmlightParser
from driftsieve.sources import as_batches

ROUNDS = 5
GOAL = 5.0


def make_text(n_bytes: int, row: Callable[[np.random.Generator], str]) -> bytes:
    """About n_bytes of rows: 5000 different ones, repeated in random order."""
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


def parser(path: Path) -> int:
    """Every row, taken piece by piece as a stream is; the number of non-zeros."""
    rows = SvmlightParser(zero_based=False, max_line=1 << 26)
    piece, n_pairs = memoryview(bytearray(1 << 18)), 0
    with path.open("rb", buffering=0) as file:
        while n := file.readinto(piece):
            rows.feed(piece[:n])
            n_pairs += len(rows.take(rows.rows)[2])
    rows.finish()
    return n_pairs + len(rows.take(rows.rows)[2])


def batches(path: Path) -> int:
    """The same as validated batches."""
    return sum(len(batch.X.data) for batch in as_batches(path))


def sklearn(path: Path) -> int:
    X, _ = load_svmlight_file(str(path), zero_based=False)
    return int(X.nnz)


def ns_per_byte(path: Path) -> list[float]:
    """The median over interleaved rounds, for each of ours and for scikit-learn."""
    functions = (parser, batches, sklearn)
    times: list[list[float]] = [[] for _ in functions]
    for _ in range(ROUNDS):
        counts = set()
        for function, taken in zip(functions, times, strict=True):
            start = time.perf_counter()
            counts.add(function(path))
            taken.append(time.perf_counter() - start)
        assert len(counts) == 1, counts
    return [statistics.median(taken) * 1e9 / path.stat().st_size for taken in times]


def main(n_bytes: int = 50_000_000) -> None:
    names = f"{'text':<24}{'work':<12}{'ours ns/B':>10}{'sklearn ns/B':>14}"
    print(f"{names}{'ratio':>8}{'goal':>6}  met")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rows.svm"
        for name, row in (("URL-like, 90 % ones", url_row), ("real values, 17 digits", real_row)):
            path.write_bytes(make_text(n_bytes, row))
            *ours, theirs = ns_per_byte(path)
            for work, us in zip(("parser", "as_batches"), ours, strict=True):
                met = "yes" if theirs / us >= GOAL else "NO"
                ratio = f"{theirs / us:>8.1f}{GOAL:>6.1f}  {met}"
                print(f"{name:<24}{work:<12}{us:>10.2f}{theirs:>14.2f}{ratio}")


if __name__ == "__main__":
    main()
