"""The common parts of all sources: options, encoded rows and parts."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftsieve._arguments import arg
from driftsieve._rows.names import FeatureNames, UniqueNames
from driftsieve._state.limits import OnLimit
from driftsieve.batch import Missing
from driftsieve.exceptions import SourceError

NAMING_COLUMNS = ("target", "time", "sample_weight", "categorical", "drop")
ColumnRef = str | int  # a name, or a position from 0 (from the end if negative)


def used_and_dropped(column: ColumnRef, role: str) -> SourceError:
    """Return the message for a column that has a role and is also in ``drop``."""
    return SourceError(f"{arg(role)} must not be a column of {arg('drop')}, got {column!r}.")


@dataclass(frozen=True, slots=True)
class Options:
    """The arguments of ``as_batches`` that readers need. See there."""

    target: Any = None
    time: Any = None
    sample_weight: Any = None
    batch_size: int = 4096
    header: bool | Literal["auto"] = "auto"
    delimiter: str | None = None
    zero_based: bool = False
    categorical: tuple[ColumnRef, ...] = ()
    drop: tuple[ColumnRef, ...] = ()
    max_features: int = 1_000_000
    on_limit: OnLimit = "error"
    missing: Missing = "error"
    na: tuple[str, ...] = ()
    decimal: Literal[".", ","] = "."
    kinds: Mapping[str, str] = field(default_factory=dict)
    names: UniqueNames | None = None

    def __post_init__(self) -> None:
        for role, wanted in self.roles.items():
            if isinstance(wanted, str | int) and wanted in self.drop:
                raise used_and_dropped(wanted, role)

    @property
    def roles(self) -> dict[str, Any]:
        """Return the columns of labels, weights and times, in the order of ``Encoded``."""
        return {"target": self.target, "sample_weight": self.sample_weight, "time": self.time}

    def refuse(self, source: str, names: Iterable[str] = NAMING_COLUMNS) -> None:
        """Raise an error if options are given that the source does not support."""
        default = Options()
        for name in names:
            value, usual = getattr(self, name), getattr(default, name)
            if type(value) is not type(usual) or value != usual:
                raise SourceError(f"{arg(name)} must not be given for {source}.")

    def refuse_arrays(self) -> None:
        """Raise an error for arrays of labels, weights or times: the rows are not in memory."""
        for role, value in self.roles.items():
            if not isinstance(value, Hashable):
                raise SourceError(
                    f"{arg(role)} must be a column or key for files and iterables of rows, got "
                    f"{type(value).__name__}. Arrays are for rows in arrays and data frames."
                )


class Encoded(NamedTuple):
    """Encoded rows: the arguments of ``Batch.of``."""

    X: Any
    y: NDArray[Any]
    weight: NDArray[Any] | None = None
    t: NDArray[Any] | None = None
    names: FeatureNames | None = None
    values_ignored: int = 0  # number of values left out in all rows so far
    stop: tuple[int, str] | None = None  # the row at which reading ends, and the cause
    has_dates: bool = False  # whether t has seconds of dates

    def take(self, rows: NDArray[Any] | slice) -> Encoded:
        weight = None if self.weight is None else self.weight[rows]
        t = None if self.t is None else self.t[rows]
        return self._replace(X=self.X[rows], y=self.y[rows], weight=weight, t=t, stop=None)


@dataclass(slots=True)
class Rows:
    """The next ``n_read`` rows of a source: encoded, not validated yet.

    Rows that cannot be encoded are in ``bad`` (offset to cause) and not in ``encoded``, which is
    None if no other rows were read.
    """

    n_read: int
    encoded: Encoded | None
    bad: dict[int, str] = field(default_factory=dict)
    lines: Sequence[int] | None = None  # line number of each row read, in text files
    bytes_read: int = 0  # position in the file

    @property
    def kept(self) -> NDArray[np.int64]:
        """Offsets of the encoded rows among the rows read."""
        return np.delete(np.arange(self.n_read), sorted(self.bad))

    def leave_out(self, causes: Mapping[int, str]) -> None:
        """Mark some of the encoded rows as bad, by their index among the encoded rows."""
        if self.encoded is not None and causes:
            kept = self.kept
            self.encoded = self.encoded.take(np.delete(np.arange(len(kept)), list(causes)))
            self.bad = self.bad | {int(kept[row]): cause for row, cause in causes.items()}


@dataclass(frozen=True, slots=True)
class Part:
    """A file, or the only object in memory, that is read."""

    read: Callable[[], Iterator[Rows]]
    name: str | None = None
    size: int | None = None
    columns: Callable[[], dict[str, str]] = dict  # kind of each column, if there are columns
