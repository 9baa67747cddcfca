"""Parquet files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from driftsieve.sources.arrow import encoded, tables
from driftsieve.sources.base import Options, Rows, SourceError
from driftsieve.sources.columns import TableEncoder
from driftsieve.sources.files import File, pyarrow

_AT_ONCE = 32 << 20
_BUFFER = 1 << 16


class ParquetReader:
    """Reads parquet files, some pages of each column at a time."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._encoder = TableEncoder(options)
        pyarrow("Reading parquet files")

    def read(self, file: File) -> Iterator[Rows]:
        if file.compression or file.name == "-":
            raise SourceError("a parquet file must be uncompressed and on disk", file.name)
        size = self._options.batch_size
        total, done = [0], 0
        for table in tables(_record_batches(file, size, total), file, size):
            done += len(table)
            rows = Rows(len(table), encoded(table, self._encoder))
            # what the file says of itself may be wrong
            rows.bytes_read = (file.size or 0) * done // max(total[0], done, 1)
            yield rows


def _record_batches(file: File, size: int, total: list[int]) -> Iterator[Any]:
    from pyarrow import parquet

    # Without pre_buffer=False pyarrow reads ahead until the whole file is in memory. With a buffer
    # it makes room for whatever length a page claims to have, so small files go without.
    metadata = parquet.read_metadata(file.name)
    at_once = max(1, metadata.num_columns) * (file.size or 0)  # what columns may claim, and no more
    settings = {"pre_buffer": False, "buffer_size": 0 if at_once <= _AT_ONCE else _BUFFER}
    with parquet.ParquetFile(file.name, metadata=metadata, **settings) as source:
        total[0] = metadata.num_rows
        yield from source.iter_batches(batch_size=size, use_threads=False)
