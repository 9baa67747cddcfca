"""Files that are replaced completely or not at all."""

from __future__ import annotations

import glob
import hashlib
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from driftsieve import _platform

_LONGEST = 200  # bytes of a name that are repeated in its temporary file; the limit is usually 255


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing, which replaces ``path`` when the block ends without an error.

    After a crash or a power loss, ``path`` has either the old content or the new content, never a
    part of it. If the block raises, ``path`` is unchanged. Only a killed process leaves its
    temporary file behind; ``remove_stale`` removes it. The new file has the permissions of the old
    one, and its owner and group if this process may set them.

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
                _platform.copy_owner_and_mode(file.fileno(), target.stat())
            yield file
            file.flush()
            os.fsync(file.fileno())  # the content must be on disk before the name
            if _platform.HOLDS_OPEN_FILES:
                file.close()
            temporary.replace(target)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno and error.filename is None:
            error.filename = os.fspath(path)  # the error of a full disk does not name the file
        raise
    _platform.sync_directory(target.parent)


@contextmanager
def locked(
    path: str | os.PathLike[str], on_wait: Callable[[], object] = lambda: None
) -> Iterator[None]:
    """Lock a file that is read and then replaced: one process at a time, the others wait.

    ``on_wait`` is called once if another process holds the lock. The lock is a file beside
    ``path``, which is removed afterwards. The lock of a killed process is released.
    """
    target = check(path)
    lock = target.with_name(f"{_prefix(target)}lock")
    has_waited = False
    while True:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT | _platform.BINARY, 0o666)
        if _platform.lock(handle, wait=False) is False:
            if not has_waited:
                on_wait()
            has_waited = True
            _platform.lock(handle)
        if os.fstat(handle).st_nlink:
            break
        os.close(handle)  # the process that held the lock has removed it
    try:
        yield
    finally:
        if _platform.HOLDS_OPEN_FILES:
            os.close(handle)
            with suppress(OSError):  # another process has it open
                lock.unlink()
        else:
            lock.unlink(missing_ok=True)
            os.close(handle)


def check(path: str | os.PathLike[str]) -> Path:
    """Return the file that ``path`` resolves to; raise OSError if ``replacing`` cannot write it."""
    target = Path(os.path.realpath(path))  # a link stays a link
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{path}: The directory {target.parent} must exist, got none.")
    if target.exists() and not target.is_file():
        raise IsADirectoryError(f"{path}: The path must be a regular file, got another kind.")
    if not os.access(target.parent, os.W_OK):
        raise PermissionError(f"{path}: The directory {target.parent} must be writable.")
    return target


def remove_stale(path: str | os.PathLike[str]) -> None:
    """Remove the temporary files of processes that were killed while they replaced ``path``."""
    target = Path(os.path.realpath(path))
    for left in target.parent.glob(f"{glob.escape(_prefix(target))}????????.tmp"):
        with suppress(OSError):
            with left.open("rb") as file:
                is_stale = _platform.lock(file.fileno(), wait=False)  # False while its writer runs
                if is_stale and not _platform.HOLDS_OPEN_FILES:
                    left.unlink()
            if is_stale and _platform.HOLDS_OPEN_FILES:
                left.unlink()


def _prefix(target: Path) -> str:
    name = os.fsencode(target.name)
    return f".{target.name if len(name) <= _LONGEST else hashlib.sha256(name).hexdigest()}."


def _temporary(target: Path) -> tuple[Path, BinaryIO]:
    """Create a file beside the target, locked while it is open."""
    mode = 0o600 if target.exists() else 0o666  # private until it has the mode of the target
    while True:
        path = target.with_name(f"{_prefix(target)}{secrets.token_hex(4)}.tmp")
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _platform.BINARY, mode)
        file = os.fdopen(handle, "wb")
        _platform.lock(handle)
        if os.fstat(file.fileno()).st_nlink:
            return path, file
        file.close()  # removed as stale before it was locked
