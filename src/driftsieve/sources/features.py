"""The features of a stream in which new ones may appear."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from driftsieve.sources.base import Options, SourceError

NAME_LENGTH = 256  # characters that a name may have on average


class Features(dict[str | tuple[str, str], int]):
    """The index of each feature: looking up one that is not there adds it at the end.

    A feature is a column, or a (column, value) pair that is named ``column=value``. Where there is
    no room for one more, that is an error, or the index is -1 and ``ignored`` counts it.

    >>> features = Features(Options(max_features=2, on_limit="ignore_new"))
    >>> features["price"], features["colour", "red"], features["price"], features["colour", "blue"]
    (0, 1, 0, -1)
    >>> features.names, features.ignored
    (('price', 'colour=red'), 1)
    """

    def __init__(self, options: Options) -> None:
        super().__init__()
        self._names: tuple[str, ...] = ()
        self._most = options.max_features
        self._ignores = options.on_limit == "ignore_new"
        self._characters = 0
        self.ignored = 0

    def __missing__(self, key: str | tuple[str, str]) -> int:
        size = len(key) if isinstance(key, str) else sum(map(len, key))
        full = len(self) >= self._most or self._characters + size > NAME_LENGTH * self._most
        if full:
            return self.refuse(key)
        self._characters += size
        self[key] = index = len(self)
        return index

    def refuse(self, key: str | tuple[str, str]) -> int:
        """There is no room for this feature."""
        if not self._ignores:
            name = (key if isinstance(key, str) else "=".join(key))[:40]
            raise SourceError(
                f"there are more than max_features={self._most:,} features, or their names are "
                f"very long (here {name!r}): leave a column of identifiers out with drop=, raise "
                'max_features, or pass on_limit="ignore_new"'
            )
        self.ignored += 1
        return -1

    @property
    def names(self) -> tuple[str, ...]:
        if len(self._names) < len(self):
            new = islice(self, len(self._names), None)
            self._names += tuple(key if isinstance(key, str) else "=".join(key) for key in new)
        return self._names


def csr(
    data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], n_features: int
) -> sparse.csr_array:
    """A matrix with indices of 32 bits where they do: much of scikit-learn takes no others."""
    narrow = max(len(data), n_features) <= np.iinfo(np.int32).max
    index = np.int32 if narrow else np.int64
    parts = data, indices.astype(index, copy=False), indptr.astype(index, copy=False)
    return sparse.csr_array(parts, shape=(len(indptr) - 1, n_features))
