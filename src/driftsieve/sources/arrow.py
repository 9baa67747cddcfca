"""Arrow files and streams (Feather is an Arrow file), and what parquet has in common with them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import narwhals.stable.v1 as nw

from driftsieve.sources.base import Encoded, Options, Rows, SourceError
from driftsieve.sources.columns import TableEncoder, check_unique
from driftsieve.sources.files import READ_ERRORS, File, opened, pyarrow
from driftsieve.sources.frames import table_of

_BLOCK = 1 << 20


class ArrowReader:
    """Reads Arrow IPC files, a record batch at a time, and Arrow streams."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._encoder = TableEncoder(options)
        pyarrow("Reading Arrow files")

    def read(self, file: File) -> Iterator[Rows]:
        with opened(file) as (raw, stream):
            batches = _record_batches(file, _Doubting(stream))
            for table in tables(batches, file, self._options.batch_size):
                rows = Rows(len(table), encoded(table, self._encoder))
                rows.bytes_read = 0 if file.size is None else raw.tell()
                yield rows


class _Doubting:
    """A stream that makes no room for bytes before they are there, however many are asked for."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def read(self, size: int = -1) -> bytes:
        parts = []
        while size and (part := self._stream.read(min(size, _BLOCK) if size > 0 else _BLOCK)):
            parts.append(part)
            size -= len(part) if size > 0 else 0
        return b"".join(parts)


def _record_batches(file: File, stream: Any) -> Iterator[Any]:
    from pyarrow import ipc

    if stream.peek(6).startswith(b"ARROW1"):
        if file.compression or file.name == "-":
            raise SourceError("an Arrow file must be uncompressed and on disk", file.name)
        reader = ipc.open_file(stream)
        for i in range(reader.num_record_batches):
            yield reader.get_batch(i)
    else:
        yield from ipc.open_stream(stream)


def encoded(table: Any, encoder: TableEncoder) -> Encoded:
    """An Arrow table in the features of its stream."""
    frame = nw.from_native(table, eager_only=True)
    return encoder.encode(table_of(frame, encoder.roles(frame.columns), encoder.text), len(table))


def tables(batches: Iterator[Any], file: File, size: int) -> Iterator[Any]:
    """Record batches cut and joined into tables of ``size`` rows; errors name file and row."""
    pa = pyarrow("Reading Arrow and parquet files")
    pending: list[Any] = []
    n_pending = n_done = 0
    try:
        for batch in batches:
            check_unique(batch.schema.names)
            batch.validate(full=True)  # text that is not UTF-8, offsets that point outside
            start = 0
            while n_pending + batch.num_rows - start >= size:
                pending.append(batch.slice(start, size - n_pending))
                start += size - n_pending
                yield pa.Table.from_batches(pending)
                pending, n_pending, n_done = [], 0, n_done + size
            if start < batch.num_rows:
                pending.append(batch.slice(start))
                n_pending += batch.num_rows - start
    except SourceError:
        raise
    except (*READ_ERRORS, MemoryError, RuntimeError, pa.ArrowException) as problem:
        where = f"row {n_done + n_pending}" if n_done + n_pending else None
        hungry = isinstance(problem, MemoryError)
        cause = "it asks for more memory than there is" if hungry else problem
        raise SourceError(f"cannot be read: {cause}", file.name, where) from problem
    if pending:
        yield pa.Table.from_batches(pending)
