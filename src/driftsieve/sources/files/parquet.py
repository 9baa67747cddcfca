"""Parquet files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from driftsieve.exceptions import SourceError
from driftsieve.sources.base import Rows
from driftsieve.sources.files.arrow import ArrowReader, rows_of, tables
from driftsieve.sources.files.paths import File

_AT_ONCE = 32 << 20
_BUFFER = 1 << 16


class ParquetReader(ArrowReader):
    """Reader of parquet files, some pages of each column at a time."""

    kind = "parquet"

    def read(self, file: File) -> Iterator[Rows]:
        if file.compression or file.name == "-":
            raise SourceError(
                "A parquet file must be on disk and uncompressed, got a pipe or a compressed file.",
                file.name,
            )
        size = self._options.batch_size
        total, done = [0], 0
        for table in tables(_record_batches(file, size, total), file, size):
            done += len(table)
            rows = rows_of(table, self._encoder)
            # the metadata of the file may be wrong
            rows.bytes_read = (file.size or 0) * done // max(total[0], done, 1)
            yield rows


def _record_batches(file: File, size: int, total: list[int]) -> Iterator[Any]:
    from pyarrow import parquet

    # Without pre_buffer=False pyarrow reads the whole file into memory. With a buffer it allocates
    # the length that a page claims to have, so small files are read without one.
    metadata = parquet.read_metadata(file.name)
    # the largest size that columns may claim
    at_once = max(1, metadata.num_columns) * (file.size or 0)
    settings = {"pre_buffer": False, "buffer_size": 0 if at_once <= _AT_ONCE else _BUFFER}
    with parquet.ParquetFile(file.name, metadata=metadata, **settings) as source:
        total[0] = metadata.num_rows
        yield from source.iter_batches(batch_size=size, use_threads=False)
