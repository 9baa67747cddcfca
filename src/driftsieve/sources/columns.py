"""Tables to matrices: numeric columns as they are, one indicator feature per category of text."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftsieve.sources.base import Column, Encoded, Options, SourceError, used_and_dropped
from driftsieve.sources.features import FeatureError, Features, csr

Values = NDArray[Any] | Sequence[str | None]  # numbers (NaN is missing), or text (None is missing)
Table = Mapping[str, Values]
_MISSING, _NEW = -1, -2  # in place of the index of a feature


class Roles(NamedTuple):
    """What the columns are for, by name; positions count among all, whatever is dropped."""

    target: str | None
    time: str | None
    weight: str | None
    categorical: frozenset[str]
    drop: frozenset[str]

    @classmethod
    def of(cls, columns: Sequence[str], options: Options) -> Roles:
        find = partial(find_column, columns)
        wanted = {role: getattr(options, role) for role in ("target", "time", "weight")}
        single = {role: None if column is None else find(column) for role, column in wanted.items()}
        categorical = frozenset(map(find, options.categorical))
        roles = cls(**single, categorical=categorical, drop=frozenset(map(find, options.drop)))
        for role, name in single.items():
            if name is not None and name in roles.drop:
                raise used_and_dropped(name, role)
        return roles

    @property
    def no_features(self) -> frozenset[str | None]:
        return self.drop | {self.target, self.time, self.weight}


class TableEncoder:
    """Encodes the tables of one stream, whose columns may not change their names or kinds.

    Numeric columns come first, in their order. If there are text columns, every batch is CSR and
    categories follow in order of first appearance, named ``column=value``: features are only
    ever added at the end. A missing category sets no indicator.
    """

    def __init__(self, options: Options, *, has_labels: bool = False) -> None:
        self._options = options
        self._has_labels = has_labels  # in no column
        self._roles: Roles | None = None
        self._is_text: dict[str, bool] | None = None
        self.text: list[
            str
        ] = []  # the columns of it that are features, as the first table has them
        self._features = Features(options)

    def roles(self, columns: Sequence[str]) -> Roles:
        """What columns are for, which the first to come decide for all tables."""
        if self._roles is None:
            roles = Roles.of(columns, self._options)
            if roles.target is None and not self._has_labels:
                listed = _list(columns)
                raise SourceError(f"which column is the label? Pass target=, one of {listed}")
            self._roles = roles
        return self._roles

    def encode(
        self, table: Table, n_rows: int, arrays: Mapping[str, NDArray[Any]] | None = None
    ) -> Encoded:
        """The table as ``Batch.of`` takes it; ``arrays`` are the roles that are in no column."""
        roles = self.roles(list(table))
        is_text = {name: not isinstance(values, np.ndarray) for name, values in table.items()}
        if self._is_text is None:
            self._start(is_text, roles)
            _check_time(table, roles.time)
        elif is_text != self._is_text:
            raise SourceError(_difference(self._is_text, is_text))
        X = self._dense(table, n_rows)
        if self.text:
            try:
                X = self._with_indicators(X, table)
            except FeatureError as problem:
                row = list(table[problem.key[0]]).index(problem.key[1])
                return Encoded(X, X, stop=(row, str(problem)))
        y, weight, t = map((arrays or {}).get, ("target", "weight", "time"))
        if y is None:
            y = _array(table[roles.target or ""])
        if roles.weight is not None:  # maybe the label, whose digits are kept
            weight = np.asarray(table[roles.weight], np.float64)
        if roles.time is not None:
            t = np.asarray(seconds(table[roles.time]), np.float64)
        return Encoded(X, y, weight, t, self._features.names, self._features.ignored)

    def unusable(self, table: Table, encoded: Encoded) -> dict[int, str]:
        """The rows that have no weight or time, and what they have in its place."""
        roles, bad = self.roles(list(table)), {}
        given = [("weights", roles.weight, encoded.weight), ("times", roles.time, encoded.t)]
        for what, name, numbers in given:
            if name is not None and numbers is not None:
                for row in np.flatnonzero(np.isnan(numbers)).tolist():
                    text = table[name][row]
                    here = repr(text) if isinstance(text, str) else "there is none"
                    bad[row] = f"column {name!r} holds {what}, but here {here}"
        return bad

    def _start(self, is_text: dict[str, bool], roles: Roles) -> None:
        if roles.weight is not None and is_text[roles.weight]:
            raise SourceError(f"the weight column {roles.weight!r} holds text, not numbers")
        features = [name for name in is_text if name not in roles.no_features]
        self.text = [name for name in features if is_text[name]]
        self._numeric = [name for name in features if not is_text[name]]
        for name in self._numeric:
            self._features[name]
        self._is_text = is_text

    def _dense(self, table: Table, n_rows: int) -> NDArray[Any]:
        columns = [np.asarray(table[name]) for name in self._numeric]
        single = bool(columns) and all(column.dtype == np.float32 for column in columns)
        X = np.empty((n_rows, len(columns)), np.float32 if single else np.float64, order="F")
        for j, column in enumerate(columns):
            X[:, j] = column
        return X

    def _with_indicators(self, X: NDArray[Any], table: Table) -> Any:
        features = self._features
        chosen = np.empty((len(X), len(self.text)), dtype=np.int64)
        for j, name in enumerate(self.text):
            values = table[name]
            chosen[:, j] = [
                _MISSING if value is None else features.get((name, value), _NEW) for value in values
            ]
        # row by row, as any other cut of the rows into batches would meet them
        for i, j in np.argwhere(chosen == _NEW).tolist():
            name = self.text[j]
            text: Any = table[name][i]
            chosen[i, j] = features[name, text]
        chosen.sort(axis=1)  # canonical CSR from the start
        numeric = np.broadcast_to(np.arange(X.shape[1]), X.shape)
        indices = np.hstack([numeric, chosen])
        data = np.hstack([X, np.ones(chosen.shape, X.dtype)])
        present = np.hstack([X != 0, chosen >= 0])
        indptr = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
        return csr(data[present], indices[present], indptr, len(features))


def _check_time(table: Table, name: str | None) -> None:
    """Dates that are not ISO fail at once, with an example; one odd date is one bad row."""
    values = [] if name is None else table[name]
    first = next((value for value in values if value is not None), None)
    if isinstance(first, str) and math.isnan(second(first)):
        raise SourceError(f"the time column {name!r} holds no ISO dates but {first!r}")


def find_column(columns: Sequence[str], wanted: Column) -> str:
    """The name of the column meant by a name or a position (which may be text: ``"0"``)."""
    if isinstance(wanted, str) and wanted in columns:
        return wanted
    try:
        return columns[int(wanted)]
    except (ValueError, TypeError, IndexError):
        raise SourceError(f"no column {wanted!r}: there are {_list(columns)}") from None


def category(value: Any) -> str | None:
    """What a code is called: as JSON, csv and Arrow write it."""
    if type(value) is str:
        return value
    if isinstance(value, bytes):
        return value.decode()
    if value is None or value != value:
        return None
    return str(value).lower() if isinstance(value, bool | np.bool_) else str(value)


def is_position(wanted: Any) -> bool:
    """Whether a column may be meant by its position."""
    try:
        int(wanted)
    except (ValueError, TypeError):
        return False
    return True


def check_unique(columns: Sequence[str]) -> None:
    """Two columns of one name could not be told apart."""
    name, times = Counter(columns).most_common(1)[0] if columns else ("", 0)
    if times > 1:
        raise SourceError(f"{times} columns are called {name!r}")


def seconds(values: Values) -> NDArray[Any]:
    """Clock readings: numbers as they are, ISO dates as seconds since 1970 (UTC)."""
    if isinstance(values, np.ndarray):
        return values
    return np.array([second(value) for value in values], dtype=np.float64)


def second(value: str | None) -> float:
    """An ISO date in seconds since 1970, NaN for what is none."""
    try:
        moment = datetime.fromisoformat(value or "")
    except ValueError:
        return float("nan")
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _array(values: Values) -> NDArray[Any]:
    if isinstance(values, np.ndarray):
        return values
    return np.fromiter(values, dtype=object, count=len(values))


def _difference(before: dict[str, bool], now: dict[str, bool]) -> str:
    for name, text in before.items():
        if name not in now:
            return f"column {name!r} is missing, which earlier rows have"
        if now[name] != text:
            kinds = ("numbers", "text")
            return f"column {name!r} held {kinds[text]} and now holds {kinds[now[name]]}"
    return f"column {next(name for name in now if name not in before)!r} is new"


def _list(columns: Sequence[str]) -> str:
    shown = ", ".join(map(repr, columns[:20]))
    return shown + (f" and {len(columns) - 20} more" if len(columns) > 20 else "")
