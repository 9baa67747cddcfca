"""Files that are replaced whole or not at all."""

from __future__ import annotations

import glob
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write to, which takes the place of ``path`` when the block ends well.

    Whoever opens ``path``, be it after a crash or a loss of power, finds all of what was there
    before or all of what was written, never a part of it. If the block fails, ``path`` is left as
    it was. Only a process that is killed leaves its temporary file behind: ``remove_stale``.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "ranking.csv"
    >>> with replacing(path) as file:
    ...     _ = file.write(b"rank,feature")
    >>> path.read_bytes(), len(list(path.parent.iterdir()))
    (b'rank,feature', 1)
    """
    target = check(path)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())  # the bytes must be on disk before the name points at them
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_directory(target.parent)


def check(path: str | os.PathLike[str]) -> Path:
    """The file that ``path`` leads to; OSError if ``replacing`` could not write it."""
    target = Path(os.path.realpath(path))  # a link stays a link
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{path}: there is no directory {target.parent}")
    if target.exists() and not target.is_file():
        raise IsADirectoryError(f"{path}: is not a file that can be replaced")
    if not os.access(target.parent, os.W_OK):
        raise PermissionError(f"{path}: the directory {target.parent} cannot be written to")
    return target


def remove_stale(path: str | os.PathLike[str]) -> None:
    """Remove what processes that were killed while they replaced ``path`` left behind."""
    target = Path(os.path.realpath(path))
    for left in target.parent.glob(f".{glob.escape(target.name)}.????????.tmp"):
        left.unlink(missing_ok=True)


def _sync_directory(directory: Path) -> None:
    """Put the new name on disk; systems without ``O_DIRECTORY`` cannot and need not."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
