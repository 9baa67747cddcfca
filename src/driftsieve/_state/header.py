"""Header: the labels, names, limits and counts of a bank that the core does not need."""

from __future__ import annotations

from typing import Any, NamedTuple, get_args

from driftsieve._rows.class_index import ClassIndex
from driftsieve._rows.labels import check_text
from driftsieve._rows.names import FeatureNames, NumberedNames, UniqueNames
from driftsieve._state.limits import Limits
from driftsieve._state.settings import Fading
from driftsieve._storage.envelope import malformed, require


class Header(NamedTuple):
    """Kept by the core, so that it changes with the rows; stored, it is the header of the bytes."""

    labels: ClassIndex
    names: FeatureNames | None
    limits: Limits
    ignored_rows: int
    ignored_features: int
    ignored_values: int = 0
    fading: Fading | None = None

    def stored(self) -> dict[str, Any]:
        """Return the header for JSON, without fields that have their default value."""
        names = self.names
        header: dict[str, Any] = {
            "kind": "bank",
            "label_kind": self.labels.kind,
            "labels": self.labels.values,
            "feature_names": names.first if isinstance(names, NumberedNames) else names,
        }
        if limits := self.limits.stored():
            header["limits"] = limits
        ignored = [self.ignored_rows, self.ignored_features, self.ignored_values]
        if any(ignored):
            header["ignored"] = ignored
        if self.fading is not None:
            header["half_life"] = self.fading
        return header

    @classmethod
    def restored(cls, header: dict[str, Any], n_classes: int, n_features: int) -> Header:
        """Restore the header of ``stored``; raise ValueError if it does not match the bank."""
        try:
            labels = ClassIndex.restored(header.get("labels"), header.get("label_kind"))
            require(len(labels) == n_classes, "labels")
            names = header.get("feature_names")
            if type(names) is int:
                require(0 <= names <= 2**53, "names")
                names = NumberedNames(names, n_features)
            elif names is not None:
                sound = isinstance(names, list) and all(isinstance(name, str) for name in names)
                require(sound and len(names) == n_features == len(set(names)), "names")
                check_text(names, "Feature names")
                names = UniqueNames(names)
            ignored = header.get("ignored", [0, 0, 0])
            require(
                isinstance(ignored, list)
                and len(ignored) == 3
                and all(type(count) is int and count >= 0 for count in ignored),
                "counts",
            )
            limits = Limits.restored(header.get("limits", {}))
            fading = header.get("half_life")
            require(fading is None or fading in get_args(Fading), "half-life")
        except (TypeError, ValueError) as error:
            raise malformed(error) from error
        rows, features, values = ignored
        return cls(labels, names, limits, rows, features, values, fading)
