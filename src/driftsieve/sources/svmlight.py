"""svmlight (libsvm) files: ``label index:value index:value ... # comment``."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from driftsieve._core import SvmlightParser
from driftsieve.sources import text
from driftsieve.sources.base import Encoded, Options, Rows
from driftsieve.sources.files import File

MAX_LABEL = 2**53  # the parser reads doubles, and from here on several integers become the same


class SvmlightReader:
    """Reads svmlight files as CSR batches, as wide as the largest index so far.

    An index means the same column in every file and at every place: indices start at 1, or at 0
    with ``zero_based=True``. This is never guessed from the data, because a 0 may come late, or in
    only one of the files that different machines read.
    """

    def __init__(self, options: Options) -> None:
        options.refuse("svmlight files, which hold labels and numbered features alone")
        self._batch_size = options.batch_size
        self._zero_based = options.zero_based
        self._n_features = 0

    def read(self, file: File) -> Iterator[Rows]:
        parser = SvmlightParser(zero_based=self._zero_based, max_line=text.MAX_LINE)
        with text.open_text(file) as source:
            for block in source.blocks():
                parser.feed(block)
                while parser.rows >= self._batch_size:
                    yield self._rows(parser, source.bytes_read)
            parser.finish()
            while parser.rows:
                yield self._rows(parser, source.bytes_read)

    def _rows(self, parser: SvmlightParser, bytes_read: int) -> Rows:
        labels, indptr, indices, data, lines, bad = parser.take(self._batch_size)
        self._n_features = max(self._n_features, int(indices.max(initial=-1)) + 1)
        X = sparse.csr_array((data, indices, indptr), shape=(len(labels), self._n_features))
        rows = Rows(len(lines), Encoded(X, labels), bad, lines.tolist(), bytes_read)
        why = "labels of svmlight files must be below 2**53 to be exact, got about {:.16g}"
        large = np.flatnonzero(np.abs(labels) >= MAX_LABEL).tolist()
        rows.leave_out({row: why.format(labels[row]) for row in large})
        return rows
