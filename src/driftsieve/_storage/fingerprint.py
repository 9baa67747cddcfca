"""Fingerprints of files, which show whether the part that was read has changed."""

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

    Files with consecutive rows are digested up to the position of the reader, each byte once. Other
    files (``sequential=False``) are digested completely when reading begins. Pipes cannot be read
    twice: if one of the files is a pipe, there is no fingerprint.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "rows.csv"
    >>> _ = path.write_text("a,b,y\n1,2,0\n")
    >>> seen = Fingerprint([str(path)]).up_to(6)
    >>> _ = path.write_text("a,b,y\n3,4,0\n")  # not read yet
    >>> Fingerprint([str(path)]).difference(seen)
    >>> _ = path.write_text("a,c,y\n3,4,0\n")
    >>> Fingerprint([str(path)]).difference(seen).endswith("rows.csv has changed")
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
        """Return all files after ``n_bytes`` of them were read, in order; None if one is a pipe."""
        seen = []
        for i, (name, size) in enumerate(zip(self._names, self._sizes, strict=True)):
            if size is None:
                return None
            reached = min(size, n_bytes)
            n_bytes -= reached
            if reached and not self._sequential:
                reached = size
            reached = max(reached, self._done[i])  # a resumed run may have read further
            seen.append(Seen(_text(name), size, reached, self._digest(i, reached)))
        return seen

    def difference(self, seen: Sequence[Seen] | None) -> str | None:
        """Return how the files differ from those seen, whatever their folder; None if equal."""
        if seen is None or None in self._sizes:
            return "a pipe cannot be read twice, so it cannot be compared"
        if len(seen) != len(self._names):
            return f"there were {len(seen)} files and now there are {len(self._names)}"
        for i, before in enumerate(seen):
            if self._sizes[i] != before.size:
                return f"{self._names[i]} had {before.size:,} bytes and now has {self._sizes[i]:,}"
            if self._digest(i, before.n_bytes) != before.digest:
                return f"the beginning of {self._names[i]} has changed"
        return None

    def displaced(self, seen: Sequence[Seen] | None) -> str | None:
        """Return why the rows read before are not the first rows of the files; None if they are.

        The files that were read must come first, by name or by content, and only the last of them
        may have a new size. New rows in an earlier file would be skipped, and as many rows of the
        next file would count twice. None for a pipe.
        """
        if seen is None or None in self._sizes:
            return None
        last = max((i for i, before in enumerate(seen) if before.n_bytes), default=-1)
        for i, before in enumerate(seen[: last + 1]):
            if i == len(self._names):
                return f"{before.name} was read and is no longer among the files"
            name, size = self._names[i], self._sizes[i]
            if _text(name) != before.name and self._digest(i, before.n_bytes) != before.digest:
                return f"{before.name} was read and {name} is now in its place"
            if i < last and size != before.size:
                had = f"{name} had {before.size:,} bytes and now has {size:,}"
                return f"{had}, and others were read after it"
        return None

    def _digest(self, i: int, n_bytes: int) -> str:
        """Return the digest of the first ``n_bytes`` of a file; ``n_bytes`` must not decrease."""
        if n_bytes > self._done[i]:
            with Path(self._names[i]).open("rb", buffering=0) as file:
                file.seek(self._done[i])
                while chunk := file.read(min(_CHUNK, n_bytes - self._done[i])):
                    self._hashes[i].update(chunk)
                    self._done[i] += len(chunk)
        digest: str = self._hashes[i].hexdigest()
        return digest


def _text(name: str) -> str:
    """Return a name, which may be any bytes, as text that can be stored."""
    return name.encode("utf-8", "backslashreplace").decode()
