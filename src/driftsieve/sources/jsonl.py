"""JSON lines: one object per line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from driftsieve.sources import text
from driftsieve.sources.base import Options, Rows, SourceError
from driftsieve.sources.dicts import DictEncoder
from driftsieve.sources.files import File


class JsonlReader:
    """Reads files whose lines are JSON objects; ``DictEncoder`` says what becomes of the keys."""

    def __init__(self, options: Options) -> None:
        if options.target is None:
            raise SourceError("which key is the label? Pass target=")
        self._batch_size = options.batch_size
        self._encoder = DictEncoder(options)

    def read(self, file: File) -> Iterator[Rows]:
        with text.open_text(file) as source:
            for numbers, chunk in text.chunked(source.lines(), self._batch_size):
                rows = self._encoder.encode([_object(line) for line in chunk])
                rows.lines, rows.bytes_read = numbers, source.bytes_read
                yield rows


def _object(line: bytes | str) -> dict[str, Any] | str:
    """The object, or why there is none."""
    if isinstance(line, str):
        return line
    try:
        value = json.loads(line.decode())
        if b"\\u" in line:  # half of a surrogate pair is no text, and no file could hold it
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeDecodeError as problem:
        return text.not_utf8(problem)
    except UnicodeEncodeError as problem:
        return f"not valid Unicode ({problem.object[problem.start]!a})"
    except (ValueError, RecursionError) as problem:
        return f"not valid JSON: {problem}"
    return value if isinstance(value, dict) else f"not a JSON object but {str(value)[:40]!r}"
