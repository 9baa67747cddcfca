"""The features of a stream, to which new ones are added."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from driftsieve._arguments import arg
from driftsieve._rows.names import UniqueNames
from driftsieve.exceptions import SourceError
from driftsieve.sources.base import Options

NAME_LENGTH = 256  # average length of a name
Key = str | tuple[str, str]  # a column, or a column and its text value


class FeatureError(SourceError):
    """A feature beyond the limits, which is not the fault of a row."""

    def __init__(self, cause: str, key: Key) -> None:
        super().__init__(cause)
        self.key = key


class Features(dict[Key, int]):
    """The index of each feature. Looking up a new feature adds it at the end.

    A feature is a column, or a pair (column, value) with the name ``column=value``. Beyond the
    limit, a new feature is an error, or its index is -1 and ``ignored`` counts it. Two features
    with the same name are an error.

    >>> features = Features(Options(max_features=2, on_limit="ignore_new"))
    >>> features["price"], features["colour", "red"], features["price"], features["colour", "blue"]
    (0, 1, 0, -1)
    >>> features.names, features.ignored
    (('price', 'colour=red'), 1)
    """

    def __init__(self, options: Options) -> None:
        super().__init__()
        self._keys: dict[str, Key] = {}  # by name
        self._names = UniqueNames()
        self._most = options.max_features
        self._ignores = options.on_limit == "ignore_new"
        self._characters = 0
        self.ignored = 0

    def __missing__(self, key: Key) -> int:
        size = _size(key)
        full = len(self) >= self._most or self._characters + size > NAME_LENGTH * self._most
        if full:
            return self.refuse(key)
        other = self._keys.setdefault(_name(key), key)
        if other is not key:
            raise FeatureError(
                f"Feature names must differ, got {_name(key)[:80]!r} twice, from "
                f"{_origin(other)} and {_origin(key)}. Leave one of the columns out with "
                f"{arg('drop')}.",
                key,
            )
        self._characters += size
        self[key] = index = len(self)
        return index

    def refuse(self, key: Key) -> int:
        """Reject a feature beyond the limit, or count it as ignored."""
        if not self._ignores:
            most = arg("max_features", self._most)
            what = f"The number of features must be at most {most}"
            if len(self) < self._most:
                what = (
                    f"Feature names must have at most {NAME_LENGTH} characters on average, with "
                    f"{most}"
                )
            raise FeatureError(
                f"{what}, got one more: {_name(key)[:40]!r}. Leave a column of identifiers out "
                f"with {arg('drop')}, raise {arg('max_features')}, or pass "
                f"{arg('on_limit', 'ignore_new')}.",
                key,
            )
        self.ignored += 1
        return -1

    def forget(self, n: int) -> None:
        """Keep the first ``n`` features; ``names`` must not have been read with the others."""
        while len(self) > n:
            self._characters -= _size(self.popitem()[0])
            self._keys.popitem()

    @property
    def names(self) -> tuple[str, ...]:
        if len(self._names) < len(self):
            self._names = UniqueNames(self._keys)
        return self._names


def _name(key: Key) -> str:
    return key if isinstance(key, str) else "=".join(key)


def _origin(key: Key) -> str:
    if isinstance(key, str):
        return f"column {key[:80]!r}"
    column, text = key
    return f"the value {text[:80]!r} of column {column[:80]!r}"


def _size(key: Key) -> int:
    return len(key) if isinstance(key, str) else sum(map(len, key))


def csr(
    data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], n_features: int
) -> sparse.csr_array:
    """Return a matrix with 32-bit indices if possible, which scikit-learn often requires."""
    index = index_type(max(len(data), n_features))
    parts = data, indices.astype(index, copy=False), indptr.astype(index, copy=False)
    return sparse.csr_array(parts, shape=(len(indptr) - 1, n_features))


def index_type(largest: int) -> type[np.signedinteger[Any]]:
    """Return int32 if the indices fit, otherwise int64."""
    return np.int32 if largest <= np.iinfo(np.int32).max else np.int64


def csr_of_rows(
    data: NDArray[Any], indices: NDArray[np.integer[Any]], n_features: int
) -> sparse.csr_array:
    """Return a matrix whose rows have the same number of entries each; zeros are left out."""
    n_rows, width = data.shape
    X = csr(data.ravel(), indices.ravel(), width * np.arange(n_rows + 1), n_features)
    if not data.all():
        X.eliminate_zeros()
    return X


def sort_rows(indices: NDArray[np.integer[Any]], *others: NDArray[Any]) -> None:
    """Sort each row of ``indices`` in place, and the others in the same order."""
    rows = np.flatnonzero((indices[:, 1:] < indices[:, :-1]).any(axis=1))  # usually few
    order = np.argsort(indices[rows], axis=1)
    for array in (indices, *others):
        array[rows] = np.take_along_axis(array[rows], order, axis=1)
