"""Tables as matrices: numeric columns, and one indicator feature per category of text."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from difflib import get_close_matches
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftsieve._arguments import arg
from driftsieve._rows.vectors import seconds_of
from driftsieve.exceptions import SourceError
from driftsieve.sources.base import ColumnRef, Encoded, Options, used_and_dropped
from driftsieve.sources.encoding.codes import Codes
from driftsieve.sources.encoding.features import (
    FeatureError,
    Features,
    csr_of_rows,
    index_type,
    sort_rows,
)

Values = NDArray[Any] | Sequence[str | None]  # numbers (NaN is missing), or text (None is missing)
Table = Mapping[str, Values]
_MISSING, _NEW = -1, -2  # stands for the index of a feature
_DIGITS = {8: "%Y%m%d", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}  # dates that look like numbers


class Roles(NamedTuple):
    """The roles of columns, by name. Positions count all columns, including dropped ones."""

    target: str | None
    time: str | None
    sample_weight: str | None
    categorical: frozenset[str]
    drop: frozenset[str]

    @classmethod
    def of(cls, columns: Sequence[str], options: Options) -> Roles:
        find = partial(find_column, columns)
        wanted = {role: getattr(options, role) for role in ("target", "time", "sample_weight")}
        single = {role: None if column is None else find(column) for role, column in wanted.items()}
        categorical = frozenset(map(find, options.categorical))
        roles = cls(**single, categorical=categorical, drop=frozenset(map(find, options.drop)))
        for role, name in single.items():
            if name is not None and name in roles.drop:
                raise used_and_dropped(name, role)
        return roles

    @property
    def no_features(self) -> frozenset[str | None]:
        return self.drop | {self.target, self.time, self.sample_weight}


class TableEncoder:
    """Encoder of the tables of a stream, whose columns keep their names and kinds.

    Numeric columns come first, in their order. If there are text columns, every batch is CSR, and
    categories follow in order of first appearance, named ``column=value``: features are only added
    at the end. A missing category sets no indicator.
    """

    def __init__(self, options: Options, *, has_labels: bool = False) -> None:
        self.options = options
        self._has_labels = has_labels  # not in a column
        self._roles: Roles | None = None
        self._is_text: dict[str, bool] | None = None
        self.text: list[str] = []  # the feature columns, in the order of the first table
        self._features = Features(options)
        self._has_digits: bool | None = None  # times are dates such as 20200131

    @property
    def kinds(self) -> dict[str, str]:
        """Kind of each column, once the first table was read."""
        texts = self._is_text or {}
        return {name: "text" if text else "numbers" for name, text in texts.items()}

    def roles(self, columns: Sequence[str]) -> Roles:
        """Return the roles of the columns, which the first table decides."""
        if self._roles is None:
            roles = Roles.of(columns, self.options)
            if roles.target is None and not self._has_labels:
                raise SourceError(
                    f"{arg('target')} must be the column of the labels, got none. The columns are "
                    f"{_list(columns)}."
                )
            self._roles = roles
        return self._roles

    def encode(
        self, table: Table, n_rows: int, arrays: Mapping[str, NDArray[Any]] | None = None
    ) -> Encoded:
        """Encode a table for ``Batch.of``; ``arrays`` has the roles without a column."""
        roles = self.roles(list(table))
        is_text = {name: not isinstance(values, np.ndarray) for name, values in table.items()}
        if self._is_text is None:
            self._start(is_text, roles)
            _check_time(table, roles.time)
        elif is_text != self._is_text:
            raise SourceError(_difference(self._is_text, is_text))
        try:
            X = self._with_indicators(table, n_rows) if self.text else self._dense(table, n_rows)
        except FeatureError as problem:
            row = list(table[problem.key[0]]).index(problem.key[1])
            none = np.empty((n_rows, 0))
            return Encoded(none, none, stop=(row, str(problem)))
        y, weight, t = map((arrays or {}).get, ("target", "sample_weight", "time"))
        if y is None:
            y = _array(table[roles.target or ""])
        if roles.sample_weight is not None:  # may be the label, whose digits are kept
            weight = np.asarray(table[roles.sample_weight], np.float64)
        has_dates = False
        if roles.time is not None:
            t, has_dates = self._times(table[roles.time])
        features = self._features
        return Encoded(X, y, weight, t, features.names, features.ignored, has_dates=has_dates)

    def _times(self, values: Values) -> tuple[NDArray[Any], bool]:
        """Return the times, and whether they are dates, possibly written as numbers."""
        if not isinstance(values, np.ndarray):
            return np.array([second(value) for value in values], dtype=np.float64), True
        if values.dtype.kind == "M":
            return seconds_of(values), True
        t = np.asarray(values, np.float64)
        if self._has_digits is None and np.isfinite(t).any():
            self._has_digits = is_digit_date(t[np.isfinite(t)][0])
        if not self._has_digits:
            return t, False
        return np.array([second_of_digits(value) for value in t.tolist()], dtype=np.float64), True

    def unusable(self, table: Table, encoded: Encoded) -> dict[int, str]:
        """Return the rows without a valid weight or time, and their values."""
        roles, bad = self.roles(list(table)), {}
        given = [("weights", roles.sample_weight, encoded.weight), ("times", roles.time, encoded.t)]
        for what, name, numbers in given:
            if name is not None and numbers is not None:
                for row in np.flatnonzero(np.isnan(numbers)).tolist():
                    value: Any = table[name][row]
                    is_there = value is not None and value == value
                    here = f"{value!s:.80}" if is_there else "a missing value"
                    here = repr(value) if isinstance(value, str) else here
                    bad[row] = f"Column {name!r} must hold {what}, got {here}."
        return bad

    def _start(self, is_text: dict[str, bool], roles: Roles) -> None:
        if roles.sample_weight is not None and is_text[roles.sample_weight]:
            raise SourceError(
                f"The weight column {roles.sample_weight!r} must hold numbers, got text."
            )
        features = [name for name in is_text if name not in roles.no_features]
        self.text = [name for name in features if is_text[name]]
        self._numeric = [name for name in features if not is_text[name]]
        for name in self._numeric:
            self._features[name]
        self._is_text = is_text

    def _numbers(self, table: Table) -> tuple[list[NDArray[Any]], type[np.floating[Any]]]:
        """Return the numeric columns, and float32 if all are, otherwise float64."""
        columns = [np.asarray(table[name]) for name in self._numeric]
        single = bool(columns) and all(column.dtype == np.float32 for column in columns)
        return columns, np.float32 if single else np.float64

    def _dense(self, table: Table, n_rows: int) -> NDArray[Any]:
        columns, kind = self._numbers(table)
        X = np.empty((n_rows, len(columns)), kind, order="F")
        for j, column in enumerate(columns):
            X[:, j] = column
        return X

    def _with_indicators(self, table: Table, n_rows: int) -> Any:
        features = self._features
        chosen = np.empty((n_rows, len(self.text)), dtype=np.int64)
        for j, name in enumerate(self.text):
            chosen[:, j] = _places(name, table[name], features)
        # in the order of any other split of the rows into batches
        for i, j in np.argwhere(chosen == _NEW).tolist():
            name = self.text[j]
            text: Any = table[name][i]
            chosen[i, j] = features[name, text]
        sort_rows(chosen)  # canonical CSR
        columns, kind = self._numbers(table)
        n = len(columns)
        indices = np.empty((n_rows, n + len(self.text)), index_type(len(features)))
        indices[:, :n], indices[:, n:] = np.arange(n), chosen
        data = np.empty(indices.shape, kind)
        for j, column in enumerate(columns):
            data[:, j] = column
        data[:, n:] = chosen >= 0
        return csr_of_rows(data, indices, len(features))


def _places(name: str, values: Values, features: Features) -> NDArray[np.int64]:
    """Return the feature of each row, ``_MISSING`` or ``_NEW``."""
    if isinstance(values, Codes):
        known = [features.get((name, value), _NEW) for value in values.values]
        return values.look_up(known, _MISSING)
    known = [_MISSING if value is None else features.get((name, value), _NEW) for value in values]
    return np.array(known, np.int64)


def _check_time(table: Table, name: str | None) -> None:
    """Raise an error if the first time is not an ISO date; a later one is a bad row."""
    values = [] if name is None else table[name]
    first = next((value for value in values if value is not None), None)
    if isinstance(first, str) and math.isnan(second(first)):
        raise SourceError(f"The time column {name!r} must hold ISO dates, got {first!r}.")


def find_column(columns: Sequence[str], wanted: ColumnRef) -> str:
    """Return the name of the column with a name or position (also as text: ``"0"``)."""
    if isinstance(wanted, str) and wanted in columns:
        return wanted
    try:
        return columns[int(wanted)]
    except (ValueError, TypeError, IndexError):
        raise SourceError(
            f"A column must be one of {_list(columns)}, got {wanted!r}.{_advice(columns, wanted)}"
        ) from None


def _advice(columns: Sequence[str], wanted: ColumnRef) -> str:
    """Return a sentence on what may have been meant, or "".

    >>> _advice(["when", "kind"], "KIND"), _advice(["when", "kind"], "when, kind")
    (" Did you mean 'kind'?", ' Name each column separately.')
    """
    parts = str(wanted).split(",")
    if len(parts) > 1 and all(part.strip() in columns for part in parts):
        return " Name each column separately."
    plain = {column.strip().casefold(): column for column in columns}
    close = get_close_matches(str(wanted).strip().casefold(), plain, 1)
    return f" Did you mean {plain[close[0]]!r}?" if close else ""


def category(value: Any) -> str | None:
    """Return the name of a category, as JSON, csv and Arrow write it."""
    if type(value) is str:
        return value
    if isinstance(value, bytes):
        return value.decode()
    if value is None or value != value:
        return None
    return str(value).lower() if isinstance(value, bool | np.bool_) else str(value)


def is_position(wanted: Any, n_columns: int) -> bool:
    """Return whether ``wanted`` may be the position of one of so many columns."""
    try:
        return -n_columns <= int(wanted) < n_columns
    except (ValueError, TypeError):
        return False


def check_unique(columns: Sequence[str]) -> None:
    """Raise an error if two columns have the same name."""
    name, times = Counter(columns).most_common(1)[0] if columns else ("", 0)
    if times > 1:
        raise SourceError(
            f"Column names must differ, got {name!r} {times} times. Rename one of them."
        )


def second(value: str | None) -> float:
    """Return an ISO date, or its digits, in seconds since 1970 (UTC); NaN if not valid."""
    text = (value or "").strip()
    form = _DIGITS.get(len(text)) if text.isdecimal() else None
    try:
        moment = datetime.strptime(text, form) if form else datetime.fromisoformat(text)
    except ValueError:
        return math.nan
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def is_digit_date(value: str | float) -> bool:
    """Whether a time is a date of the years 1900 to 2099 in digits: 20200131, also with a time.

    >>> is_digit_date("20200131"), is_digit_date(20200131093000), is_digit_date(20200132)
    (True, True, False)
    """
    return not math.isnan(second_of_digits(value))


def second_of_digits(value: str | float) -> float:
    """Return the seconds of a date in digits, NaN if it is not valid."""
    if not isinstance(value, str):
        value = f"{value:.0f}" if float(value).is_integer() else ""
    is_date = len(value) in _DIGITS and value.isdecimal() and "1900" <= value[:4] < "2100"
    return second(value) if is_date else math.nan


def _array(values: Values) -> NDArray[Any]:
    if isinstance(values, np.ndarray):
        return values
    if isinstance(values, Codes):
        return values.array()
    return np.fromiter(values, dtype=object, count=len(values))


def _difference(before: dict[str, bool], now: dict[str, bool]) -> str:
    for name, text in before.items():
        if name not in now:
            return f"Rows must have column {name!r}, as the rows before."
        if now[name] != text:
            kinds = ("numbers", "text")
            return (
                f"Column {name!r} must hold {kinds[text]}, as in the rows before, got "
                f"{kinds[now[name]]}."
            )
    new = next(name for name in now if name not in before)
    return f"Rows must have the columns of the rows before, got the new column {new!r}."


def _list(columns: Sequence[str]) -> str:
    shown = ", ".join(map(repr, columns[:20]))
    return shown + (f" and {len(columns) - 20} more" if len(columns) > 20 else "")
