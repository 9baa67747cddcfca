"""svmlight (libsvm) files: ``label index:value index:value ... # comment``."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from driftsieve._arguments import arg
from driftsieve._core import SvmlightParser
from driftsieve._rows.names import FeatureNames, NumberedNames
from driftsieve.sources.base import Encoded, Options, Rows
from driftsieve.sources.files import text
from driftsieve.sources.files.paths import File

MAX_LABEL = 2**53  # the parser reads doubles, in which larger integers are not exact
FROM_ONE = "must be at least 1"  # part of the message of the parser about an index 0


class SvmlightReader:
    """Reader of svmlight files as CSR batches, as wide as the largest index so far.

    An index means the same column everywhere in all files: indices start at 1, or at 0 with
    ``zero_based=True``. This is never guessed from the data, because a 0 may come late, or in only
    one of the files that different machines read. The name of a feature is x and its index, unless
    ``names`` are given.
    """

    def __init__(self, options: Options) -> None:
        options.refuse("svmlight files, which have only labels and numbered features")
        self._batch_size = options.batch_size
        self._zero_based = options.zero_based
        self._names = options.names
        self._n_features = 0 if options.names is None else len(options.names)

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
        width = max(self._n_features, int(indices.max(initial=-1)) + 1)
        names: FeatureNames | None = self._names
        if names is None:
            self._n_features = width
            names = None if self._zero_based else NumberedNames(1, width)
        X = sparse.csr_array((data, indices, indptr), shape=(len(labels), width))
        advice = f" Pass {arg('zero_based', True)} if indices start at 0 in this data."
        bad = {row: cause + advice * (FROM_ONE in cause) for row, cause in bad.items()}
        rows = Rows(len(lines), Encoded(X, labels, names=names), bad, lines.tolist(), bytes_read)
        why = "Labels of svmlight files must be below 2**53 to be exact, got about {:.16g}."
        large = np.flatnonzero(np.abs(labels) >= MAX_LABEL).tolist()
        causes = {row: why.format(labels[row]) for row in large}
        if width > self._n_features:
            causes = self._unnamed(X) | causes
        rows.leave_out(causes)
        if rows.encoded is not None and width > self._n_features:
            rows.encoded = rows.encoded._replace(X=rows.encoded.X[:, : self._n_features])
        return rows

    def _unnamed(self, X: sparse.csr_array) -> dict[int, str]:
        """Return the rows with an index beyond the names, and their causes."""
        largest = np.maximum.reduceat(np.append(X.indices, -1), X.indptr[:-1])
        largest[np.diff(X.indptr) == 0] = -1
        first = 0 if self._zero_based else 1
        return {
            row: f"{arg('names')} must have a name for each index, got index "
            f"{largest[row] + first} and {self._n_features:,} names. Pass a longer list of names."
            for row in np.flatnonzero(largest >= self._n_features).tolist()
        }
