"""Names of features: those that were given, otherwise x and the index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias, overload


class NumberedNames(Sequence[str]):
    """The names x<first>, x<first + 1>, ... without memory for each of millions.

    >>> names = NumberedNames(1, 5)
    >>> names[4], list(names[1:3]), names[:2] == ("x1", "x2")
    ('x5', ['x2', 'x3'], True)
    """

    def __init__(self, first: int, n: int) -> None:
        self._indices = range(first, first + n)

    @property
    def first(self) -> int:
        """Index of the first feature."""
        return self._indices.start

    def __len__(self) -> int:
        return len(self._indices)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> FeatureNames: ...
    def __getitem__(self, at: int | slice) -> str | FeatureNames:
        found = self._indices[at]
        if isinstance(found, int):
            return f"x{found}"
        is_run = found.step == 1
        return NumberedNames(found.start, len(found)) if is_run else tuple(f"x{i}" for i in found)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, NumberedNames):
            return self._indices == other._indices
        if not isinstance(other, tuple | list):
            return NotImplemented
        return len(self) == len(other) and all(map(str.__eq__, self, other))

    def __hash__(self) -> int:
        return hash(self._indices)

    def __repr__(self) -> str:
        return f"<{len(self)} names from x{self.first} on>"


class UniqueNames(tuple[str, ...]):
    """Names that were checked. Those of a stream are checked only once."""

    __slots__ = ()


FeatureNames: TypeAlias = tuple[str, ...] | NumberedNames


def name_of(feature: int, names: Sequence[str] | None) -> str:
    """Return the name of a feature; x3 for column 3 without names."""
    return f"x{feature}" if names is None else str(names[feature])


def names_of(features: Iterable[int], names: Sequence[str] | None) -> list[str]:
    """Return the names of several features.

    >>> names_of([3, 0], None), names_of([2, 0], NumberedNames(5, 3))
    (['x3', 'x0'], ['x7', 'x5'])
    """
    if names is None or isinstance(names, NumberedNames):
        first = 0 if names is None else names.first
        return [f"x{first + f}" for f in features]
    return [str(names[f]) for f in features]


def joined_names(parts: Sequence[FeatureNames | None]) -> FeatureNames | None:
    """Return the names of adjacent blocks of features, or None if a block has no names."""
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    numbered = [part for part in known if isinstance(part, NumberedNames)]
    if parts and len(numbered) == len(parts):
        return NumberedNames(numbered[0].first, sum(map(len, numbered)))
    return UniqueNames(name for part in known for name in part)


def unique_names(names: Sequence[Any], n_features: int) -> FeatureNames:
    """Return the names, one per feature; raise ValueError or TypeError if they are not valid."""
    if len(names) != n_features:
        raise ValueError(f"X has {n_features} features, but {len(names)} feature_names were given.")
    if isinstance(names, NumberedNames | UniqueNames):
        return names
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"feature_names must be strings, got {name!r}.")
    if len(set(names)) != n_features:
        twice = Counter(names).most_common(1)[0][0]
        raise ValueError(f"feature_names must differ, got {twice!r} twice.")
    return UniqueNames(names)
