"""Helpers of the tests of sources."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse

from driftsieve.batch import Batch
from driftsieve.exceptions import SourceError
from driftsieve.sources import as_batches

X = np.arange(30.0).reshape(10, 3)
Y = np.arange(10) % 3
ROLES = {"target": "label", "sample_weight": "w", "time": "ts"}
LINES = "".join(f"{i % 2} 1:{i} {i + 2}:1\n" for i in range(1000)).encode()
COMPRESS = {
    "gz": partial(gzip.compress, mtime=0),  # the same in every process that collects tests
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": lambda data: pa.compress(data, codec="zstd", asbytes=True),
}


def dense(batch: Batch) -> np.ndarray[Any, Any]:
    return batch.X.toarray() if sparse.issparse(batch.X) else np.asarray(batch.X)


def assert_same_batches(got: Iterable[Batch], expected: Iterable[Batch]) -> None:
    for one, other in zip(got, expected, strict=True):
        assert one.feature_names == other.feature_names
        assert sparse.issparse(one.X) == sparse.issparse(other.X)
        np.testing.assert_array_equal(dense(one), dense(other))
        assert one.y.tolist() == other.y.tolist()
        for a, b in ((one.sample_weight, other.sample_weight), (one.time, other.time)):
            assert (a is None) == (b is None)
            if a is not None:
                np.testing.assert_array_equal(a, b)


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def error_of(path: Path, **options: Any) -> str:
    """The message about the file, after checking that it is one line and names the file."""
    with pytest.raises(SourceError) as caught:
        list(as_batches(path, **options))
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(str(path))
    return message.removeprefix(str(path))


def labels(source: Any, **options: Any) -> list[int]:
    return [int(label) for batch in as_batches(source, **options) for label in batch.y]
