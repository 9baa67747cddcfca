"""Chunks of a file, parsed by threads while earlier ones are in use."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from driftsieve.exceptions import SourceError
from driftsieve.sources.files.paths import File, quick_pyarrow

Given = TypeVar("Given")
Parsed = TypeVar("Parsed")

_LARGE = 4 << 20  # bytes of a file per thread
_THREADS = 4  # more threads would wait for the consumer
_ROWS = 1 << 16  # largest number of batches ahead of the one in use


def n_ahead(file: File, batch_size: int) -> int:
    """Return how many batches to read ahead: none for a pipe, whose rows are used at once."""
    if file.size is None or file.size < _LARGE or (pa := quick_pyarrow(file.size)) is None:
        return 0
    cores = pa.cpu_count()
    return 0 if cores == 1 else min(_THREADS, cores, _ROWS // batch_size)


def ahead(
    tasks: Iterable[tuple[Given, Callable[[], Parsed]]], n: int
) -> Iterator[tuple[Given, Parsed]]:
    """Yield each chunk with the result of its task, in order; ``n`` threads run the tasks.

    A ``SourceError`` of a task is raised at the same chunk as without threads.
    """
    if not n:
        for chunk, task in tasks:
            yield chunk, task()
        return
    source = iter(tasks)
    pending: deque[tuple[Given, Future[Parsed]]] = deque()
    end: Exception | None = None
    pool = ThreadPoolExecutor(n)
    try:
        while pending or end is None:
            try:
                while end is None and len(pending) <= n:
                    chunk, task = next(source)
                    pending.append((chunk, pool.submit(task)))
            except (StopIteration, SourceError) as problem:
                end = problem
            if pending:
                chunk, future = pending.popleft()
                yield chunk, future.result()
    finally:
        pool.shutdown(cancel_futures=True)
    if isinstance(end, SourceError):
        raise end
