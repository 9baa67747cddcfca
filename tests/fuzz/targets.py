"""The fuzzing targets in Python: bytes to a reader, which may only raise one plain error.

States carry checksums and lengths, which a mutation would almost never get right, so the targets
put them right first: what they try is hostility, not corruption. A state comes as its bytes, of
which the checksums are made good, or *laid open* (see ``laid_open``), where the length of its
header is too, so that a mutation may lengthen the JSON and still reach the reader.
"""

from __future__ import annotations

import io
import math
import re
import struct
import tempfile
import warnings
import zlib
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import driftsieve as ds
from driftsieve._storage.envelope import MAGIC, VERSION
from driftsieve.cli.checkpoint import Checkpoint
from driftsieve.exceptions import SourceError, SourceWarning
from driftsieve.history import ScoreHistory


def seal(data: bytes) -> bytes:
    """``data`` as an envelope with the right magic, version and CRC, and the same for the bank and
    the history in it.
    """
    body = data[16:]
    parts = [at.start() for at in re.finditer(re.escape(MAGIC), body)][:2]
    for begin, end in reversed([*pairwise([*parts, len(body)])]):
        body = body[:begin] + seal(body[begin:end]) + body[end:]
    return MAGIC + struct.pack("<II", VERSION, zlib.crc32(body)) + body


def laid_open(data: bytes) -> bytes:
    """A stored state as its header, which has no line ends, a line end, and the rest."""
    size = int.from_bytes(data[16:24], "little")
    return data[24 : 24 + size] + b"\n" + data[24 + size :]


def envelope(data: bytes) -> bytes:
    """An envelope without fault around what ``data`` has, laid open or not."""
    if data.startswith(MAGIC):
        return seal(data)
    header, _, rest = data.partition(b"\n")
    end = rest.find(MAGIC, 1)
    bank_bytes = b'"bank_bytes":%d' % (end if end >= 0 else len(rest))
    header = re.sub(rb'"bank_bytes":\d+', bank_bytes, header)
    return seal(bytes(16) + struct.pack("<Q", len(header)) + header + rest)


def is_refused(read: Callable[[], None], error: type[ValueError] = ValueError) -> bool:
    """Whether ``read`` raised one sentence; any other error propagates."""
    try:
        read()
    except error as refusal:
        if "\n" in str(refusal) or len(str(refusal)) > 1000:
            raise AssertionError(f"not one sentence: {refusal}") from refusal
        return True
    return False


def _state(from_bytes: Callable[[bytes], object], use: Callable[..., None]):
    def read(data: bytes) -> None:
        found = []
        sealed = envelope(data)
        if not is_refused(lambda: found.append(from_bytes(sealed))):
            use(found[0])

    return read


def _use_bank(bank: ds.Bank) -> None:
    again = ds.Bank.from_bytes(bank.to_bytes(), n_threads=1)
    if bank.n_features * max(1, len(bank.classes)) < 1 << 14:
        again.snapshots()


def _use_screener(screener: ds.FeatureScreener) -> None:
    ds.FeatureScreener.from_bytes(screener.to_bytes())


def _use_checkpoint(checkpoint: Checkpoint) -> None:
    Checkpoint.from_bytes(checkpoint.to_bytes(), n_threads=1)


def _use_history(history: ScoreHistory) -> None:
    history.stability_over_time()
    if 0 < history.n_features < 1 << 14 and history.positions[-1] < 1e300:
        later = math.nextafter(history.positions[-1], math.inf)
        history.record(later, [1.0] * history.n_features)
    ScoreHistory.from_bytes(history.to_bytes())


_MAGIC = {b"\x1f": ".csv.gz", b"B": ".csv.bz2", b"\xfd": ".csv.xz", b"\x28": ".csv.zst"}


def _file(suffix: str | None) -> Callable[[bytes], None]:
    """Reads files of that name, or compressed ones; the settings are part of the input."""
    memory = Path("/dev/shm")
    folder = tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None)

    def read(data: bytes) -> None:
        n = len(data)
        path = f"{folder.name}/fuzz{suffix or _MAGIC.get(data[:1], '.csv.gz')}"
        with io.FileIO(path, "w") as file:
            file.write(data)
        settings: dict[str, object] = {
            "target": None if suffix == ".svm" else "y",
            "on_error": ("raise", "skip")[n % 2],
            "missing": ("error", "ignore")[n // 2 % 2],
        }
        if suffix == ".csv" and n % 3:
            place = {"target": -1, "header": False, "sample_weight": 0}
            settings |= {"delimiter": (";", "\t")[n // 4 % 2], **(place if n % 3 == 1 else {})}

        def rows() -> None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SourceWarning)  # columns that are read as text
                batches = ds.as_batches(path, **settings)
                delivered = sum(batch.n_rows for batch in batches)
            assert batches.rows_read == delivered + batches.rows_skipped

        is_refused(rows, SourceError)

    return read


TARGETS: dict[str, Callable[[bytes], None]] = {
    "bank": _state(lambda data: ds.Bank.from_bytes(data, n_threads=1), _use_bank),
    "screener": _state(ds.FeatureScreener.from_bytes, _use_screener),
    "checkpoint": _state(lambda data: Checkpoint.from_bytes(data, n_threads=1), _use_checkpoint),
    "history": _state(ScoreHistory.from_bytes, _use_history),
    "csv": _file(".csv"),
    "jsonl": _file(".jsonl"),
    "svmlight": _file(".svm"),
    "parquet": _file(".parquet"),
    "arrow": _file(".arrow"),
    "compressed": _file(None),
}
