"""Arrow files and streams (Feather is an Arrow file), and what parquet has in common with them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import narwhals.stable.v1 as nw

from driftsieve.sources.base import Encoded, Options, Rows, SourceError
from driftsieve.sources.columns import TableEncoder
from driftsieve.sources.files import READ_ERRORS, File, opened, pyarrow
from driftsieve.sources.frames import table_of


class ArrowReader:
    """Reads Arrow IPC files, a record batch at a time, and Arrow streams."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._encoder = TableEncoder(options)
        pyarrow("Reading Arrow files")

    def read(self, file: File) -> Iterator[Rows]:
        with opened(file) as (raw, stream):
            for table in tables(_record_batches(file, stream), file, self._options.batch_size):
                rows = Rows(len(table), encoded(table, self._encoder, self._options))
                rows.bytes_read = 0 if file.size is None else raw.tell()
                yield rows


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


def encoded(table: Any, encoder: TableEncoder, options: Options) -> Encoded:
    """An Arrow table in the features of its stream."""
    return encoder.encode(table_of(nw.from_native(table, eager_only=True), options), len(table))


def tables(batches: Iterator[Any], file: File, size: int) -> Iterator[Any]:
    """Record batches cut and joined into tables of ``size`` rows; errors name file and row."""
    pa = pyarrow("Reading Arrow and parquet files")
    pending: list[Any] = []
    n_pending = n_done = 0
    try:
        for batch in batches:
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
    except (*READ_ERRORS, pa.ArrowException) as problem:
        where = f"row {n_done + n_pending}" if n_done + n_pending else None
        raise SourceError(f"cannot be read: {problem}", file.name, where) from problem
    if pending:
        yield pa.Table.from_batches(pending)
