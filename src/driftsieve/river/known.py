"""The keys and labels that dictionaries have shown so far, and the numbers that stand for them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, NamedTuple

from driftsieve.limits import Limits
from driftsieve.river.one_row import is_nothing


class Newcomers(NamedTuple):
    """Keys and labels that are not known yet."""

    keys: list[Hashable]
    labels: list[Hashable]


NOBODY = Newcomers([], [])


class Known:
    """Columns are numbered in sorted order of the keys that come together, classes as they come.

    >>> known = Known()
    >>> known.add(known.newcomers(["b", "a"], ["yes"], Limits()))
    >>> known.columns, known.classes
    ({'a': 0, 'b': 1}, {'yes': 0})
    """

    def __init__(self) -> None:
        self.columns: dict[Hashable, int] = {}
        self.classes: dict[Hashable, int] = {}

    def newcomers(
        self, keys: Iterable[Hashable], labels: Iterable[Hashable], limits: Limits
    ) -> Newcomers:
        """Those that are new and within the limits; LimitError where there are more, unless the
        limits say to leave the rest out.
        """
        new_keys = [key for key in keys if key not in self.columns]
        new_labels = [label for label in labels if label not in self.classes]
        for label in new_labels:
            if is_nothing(label) or label != label:
                raise ValueError(f"Input y contains a missing label: {label}.")
        n_keys, n_classes = len(self.columns), len(self.classes)
        if limits.ignores_new:
            new_keys = new_keys[: max(0, limits.max_features - n_keys)]
            new_labels = new_labels[: max(0, limits.max_classes - n_classes)]
        else:
            limits.check_features(n_keys + len(new_keys))
            limits.check_classes(n_classes + len(new_labels))
        return Newcomers(new_keys, new_labels)

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
