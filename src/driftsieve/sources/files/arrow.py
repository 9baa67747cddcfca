"""Arrow files and streams (Feather is an Arrow file), and common parts of parquet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from driftsieve._rows.frames import as_frame
from driftsieve.exceptions import SourceError
from driftsieve.sources.base import Options, Rows
from driftsieve.sources.encoding.tables import TableEncoder, check_unique
from driftsieve.sources.files.paths import READ_ERRORS, File, opened, pyarrow
from driftsieve.sources.memory.frames import note_texts, table_of, without_index

_BLOCK = 1 << 20


class ArrowReader:
    """Reader of Arrow IPC files, one record batch at a time, and of Arrow streams."""

    kind = "Arrow"

    def __init__(self, options: Options) -> None:
        self._options = options
        self._encoder = TableEncoder(options)
        pyarrow(f"Reading {self.kind} files")

    @property
    def columns(self) -> dict[str, str]:
        return self._encoder.kinds

    def read(self, file: File) -> Iterator[Rows]:
        with opened(file) as (raw, stream):
            batches = _record_batches(file, _OnDemand(stream))
            for table in tables(batches, file, self._options.batch_size):
                rows = rows_of(table, self._encoder)
                rows.bytes_read = 0 if file.size is None else raw.tell()
                yield rows


class _OnDemand:
    """A stream that allocates no memory for bytes that do not exist, whatever size is requested."""

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
            raise SourceError(
                "An Arrow file must be on disk and uncompressed, got a pipe or a compressed file.",
                file.name,
            )
        reader = ipc.open_file(stream)
        for i in range(reader.num_record_batches):
            yield reader.get_batch(i)
    else:
        yield from ipc.open_stream(stream)


def rows_of(table: Any, encoder: TableEncoder) -> Rows:
    """Encode an Arrow table."""
    frame = as_frame(without_index(table, encoder.options))
    values = table_of(frame, encoder.roles(frame.columns), encoder.text)
    note_texts(frame, values, encoder)
    encoded = encoder.encode(values, len(table))
    rows = Rows(len(table), encoded)
    rows.leave_out(encoder.unusable(values, encoded))
    return rows


def tables(batches: Iterator[Any], file: File, size: int) -> Iterator[Any]:
    """Yield tables of ``size`` rows made of record batches; errors name the file and the row."""
    pa = pyarrow("Reading Arrow and parquet files")
    pending: list[Any] = []
    n_pending = n_done = 0
    try:
        for batch in batches:
            check_unique(batch.schema.names)
            batch.validate(full=True)  # text that is not UTF-8, or offsets outside of the array
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
        cause = "it needs more memory than is available" if hungry else problem
        raise SourceError(f"The file cannot be read: {cause}", file.name, where) from problem
    if pending:
        yield pa.Table.from_batches(pending)
