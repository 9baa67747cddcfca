"""Files that are replaced whole or not at all."""

from __future__ import annotations

import fcntl
import glob
import hashlib
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

_LONGEST = 200  # bytes of a name that its temporary file has in its own; file systems allow 255


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write to, which takes the place of ``path`` when the block ends well.

    Whoever opens ``path``, be it after a crash or a loss of power, finds all of what was there
    before or all of what was written, never a part of it. If the block fails, ``path`` is left as
    it was. Only a process that is killed leaves its temporary file behind: ``remove_stale``. The
    new file has the permissions of the old one, and its owner and group where we may give it away.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "ranking.csv"
    >>> with replacing(path) as file:
    ...     _ = file.write(b"rank,feature")
    >>> path.read_bytes(), len(list(path.parent.iterdir()))
    (b'rank,feature', 1)
    """
    target = check(path)
    temporary, file = _temporary(target)
    try:
        with file:
            if target.exists():
                _make_like(file.fileno(), target.stat())
            yield file
            file.flush()
            os.fsync(file.fileno())  # the bytes must be on disk before the name points at them
            temporary.replace(target)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno and error.filename is None:
            error.filename = os.fspath(path)  # a full disk does not say what it has no room for
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
    for left in target.parent.glob(f"{glob.escape(_prefix(target))}????????.tmp"):
        with suppress(OSError), left.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # refused while its writer lives
            left.unlink()


def _prefix(target: Path) -> str:
    name = os.fsencode(target.name)
    return f".{target.name if len(name) <= _LONGEST else hashlib.sha256(name).hexdigest()}."


def _temporary(target: Path) -> tuple[Path, BinaryIO]:
    """A new file beside the target, locked for as long as it is open."""
    mode = 0o600 if target.exists() else 0o666  # nobody may look before it is made like the target
    while True:
        path = target.with_name(f"{_prefix(target)}{secrets.token_hex(4)}.tmp")
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        file = os.fdopen(handle, "wb")
        with suppress(OSError):  # a file system without locks: then nothing is ever removed
            fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(file.fileno()).st_nlink:
            return path, file
        file.close()  # it was taken for a stale one before it was locked


def _make_like(file: int, old: os.stat_result) -> None:
    with suppress(OSError):  # nor can an owner be named that a user namespace does not know
        os.fchown(file, old.st_uid, old.st_gid)
    with suppress(OSError):  # a file system without modes
        os.fchmod(file, stat.S_IMODE(old.st_mode))


def _sync_directory(directory: Path) -> None:
    """Put the new name on disk; systems without ``O_DIRECTORY`` cannot and need not."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
