"""One thread at a time, and a clear error for the second one."""

from __future__ import annotations

import threading


class Exclusive:
    """A lock that turns the second thread away instead of letting it wait.

    >>> alone = Exclusive()
    >>> with alone, alone:
    ...     pass
    Traceback (most recent call last):
    ...
    RuntimeError: this bank is in use by another thread; give each thread its own bank and merge
    them, or lock around the calls
    """

    __slots__ = ("acquire", "release")

    def __init__(self) -> None:
        lock = threading.Lock()
        self.acquire, self.release = lock.acquire, lock.release

    def __enter__(self) -> None:
        if not self.acquire(False):
            raise RuntimeError(
                "this bank is in use by another thread; give each thread its own bank and merge "
                "them, or lock around the calls"
            )

    def __exit__(self, *_: object) -> None:
        self.release()
