"""The features of a stream in which new ones may appear."""

from __future__ import annotations

from itertools import islice


class Features(dict[str | tuple[str, str], int]):
    """The index of each feature: looking up one that is not there adds it at the end.

    A feature is a column, or a (column, value) pair that is named ``column=value``.

    >>> features = Features()
    >>> features["price"], features["colour", "red"], features["price"]
    (0, 1, 0)
    >>> features.names
    ('price', 'colour=red')
    """

    def __init__(self) -> None:
        super().__init__()
        self._names: tuple[str, ...] = ()

    def __missing__(self, key: str | tuple[str, str]) -> int:
        self[key] = index = len(self)
        return index

    @property
    def names(self) -> tuple[str, ...]:
        if len(self._names) < len(self):
            new = islice(self, len(self._names), None)
            self._names += tuple(key if isinstance(key, str) else "=".join(key) for key in new)
        return self._names
