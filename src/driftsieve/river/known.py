"""The keys and labels of dictionaries so far, and their indices."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, NamedTuple

from driftsieve._rows.labels import is_missing_label
from driftsieve._state.limits import Sizes


def as_labels(y: Any) -> list[Hashable]:
    """Return the labels unchanged: a list is not converted to an array of one type.

    >>> as_labels([1, "1", ("a", 2)]), as_labels(range(2))
    ([1, '1', ('a', 2)], [0, 1])
    """
    if len(shape := getattr(y, "shape", (0,))) != 1:
        raise ValueError(f"y should be a 1d array, got an array of shape {shape} instead.")
    as_list = getattr(y, "tolist", getattr(y, "to_pylist", None))  # Arrow's is the second
    return list(y if as_list is None else as_list())


class Newcomers(NamedTuple):
    """Keys and labels that are not known yet."""

    keys: list[Hashable]
    labels: list[Hashable]


class Known:
    """The known keys and labels.

    New keys are numbered in sorted order, labels in order of appearance.

    >>> known = Known()
    >>> known.add(known.newcomers(["b", "a"], ["yes"]))
    >>> known.columns, known.classes
    ({'a': 0, 'b': 1}, {'yes': 0})
    """

    def __init__(self) -> None:
        self.columns: dict[Hashable, int] = {}
        self.classes: dict[Hashable, int] = {}

    @property
    def sizes(self) -> Sizes:
        return Sizes(len(self.columns), len(self.classes))

    def newcomers(self, keys: Iterable[Hashable], labels: Iterable[Hashable]) -> Newcomers:
        """Return the keys and labels that are new."""
        new_labels = [label for label in labels if label not in self.classes]
        for label in new_labels:
            if is_missing_label(label):
                raise ValueError(f"Input y contains a missing label: {label}.")
        return Newcomers([key for key in keys if key not in self.columns], new_labels)

    def sizes_with(self, new: Newcomers) -> Sizes:
        return Sizes(len(self.columns) + len(new.keys), len(self.classes) + len(new.labels))

    def first_of(self, new: Newcomers, sizes: Sizes) -> Newcomers:
        """Return the first new keys and labels, up to ``sizes``."""
        n_keys, n_labels = sizes.features - len(self.columns), sizes.classes - len(self.classes)
        return Newcomers(new.keys[:n_keys], new.labels[:n_labels])

    def columns_with(self, new: Newcomers) -> Mapping[Hashable, int]:
        """Return the numbers of the columns that would be added."""
        if not new.keys:
            return self.columns
        return {**self.columns, **{key: len(self.columns) + i for i, key in enumerate(new.keys)}}

    def add(self, new: Newcomers) -> None:
        keys: list[Any] = list(new.keys)
        try:
            keys.sort()
        except TypeError:  # of several types
            keys.sort(key=repr)
        for key in keys:
            self.columns[key] = len(self.columns)
        for label in new.labels:
            self.classes[label] = len(self.classes)
