"""JSON lines: one object per line."""

from __future__ import annotations

from collections.abc import Iterator

from driftsieve._arguments import arg
from driftsieve.exceptions import SourceError
from driftsieve.sources.base import Options, Rows
from driftsieve.sources.encoding.json_lines import LineEncoder
from driftsieve.sources.files import text
from driftsieve.sources.files.ahead import ahead, n_ahead
from driftsieve.sources.files.paths import File


class JsonlReader:
    """Reader of files whose lines are JSON objects; see ``DictEncoder`` for their encoding."""

    def __init__(self, options: Options) -> None:
        if options.target is None:
            raise SourceError(f"{arg('target')} must be the key of the labels, got none.")
        self._batch_size = options.batch_size
        self._encoder = LineEncoder(options)

    def read(self, file: File) -> Iterator[Rows]:
        size, encoder = self._batch_size, self._encoder
        with text.open_text(file) as source:
            tasks = (
                ((*chunk, source.bytes_read), encoder.parsing(chunk[1]))
                for chunk in text.chunked([], source.take, size)
            )
            for (numbers, lines, n_bytes), table in ahead(tasks, n_ahead(file, size)):
                rows = encoder.encode_lines(lines, table)
                rows.lines, rows.bytes_read = numbers, n_bytes
                yield rows
