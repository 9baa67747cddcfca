"""Limits: the largest size of a bank, and which rows, features and classes are admitted."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, NamedTuple, Protocol, get_args

from driftsieve import _platform
from driftsieve._arguments import arg, check_choice
from driftsieve.exceptions import LimitError

OnLimit = Literal["error", "ignore_new"]
MAX_FEATURES = 10_000_000
MAX_CLASSES = 1_000
# With on_limit="ignore_new", new features and classes are admitted up to this share of max_bytes.
# The rest is for the features that are known, whose state still grows.
SHARE_OF_NEW = 0.75


class Sizes(NamedTuple):
    """Numbers of features and classes; ``only_seen`` leaves out columns that were always 0."""

    features: int
    classes: int
    only_seen: bool = False


class BytesWith(Protocol):
    """The size of a state with the rows of that many features and classes, or a bound near to it.

    It comes from the core. Beyond ``limit`` it is never a bound if it is to be sure.
    """

    def __call__(self, sizes: Sizes, limit: float, be_sure: bool, /) -> float: ...


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a bank; ``Bank`` documents them.

    >>> Limits(max_classes=2).check_classes(3)
    Traceback (most recent call last):
    ...
    driftsieve.exceptions.LimitError: The number of classes must be at most max_classes=2, got 3.
    Check that y is a class label. Raise max_classes, or pass on_limit="ignore_new" to leave out and
    count the rest.
    """

    max_features: int = MAX_FEATURES
    max_classes: int = MAX_CLASSES
    max_bytes: float | None = None
    on_limit: OnLimit = "error"

    def __post_init__(self) -> None:
        for name in ("max_features", "max_classes", "max_bytes"):
            value = getattr(self, name)
            whole = name != "max_bytes"
            if value is None and not whole:
                continue
            if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
                raise TypeError(f"{arg(name)} must be a number, got {value!r}.")
            if not value >= 1:
                raise ValueError(f"{arg(name)} must be at least 1, got {value}.")
        check_choice("on_limit", self.on_limit, *get_args(OnLimit))

    @property
    def ignores_new(self) -> bool:
        return self.on_limit == "ignore_new"

    @property
    def bytes(self) -> float:
        return default_bytes() if self.max_bytes is None else self.max_bytes

    def check_features(self, n_features: int, ways_out: str | None = None) -> None:
        if n_features > self.max_features:
            raise LimitError(
                f"The number of features must be at most {arg('max_features', self.max_features)}, "
                f"got {n_features}. {ways_out or _ways_out('max_features')}"
            )

    def check_classes(self, n_classes: int) -> None:
        if n_classes > self.max_classes:
            raise LimitError(
                f"The number of classes must be at most {arg('max_classes', self.max_classes)}, "
                f"got {n_classes}. Check that y is a class label. {_ways_out('max_classes')}"
            )

    def admit(
        self, known: Sizes, wanted: Sizes, bytes_with: BytesWith, nbytes: Callable[[], int]
    ) -> Sizes:
        """Return the admitted numbers of features and classes; raise LimitError if there are none.

        With ``on_limit="ignore_new"``, first new features and then new classes are left out. If
        ``known`` has ``only_seen``, columns that were 0 in every row so far count as new.
        """
        if not self.ignores_new:
            self.check_features(wanted.features)
            self.check_classes(wanted.classes)
            choices = [wanted]
        else:
            features = max(known.features, min(wanted.features, self.max_features))
            classes = max(known.classes, min(wanted.classes, self.max_classes))
            choices = [Sizes(features, classes)]
            if known.features:
                choices += [Sizes(known.features, classes, known.only_seen), known]
        needed = 0.0
        for sizes in dict.fromkeys(choices):
            is_last = sizes == choices[-1]
            limit = self.bytes * (1.0 if is_last else SHARE_OF_NEW)
            needed = bytes_with(sizes, limit, is_last)
            if needed <= limit:
                return sizes
        raise LimitError(
            f"The size of the state must be at most {self.bytes:,.0f} bytes ({arg('max_bytes')}), "
            f"got {needed:,.0f} or more with these rows and {nbytes():,} without. Raise "
            f"{arg('max_bytes')}, or use a larger {arg('epsilon')} or fewer features."
        )

    def stored(self) -> dict[str, Any]:
        """Return the limits that are not the default. JSON has no infinite numbers."""
        default = Limits()
        values = {name: getattr(self, name) for name in self.__slots__}
        if self.max_bytes is not None and math.isinf(self.max_bytes):
            values["max_bytes"] = "inf"
        return {name: v for name, v in values.items() if v != getattr(default, name)}

    @classmethod
    def restored(cls, stored: Any) -> Limits:
        """Restore the limits of ``stored``; raise TypeError or ValueError if not valid."""
        values = dict(stored)
        if values.get("max_bytes") == "inf":
            values["max_bytes"] = math.inf
        return cls(**values)


def _ways_out(name: str) -> str:
    return (
        f"Raise {arg(name)}, or pass {arg('on_limit', 'ignore_new')} to leave out and count the "
        "rest."
    )


@cache
def default_bytes() -> float:
    """Return a quarter of the memory that this process may use, the default of max_bytes."""
    return _platform.memory_bytes() / 4
