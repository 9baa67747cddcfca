"""svmlight (libsvm) files: ``label index:value index:value ... # comment``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from driftsieve.sources import text
from driftsieve.sources.base import Encoded, Options, Rows, SourceError
from driftsieve.sources.files import File


class SvmlightReader:
    """Reads svmlight files as CSR batches, as wide as the largest index so far.

    ``zero_based="auto"`` takes indices to start at 1 unless there is a 0 among the first rows.
    """

    def __init__(self, options: Options) -> None:
        for name in ("target", "time", "weight"):
            if getattr(options, name) is not None:
                raise SourceError(f"{name}= does not go with svmlight files, which hold the labels")
        self._batch_size = options.batch_size
        self._zero_based = options.zero_based
        self._n_features = 0

    def read(self, file: File) -> Iterator[Rows]:
        with text.lines_of(file) as lines:
            records = (line for line in lines if not _is_comment(line[1]))
            for numbers, chunk in text.chunked(records, self._batch_size):
                rows = self._rows(chunk)
                rows.lines, rows.bytes_read = numbers, lines.bytes_read
                yield rows

    def _rows(self, chunk: Sequence[bytes | str]) -> Rows:
        try:
            return Rows(len(chunk), self._encoded(chunk))
        except ValueError:
            good, bad = self._sorted_out(chunk)
            return Rows(len(chunk), self._encoded(good) if good else None, bad)

    def _sorted_out(self, chunk: Sequence[bytes | str]) -> tuple[list[bytes], dict[int, str]]:
        good: list[bytes] = []
        bad: dict[int, str] = {}
        for offset, line in enumerate(chunk):
            if isinstance(line, str):
                bad[offset] = line
                continue
            try:
                parse([line], lowest=self._lowest)
                good.append(line)
            except ValueError as problem:
                bad[offset] = str(problem)
        return good, bad

    @property
    def _lowest(self) -> int:
        return 1 if self._zero_based is False else 0

    def _encoded(self, chunk: Sequence[bytes | str]) -> Encoded:
        labels, indptr, indices, data = parse(chunk, lowest=self._lowest)
        if self._zero_based == "auto":
            self._zero_based = 0 in indices
        indices -= self._lowest
        self._n_features = max(self._n_features, int(indices.max(initial=-1)) + 1)
        X = sparse.csr_array((data, indices, indptr), shape=(len(labels), self._n_features))
        return Encoded(X, labels)


class Parsed(NamedTuple):
    """Labels and the arrays of a CSR matrix, with indices as they stand in the file."""

    labels: NDArray[np.float64]
    indptr: NDArray[np.int64]
    indices: NDArray[np.int64]
    data: NDArray[np.float64]


def parse(lines: Sequence[bytes | str], *, lowest: int) -> Parsed:
    """Lines that hold rows; ValueError says what is wrong with one of them."""
    labels: list[float] = []
    indptr, indices, data = [0], list[int](), list[float]()
    for line in lines:
        if isinstance(line, str):
            raise ValueError(line)
        label, *pairs = line.partition(b"#")[0].split()
        labels.append(_number(label, "label"))
        for pair in pairs:
            key, colon, value = pair.partition(b":")
            if not colon:
                raise ValueError(f"{_shown(pair)} is not index:value")
            if key == b"qid":
                continue
            if not key.isdigit() or int(key) < lowest:
                raise ValueError(f"{_shown(key)} is no index: indices start at {lowest}")
            indices.append(int(key))
            data.append(_number(value, "value"))
        indptr.append(len(indices))
    return Parsed(
        np.array(labels, dtype=np.float64),
        np.array(indptr, dtype=np.int64),
        np.array(indices, dtype=np.int64),
        np.array(data, dtype=np.float64),
    )


def _number(token: bytes, what: str) -> float:
    try:
        return float(token)
    except ValueError:
        raise ValueError(f"the {what} {_shown(token)} is not a number") from None


def _shown(token: bytes) -> str:
    return repr(token[:40].decode(errors="backslashreplace"))


def _is_comment(line: bytes | str) -> bool:
    return isinstance(line, bytes) and line.lstrip().startswith(b"#")
