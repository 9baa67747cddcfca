"""Checkpoints: everything that a pass over a stream needs to continue after an interruption."""

from __future__ import annotations

import operator
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from driftsieve._storage import envelope
from driftsieve._storage.atomic import replacing
from driftsieve._storage.fingerprint import Seen
from driftsieve.history import ScoreHistory
from driftsieve.memory.reading import AnyBank, bank_from_bytes


@dataclass(frozen=True, slots=True)
class Place:
    """The position of a pass in its input, and its settings."""

    position: int = 0  # the skip_rows with which as_batches continues
    rows_skipped: int = 0  # rows left out so far
    reasons: tuple[str, ...] = ()  # the causes of the first few of them
    files: list[Seen] | None = None  # None if the input cannot be read twice
    settings: dict[str, Any] = field(default_factory=dict)  # JSON values
    values_ignored: int = 0  # values left out of rows because of max_features
    columns: dict[str, str] = field(default_factory=dict)  # kinds of columns


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A bank, the position of its rows in the input and the history of its scores, in one file.

    The file is an envelope: the position in its header, then the bytes of the bank and those of the
    history. ``save`` replaces the whole file: whenever the process dies, the file is the old one or
    the new one. The same content gives the same bytes.

    >>> import tempfile
    >>> from driftsieve import Bank
    >>> path = Path(tempfile.mkdtemp()) / "bank.dsv"
    >>> bank = Bank().update([[1.0], [2.0]], ["a", "b"])
    >>> Checkpoint(bank, Place(position=2)).save(path)
    >>> again = Checkpoint.load(path)
    >>> again.bank.to_bytes() == bank.to_bytes(), again.place.position
    (True, 2)
    """

    bank: AnyBank
    place: Place
    history: ScoreHistory | None = None

    def to_bytes(self) -> bytes:
        bank = self.bank.to_bytes()
        history = b"" if self.history is None else self.history.to_bytes()
        header = {
            "kind": "checkpoint",
            "position": operator.index(self.place.position),
            "rows_skipped": operator.index(self.place.rows_skipped),
            "reasons": self.place.reasons,
            "files": self.place.files,
            "settings": self.place.settings,
            "bank_bytes": len(bank),
        }
        if self.place.values_ignored:  # otherwise the bytes are the same as before
            header["values_ignored"] = operator.index(self.place.values_ignored)
        if self.place.columns:
            header["columns"] = self.place.columns
        return envelope.pack(header, bank, history)

    @classmethod
    def from_bytes(cls, data: bytes | memoryview, *, n_threads: int | None = None) -> Self:
        """Restore a checkpoint; raise ValueError if the bytes are not valid."""
        header, payload = envelope.unpack(data, "checkpoint")
        place, size = _place(header), header.get("bank_bytes")
        if type(size) is not int or not 0 <= size <= len(payload):
            raise envelope.malformed("The bank must not be longer than the bytes.")
        bank = bank_from_bytes(payload[:size], n_threads=n_threads)
        history = payload[size:]
        return cls(bank, place, ScoreHistory.from_bytes(history) if history else None)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Replace the file: temporary file, fsync, rename, fsync of the directory."""
        data = self.to_bytes()
        with replacing(path) as file:
            file.write(data)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, n_threads: int | None = None) -> Self:
        return cls.from_bytes(Path(path).read_bytes(), n_threads=n_threads)


def _place(header: dict[str, Any]) -> Place:
    """Return the position in the header; raise ValueError if it is not valid."""
    names = ("position", "rows_skipped", "reasons", "files", "settings")
    parts: list[Any] = [header.get(name) for name in names]
    position, rows_skipped, reasons, files, settings = parts
    values_ignored, columns = header.get("values_ignored", 0), header.get("columns", {})
    kinds = [str, int, int, str]
    sound = (
        all(type(n) is int and n >= 0 for n in (position, rows_skipped, values_ignored))
        and isinstance(reasons, list)
        and all(isinstance(reason, str) for reason in reasons)
        and isinstance(settings, dict)
        and isinstance(columns, dict)
        and all(kind in ("numbers", "text") for kind in columns.values())
        and (files is None or isinstance(files, list))
        and all(isinstance(f, list) and [type(part) for part in f] == kinds for f in files or ())
    )
    if not sound:
        raise envelope.malformed("The position in the input must be valid.")
    seen = None if files is None else [Seen(*file) for file in files]
    return Place(position, rows_skipped, tuple(reasons), seen, settings, values_ignored, columns)
