"""What was read of some files, so that a later run can tell whether they are still the same."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

_CHUNK = 1 << 20


class Seen(NamedTuple):
    """A file as it was read: its size, and the SHA-256 of its first ``n_bytes``."""

    name: str
    size: int
    n_bytes: int
    digest: str


class Fingerprint:
    r"""Digests of the files of a stream, as far as they were read.

    Files in which rows lie one after the other are digested up to where reading has come, each byte
    once; others (``sequential=False``) as a whole as soon as reading begins. Pipes cannot be read
    twice: with one among the files there is no fingerprint.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "rows.csv"
    >>> _ = path.write_text("a,b,y\n1,2,0\n")
    >>> seen = Fingerprint([str(path)]).up_to(6)
    >>> _ = path.write_text("a,b,y\n3,4,0\n")  # not read yet
    >>> Fingerprint([str(path)]).difference(seen)
    >>> _ = path.write_text("a,c,y\n3,4,0\n")
    >>> Fingerprint([str(path)]).difference(seen).endswith("rows.csv is not what it was")
    True
    """

    def __init__(self, names: Sequence[str], *, sequential: bool = True) -> None:
        self._names = list(names)
        paths = map(Path, names)
        self._sizes = [path.stat().st_size if path.is_file() else None for path in paths]
        self._sequential = sequential
        self._hashes: list[Any] = [hashlib.sha256() for _ in names]
        self._done = [0] * len(self._names)

    def up_to(self, n_bytes: int) -> list[Seen] | None:
        """All files after ``n_bytes`` of them were read, in their order; None if one is a pipe."""
        seen = []
        for i, (name, size) in enumerate(zip(self._names, self._sizes, strict=True)):
            if size is None:
                return None
            reached = min(size, n_bytes)
            n_bytes -= reached
            if reached and not self._sequential:
                reached = size
            reached = max(reached, self._done[i])  # a run that is resumed may have looked further
            seen.append(Seen(_text(name), size, reached, self._digest(i, reached)))
        return seen

    def difference(self, seen: Sequence[Seen] | None) -> str | None:
        """How the files differ from those seen, wherever they lie now; None if they do not."""
        if seen is None or None in self._sizes:
            return "a pipe cannot be read twice to see whether it is what it was"
        if len(seen) != len(self._names):
            return f"there were {len(seen)} files, and now there are {len(self._names)}"
        for i, before in enumerate(seen):
            if self._sizes[i] != before.size:
                return f"{self._names[i]} had {before.size:,} bytes and has {self._sizes[i]:,}"
            if self._digest(i, before.n_bytes) != before.digest:
                return f"the beginning of {self._names[i]} is not what it was"
        return None

    def displaced(self, seen: Sequence[Seen] | None) -> str | None:
        """Why the rows read before are not the first ones of files that may have changed.

        The files that were read must come first, by their names or by what was read of them, and
        only the last of them may have another size: rows that are new in an earlier one would count
        as read, and as many of the next would count twice. None where they do, or for a pipe.
        """
        if seen is None or None in self._sizes:
            return None
        last = max((i for i, before in enumerate(seen) if before.n_bytes), default=-1)
        for i, before in enumerate(seen[: last + 1]):
            if i == len(self._names):
                return f"{before.name} was read, and now is not among the files"
            name, size = self._names[i], self._sizes[i]
            if _text(name) != before.name and self._digest(i, before.n_bytes) != before.digest:
                return f"{before.name} was read, and now {name} is in its place"
            if i < last and size != before.size:
                had = f"{name} had {before.size:,} bytes and has {size:,}"
                return f"{had}, and others were read after it"
        return None

    def _digest(self, i: int, n_bytes: int) -> str:
        """The digest of the first ``n_bytes`` of a file; they may only grow."""
        if n_bytes > self._done[i]:
            with Path(self._names[i]).open("rb", buffering=0) as file:
                file.seek(self._done[i])
                while chunk := file.read(min(_CHUNK, n_bytes - self._done[i])):
                    self._hashes[i].update(chunk)
                    self._done[i] += len(chunk)
        digest: str = self._hashes[i].hexdigest()
        return digest


def _text(name: str) -> str:
    """A name, which may be any bytes, as a state can hold it."""
    return name.encode("utf-8", "backslashreplace").decode()
