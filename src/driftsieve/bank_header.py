"""What Python knows of the rows of a bank: labels, names, limits and what was left out."""

from __future__ import annotations

from typing import Any, NamedTuple

from driftsieve.codec import malformed
from driftsieve.labels import Labels, check_text, integers
from driftsieve.limits import Limits

_KINDS = {"booleans": bool, "integers": int, "strings": str}


class Header(NamedTuple):
    """Kept by the core, so that it changes with the rows; stored, it is the header of the bytes."""

    labels: Labels
    names: tuple[str, ...] | None
    limits: Limits
    ignored_rows: int
    ignored_features: int

    def stored(self) -> dict[str, Any]:
        """What is usual is not written down."""
        header: dict[str, Any] = {
            "kind": "bank",
            "label_kind": self.labels.kind,
            "labels": self.labels.values,
            "feature_names": self.names,
        }
        if limits := self.limits.stored():
            header["limits"] = limits
        if self.ignored_rows or self.ignored_features:
            header["ignored"] = [self.ignored_rows, self.ignored_features]
        return header

    @classmethod
    def restored(cls, header: dict[str, Any], n_classes: int, n_features: int) -> Header:
        """What ``stored`` gave; ValueError if it does not fit a bank of that size."""
        try:
            labels, names = _labels(header, n_classes), header.get("feature_names")
            if names is not None:
                sound = isinstance(names, list) and all(isinstance(name, str) for name in names)
                _require(sound and len(names) == n_features == len(set(names)), "names")
                check_text(names, "Feature names")
                names = tuple(names)
            ignored = header.get("ignored", [0, 0])
            _require(
                isinstance(ignored, list)
                and len(ignored) == 2
                and all(type(count) is int and count >= 0 for count in ignored),
                "counts",
            )
            limits = Limits.restored(header.get("limits", {}))
        except (TypeError, ValueError) as error:
            raise malformed(error) from error
        return cls(labels, names, limits, *ignored)


def _labels(header: dict[str, Any], n_classes: int) -> Labels:
    values, kind = header.get("labels"), header.get("label_kind")
    sound = isinstance(values, list) and len(values) == n_classes == len(set(map(repr, values)))
    if isinstance(values, list) and n_classes:
        of_kind = _KINDS.get(kind) if isinstance(kind, str) else None
        sound = sound and of_kind is not None and all(type(v) is of_kind for v in values)
        if sound and kind == "integers":
            integers(values)
        if sound and kind == "strings":  # numpy takes a NUL at the end for padding
            check_text(values, "Labels")
            sound = not any(v.endswith("\0") for v in values)
    _require(sound, "labels")
    return Labels(values, kind)


def _require(sound: bool, what: str) -> None:
    if not sound:
        raise ValueError(f"the {what} do not fit the bank.")
