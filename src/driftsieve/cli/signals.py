"""Ctrl-C and SIGTERM as an exception that does not interrupt protected blocks."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Self

from driftsieve._platform import STOP_SIGNALS


class Stop(KeyboardInterrupt):
    """Raised on a signal to stop, such as SIGINT or SIGTERM."""

    def __init__(self, signal_number: int) -> None:
        super().__init__(signal_number)
        self.code = 128 + signal_number


class Signals:
    """Within the block, SIGINT and SIGTERM raise ``Stop``: at once, or at the end of ``whole``.

    At once, because the input that a run waits for may never come. But an update of the bank or a
    checkpoint is finished first, however often the signal comes.
    """

    def __init__(self) -> None:
        self._is_whole = False
        self._pending: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        # other threads cannot set handlers
        if threading.current_thread() is threading.main_thread():
            for number in STOP_SIGNALS:
                self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextmanager
    def whole(self) -> Iterator[None]:
        """Defer signals to the end of the block."""
        self._is_whole = True
        try:
            yield
        finally:
            self._is_whole = False
        if self._pending is not None:
            raise Stop(self._pending)

    def _handle(self, number: int, _: FrameType | None) -> None:
        self._pending = number
        if not self._is_whole:
            raise Stop(number)
