"""What differs between operating systems: file locks, signals, memory, cores and open files."""

from __future__ import annotations

import math
import os
import signal
import stat
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any


def _module(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        return None


fcntl = _module("fcntl")  # POSIX
msvcrt = _module("msvcrt")  # Windows

STOP_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGBREAK") if hasattr(signal, name)
)
"""Signals that ask a process to stop: Ctrl-C, ``kill``, and Ctrl-Break on Windows."""

BINARY = getattr(os, "O_BINARY", 0)
"""Flag of ``os.open`` without which Windows rewrites line ends."""

HOLDS_OPEN_FILES = os.name == "nt"
"""Whether an open file can be neither renamed nor removed."""


def lock(handle: int, *, wait: bool = True) -> bool | None:
    """Lock an open file for this process until the file is closed.

    Parameters
    ----------
    handle : int
        File descriptor.
    wait : bool
        Wait while another process holds the lock.

    Returns
    -------
    bool or None
        Whether the file is locked now: False if another process holds the lock and ``wait`` is
        False, None on a system or file system without locks.
    """
    if fcntl is None:
        return None if msvcrt is None else _lock_first_byte(handle, wait)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return None
    return True


def _lock_first_byte(handle: int, wait: bool) -> bool:
    """Windows locks bytes, at the position of the file, and gives up after ten seconds."""
    position = os.lseek(handle, 0, os.SEEK_CUR)
    os.lseek(handle, 0, os.SEEK_SET)
    try:
        while True:
            with suppress(OSError):
                msvcrt.locking(handle, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
                return True
            if not wait:
                return False
    finally:
        os.lseek(handle, position, os.SEEK_SET)


def copy_owner_and_mode(handle: int, old: os.stat_result) -> None:
    """Give an open file the owner, group and permissions of another, as far as that is allowed."""
    if hasattr(os, "fchown"):
        with suppress(OSError):  # the user namespace does not know the owner
            os.fchown(handle, old.st_uid, old.st_gid)
    if hasattr(os, "fchmod"):
        with suppress(OSError):  # the file system has no modes
            os.fchmod(handle, stat.S_IMODE(old.st_mode))


def sync_directory(directory: Path) -> None:
    """Write a directory to disk; systems without ``O_DIRECTORY`` cannot and need not."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def n_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def memory_bytes() -> float:
    """Return the memory that this process may use, infinity if the system does not report it."""
    limits = [math.inf]
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        limits.append(float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")))
    elif os.name == "nt":
        limits.append(_windows_memory())
    for name in ("memory.max", "memory/memory.limit_in_bytes"):  # limits of a container: v2, v1
        path = Path("/sys/fs/cgroup") / name
        if path.is_file() and (text := path.read_text().strip()).isdigit():
            limits.append(float(text))
    return min(limits)


def _windows_memory() -> float:
    import ctypes

    class Status(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ulong), ("load", ctypes.c_ulong)] + [
            (name, ctypes.c_ulonglong)
            for name in ("total", "free", "pages", "free_pages", "space", "free_space", "extended")
        ]

    status = Status(length=ctypes.sizeof(Status))
    found = ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status))  # type: ignore[attr-defined]
    return float(status.total) if found else math.inf
