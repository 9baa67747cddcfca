"""Limits: how large a bank may get, and what happens to what would make it larger."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

OnLimit = Literal["error", "ignore_new"]
MAX_FEATURES = 10_000_000
MAX_CLASSES = 1_000


class LimitError(ValueError):
    """Rows were refused because the bank would get larger than it may; it is as it was."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a bank; ``Bank`` documents them.

    >>> Limits(max_classes=2).check_classes(3)
    Traceback (most recent call last):
    ...
    driftsieve.limits.LimitError: There would be 3 classes, but max_classes is 2: is y really a
    class label? Raise max_classes, or pass on_limit="ignore_new" to leave out and count the rest.
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
                raise TypeError(f"{name} must be a number, got {value!r}.")
            if not value >= 1:
                raise ValueError(f"{name} must be at least 1, got {value}.")
        if self.on_limit not in get_args(OnLimit):
            raise ValueError(f'on_limit must be "error" or "ignore_new", got {self.on_limit!r}.')

    @property
    def ignores_new(self) -> bool:
        return self.on_limit == "ignore_new"

    @property
    def bytes(self) -> float:
        return default_bytes() if self.max_bytes is None else self.max_bytes

    def check_features(self, n_features: int, ways_out: str | None = None) -> None:
        if n_features > self.max_features:
            raise LimitError(
                f"There would be {n_features:,} features, but max_features is "
                f"{self.max_features:,}. {ways_out or _ways_out('max_features')}"
            )

    def check_classes(self, n_classes: int) -> None:
        if n_classes > self.max_classes:
            raise LimitError(
                f"There would be {n_classes:,} classes, but max_classes is "
                f"{self.max_classes:,}: is y really a class label? {_ways_out('max_classes')}"
            )

    def too_large(self, nbytes: int, needed: float | None = None) -> LimitError:
        come_to = "more" if needed is None else f"{needed:,.0f}"
        return LimitError(
            f"The bank takes {nbytes:,} bytes and may come to {come_to} with these rows, but "
            f"max_bytes is {self.bytes:,.0f}: take a larger epsilon, smaller batches or fewer "
            "features, or raise max_bytes."
        )

    def stored(self) -> dict[str, Any]:
        """Those that are not the default; an infinite number has no JSON."""
        default = Limits()
        values = {name: getattr(self, name) for name in self.__slots__}
        if self.max_bytes is not None and math.isinf(self.max_bytes):
            values["max_bytes"] = "inf"
        return {name: v for name, v in values.items() if v != getattr(default, name)}

    @classmethod
    def restored(cls, stored: Any) -> Limits:
        """What ``stored`` gave; TypeError or ValueError if it cannot have."""
        values = dict(stored)
        if values.get("max_bytes") == "inf":
            values["max_bytes"] = math.inf
        return cls(**values)


def _ways_out(name: str) -> str:
    return f'Raise {name}, or pass on_limit="ignore_new" to leave out and count the rest.'


@cache
def default_bytes() -> float:
    """A quarter of the memory this process may use, so that a table has room to be moved."""
    limits = [math.inf]
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        limits.append(float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")))
    for name in ("memory.max", "memory/memory.limit_in_bytes"):  # of a container: v2, v1
        path = Path("/sys/fs/cgroup") / name
        if path.is_file() and (text := path.read_text().strip()).isdigit():
            limits.append(float(text))
    return min(limits) / 4
