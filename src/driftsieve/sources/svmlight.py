"""svmlight (libsvm) files: ``label index:value index:value ... # comment``."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from scipy import sparse

from driftsieve._core import SvmlightParser
from driftsieve.sources import text
from driftsieve.sources.base import Encoded, Options, Rows, SourceError
from driftsieve.sources.files import File


class SvmlightReader:
    """Reads svmlight files as CSR batches, as wide as the largest index so far.

    ``zero_based="auto"`` takes indices to start at 1 unless the first rows (a batch) have a 0.
    """

    def __init__(self, options: Options) -> None:
        for name in ("target", "time", "weight"):
            if getattr(options, name) is not None:
                raise SourceError(f"{name}= does not go with svmlight files, which hold the labels")
        self._batch_size = options.batch_size
        self._zero_based = options.zero_based
        self._n_features = 0

    def read(self, file: File) -> Iterator[Rows]:
        size = self._batch_size
        with text.open_text(file) as source:
            blocks = source.blocks()
            if self._zero_based == "auto":
                blocks = chain(self._decide(blocks), blocks)
            parser = self._parser(zero_based=self._zero_based is True)
            for block in blocks:
                parser.feed(block)
                while parser.rows >= size:
                    yield self._rows(parser, source.bytes_read)
            parser.finish()
            while parser.rows:
                yield self._rows(parser, source.bytes_read)

    def _parser(self, *, zero_based: bool) -> SvmlightParser:
        return SvmlightParser(zero_based=zero_based, max_line=text.MAX_LINE)

    def _decide(self, blocks: Iterator[bytes]) -> list[bytes]:
        """See where indices start; the blocks that were looked at."""
        parser = self._parser(zero_based=True)
        seen: list[bytes] = []
        for block in blocks:
            seen.append(block)
            parser.feed(block)
            if parser.rows >= self._batch_size:
                break
        else:
            parser.finish()
        indices = parser.take(self._batch_size)[2]
        self._zero_based = 0 in indices
        return seen

    def _rows(self, parser: SvmlightParser, bytes_read: int) -> Rows:
        labels, indptr, indices, data, lines, bad = parser.take(self._batch_size)
        self._n_features = max(self._n_features, int(indices.max(initial=-1)) + 1)
        X = sparse.csr_array((data, indices, indptr), shape=(len(labels), self._n_features))
        return Rows(len(lines), Encoded(X, labels), bad, lines.tolist(), bytes_read)
