"""Parquet files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from driftsieve.sources.arrow import encoded, tables
from driftsieve.sources.base import Options, Rows, SourceError
from driftsieve.sources.columns import TableEncoder
from driftsieve.sources.files import File, pyarrow


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
            rows = Rows(len(table), encoded(table, self._encoder, self._options))
            # what the file says of itself may be wrong
            rows.bytes_read = (file.size or 0) * done // max(total[0], done, 1)
            yield rows


def _record_batches(file: File, size: int, total: list[int]) -> Iterator[Any]:
    from pyarrow import parquet

    # Without these pyarrow reads ahead until the whole file is in memory.
    with parquet.ParquetFile(file.name, pre_buffer=False, buffer_size=1 << 16) as source:
        total[0] = source.metadata.num_rows
        yield from source.iter_batches(batch_size=size, use_threads=False)
