"""What is fuzzed on the Python side: bytes to a reader, which may only raise one plain error.

Each target takes arbitrary bytes. States carry a checksum, which a mutation would almost never
get right, so the targets put it right first: what they try is hostility, not corruption.
"""

from __future__ import annotations

import math
import struct
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path

import driftsieve as ds
from driftsieve import codec
from driftsieve.checkpoint import Checkpoint
from driftsieve.history import ScoreHistory

# One sentence for the caller; UnicodeDecodeError and RowError are ValueErrors.
REFUSALS = (ValueError, TypeError)


def seal(data: bytes) -> bytes:
    """``data`` as an envelope of ``driftsieve.codec`` with the right magic, version and CRC."""
    body = data[16:]
    return codec.MAGIC + struct.pack("<II", codec.VERSION, zlib.crc32(body)) + body


def bank(data: bytes) -> None:
    """A bank that is not refused works."""
    try:
        found = ds.Bank.from_bytes(seal(data), n_threads=1)
    except REFUSALS:
        return
    again = ds.Bank.from_bytes(found.to_bytes(), n_threads=1)
    if found.n_features * max(1, len(found.classes)) < 1 << 14:
        again.freeze()


def screener(data: bytes) -> None:
    """A screener that is not refused can be stored again."""
    try:
        found = ds.FeatureScreener.from_bytes(seal(data))
    except REFUSALS:
        return
    found.to_bytes()


def checkpoint(data: bytes) -> None:
    """A checkpoint that is not refused can be stored again."""
    try:
        found = Checkpoint.from_bytes(seal(data), n_threads=1)
    except REFUSALS:
        return
    Checkpoint.from_bytes(found.to_bytes(), n_threads=1)


def history(data: bytes) -> None:
    """A history that is not refused takes one more record and can be stored again."""
    prefix = b"dshistor" + struct.pack("<I", 1) + data[12:-4]
    try:
        found = ScoreHistory.from_bytes(prefix + struct.pack("<I", zlib.crc32(prefix)))
    except REFUSALS:
        return
    found.stability_over_time()
    if 0 < found.n_features < 1 << 14 and found.positions[-1] < 1e300:
        later = math.nextafter(found.positions[-1], math.inf)
        found.record(later, [1.0] * found.n_features)
    ScoreHistory.from_bytes(found.to_bytes())


def _file(suffix: str, **settings: object) -> Callable[[bytes], None]:
    path = Path(tempfile.mkdtemp()) / f"fuzz{suffix}"

    def read(data: bytes) -> None:
        path.write_bytes(data)
        try:
            for _ in ds.as_batches(path, **settings):
                pass
        except REFUSALS:
            return

    return read


TARGETS: dict[str, Callable[[bytes], None]] = {
    "bank": bank,
    "screener": screener,
    "checkpoint": checkpoint,
    "history": history,
    "csv": _file(".csv", target="y"),
    "jsonl": _file(".jsonl", target="y"),
    "svmlight": _file(".svm", zero_based=False),
    "parquet": _file(".parquet", target="y"),
    "gzip": _file(".csv.gz", target="y"),
}
