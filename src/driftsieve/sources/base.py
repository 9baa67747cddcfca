"""What every source speaks: options in, chunks of encoded rows out, errors of one line."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftsieve.batch import Missing
from driftsieve.limits import OnLimit

LARGE_LABEL = "labels must be integers of 64 bits at most: make them text"
NAMING_COLUMNS = ("target", "time", "weight", "categorical", "drop")
Column = str | int  # a name, or a position from 0 (from the end when negative)


class SourceError(ValueError):
    """A source that cannot be read, in one line: the file, the line or row, and the cause.

    Lines of text files count from 1, as editors do; rows of all else from 0, as numpy does.

    >>> print(SourceError("no column 'y'", "mail.csv", "line 3"))
    mail.csv, line 3: no column 'y'
    """

    def __init__(self, cause: object, file: str | None = None, where: str | None = None) -> None:
        place = ", ".join(part for part in (file, where) if part)
        text = " ".join(f"{place}: {cause}".split()) if place else " ".join(str(cause).split())
        super().__init__(text if len(text) <= 500 else text[:497] + "...")
        self.file = file


def used_and_dropped(column: Column, role: str) -> SourceError:
    """What is wrong where a column has a role and is in ``drop`` too."""
    return SourceError(f"column {column!r} cannot be both the {role} and left out by drop=")


@dataclass(frozen=True, slots=True)
class Options:
    """The arguments of ``as_batches`` that readers need; it documents them."""

    target: Any = None
    time: Any = None
    weight: Any = None
    batch_size: int = 4096
    header: bool | Literal["auto"] = "auto"
    delimiter: str | None = None
    zero_based: bool = False
    categorical: tuple[Column, ...] = ()
    drop: tuple[Column, ...] = ()
    max_features: int = 1_000_000
    on_limit: OnLimit = "error"
    missing: Missing = "error"

    def __post_init__(self) -> None:
        for role, wanted in self.roles.items():
            if isinstance(wanted, str | int) and wanted in self.drop:
                raise used_and_dropped(wanted, role)

    @property
    def roles(self) -> dict[str, Any]:
        """What stands for labels, weights and times, in the order of ``Encoded``."""
        return {"target": self.target, "weight": self.weight, "time": self.time}

    def refuse(self, source: str, names: Iterable[str] = NAMING_COLUMNS) -> None:
        """A source that has no use for these options: they are errors if they are given."""
        default = Options()
        for name in names:
            value, usual = getattr(self, name), getattr(default, name)
            if type(value) is not type(usual) or value != usual:
                raise SourceError(f"{name}= does not go with {source}")

    def refuse_arrays(self) -> None:
        """A source whose rows are not all here: arrays of labels, weights or times are errors."""
        for role, value in self.roles.items():
            if not isinstance(value, Hashable):
                raise SourceError(
                    f"{role}= must name a column or key, as files and iterables of rows have them, "
                    f"got {type(value).__name__}: only arrays and data frames take others"
                )


class Encoded(NamedTuple):
    """What ``Batch.of`` takes."""

    X: Any
    y: NDArray[Any]
    weight: NDArray[Any] | None = None
    t: NDArray[Any] | None = None
    names: tuple[str, ...] | None = None
    values_ignored: int = 0  # in all rows so far
    stop: tuple[int, str] | None = None  # the row at which reading ends, and why: there is no more

    def take(self, rows: NDArray[Any] | slice) -> Encoded:
        weight = None if self.weight is None else self.weight[rows]
        t = None if self.t is None else self.t[rows]
        X, y = self.X[rows], self.y[rows]
        return Encoded(X, y, weight, t, self.names, self.values_ignored)


@dataclass(slots=True)
class Rows:
    """The next ``n_read`` rows of a source: encoded, not yet validated.

    Rows that could not be made sense of are in ``bad`` (offset to cause) and not in ``encoded``,
    which is None when nothing else was read.
    """

    n_read: int
    encoded: Encoded | None
    bad: dict[int, str] = field(default_factory=dict)
    lines: Sequence[int] | None = None  # line number of each row read, in text files
    bytes_read: int = 0  # of the file, so far

    @property
    def kept(self) -> NDArray[np.int64]:
        """The offsets of the encoded rows among those read."""
        return np.delete(np.arange(self.n_read), sorted(self.bad))

    def leave_out(self, causes: Mapping[int, str]) -> None:
        """Call some of the encoded rows bad, by their place among the encoded."""
        if self.encoded is not None and causes:
            kept = self.kept
            self.encoded = self.encoded.take(np.delete(np.arange(len(kept)), list(causes)))
            self.bad = self.bad | {int(kept[row]): cause for row, cause in causes.items()}


@dataclass(frozen=True, slots=True)
class Part:
    """A file, or the one object in memory that is read."""

    read: Callable[[], Iterator[Rows]]
    name: str | None = None
    size: int | None = None
