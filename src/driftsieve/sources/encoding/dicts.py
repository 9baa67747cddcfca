"""Rows as dicts, with or without their label."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date
from itertools import chain, islice
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from driftsieve._rows.labels import LabelChecks
from driftsieve._rows.matrix import bad_value
from driftsieve._rows.vectors import seconds_of
from driftsieve.sources.base import Encoded, Options, Rows
from driftsieve.sources.encoding.features import FeatureError, Features, csr
from driftsieve.sources.encoding.numbers import Numbers, note_numbers
from driftsieve.sources.encoding.row_checks import ROW_ERRORS, cause_of, refuse_as_batch
from driftsieve.sources.encoding.tables import category, is_digit_date, second

PLAIN = (float, int, str, bool, type(None))


class Row(NamedTuple):
    """One row of features, as sparse entries."""

    indices: list[int]
    data: list[float]
    label: Any
    weight: float
    t: float


class DictEncoder:
    """Encoder of dicts as CSR rows: a key is a feature, and an absent key has the value 0.

    Features are numbered in order of first appearance. A text value is an indicator feature named
    ``key=value``, and so is any value of a categorical key. None is a missing number, or no
    category. A key must not hold both numbers and text: its first value decides, and if all values
    of a chunk are None, they are missing numbers. A row that is not valid, here or in ``Batch``,
    decides nothing and adds no feature.
    """

    def __init__(self, options: Options) -> None:
        self._target, self._weight, self._time = options.target, options.sample_weight, options.time
        dropped = *options.drop, *map(str, options.drop)
        self._special = {self._target, self._weight, self._time, *dropped}
        self._categorical = frozenset(map(str, options.categorical))
        self._is_text: dict[str, bool] = dict.fromkeys(self._categorical, True)
        self._features = Features(options)
        # rows with None for keys without another value so far
        self._undecided: list[tuple[Row, str]] = []
        self._most_keys = max(options.max_features, len(self._is_text))
        self._labels = LabelChecks()
        self._allows_nan = options.missing == "ignore"
        self._has_dates: bool | None = None  # whether times are dates; None if not known yet
        self._seen_text: set[str] = set()  # keys that were searched for numbers as text

    def encode(self, items: list[Any]) -> Rows:
        """Encode dicts, (dict, label) pairs, or strings with the cause of a bad row."""
        before = self._decided
        found, bad, stop = self._rows(items)
        while not stop and (late := self._settle(found)):
            self._undo(before)
            items = [late.get(offset, item) for offset, item in enumerate(items)]
            found, bad, stop = self._rows(items)
        if stop:
            none = np.empty(0)
            return Rows(len(items), Encoded(none, none, stop=(len(found), stop)), bad)
        if not found:
            return Rows(len(items), None, bad)
        rows = list(found.values())
        indices = np.fromiter(chain.from_iterable(row.indices for row in rows), np.int64)
        data = np.fromiter(chain.from_iterable(row.data for row in rows), np.float64)
        indptr = np.cumsum([0] + [len(row.indices) for row in rows])
        X = csr(data, indices, indptr, len(self._features))
        y = np.fromiter((row.label for row in rows), dtype=object, count=len(rows))
        weight = None if self._weight is None else np.array([row.weight for row in rows])
        t = None if self._time is None else np.array([row.t for row in rows])
        features = self._features
        self._note_numbers(before[3])
        has_dates = bool(self._has_dates)
        encoded = Encoded(X, y, weight, t, features.names, features.ignored, has_dates=has_dates)
        return Rows(len(items), encoded, bad)

    def _note_numbers(self, start: int) -> None:
        """Warn of new keys, from this feature on, that hold numbers as text."""
        for feature in islice(self._features, start, None):
            if isinstance(feature, str) or feature[0] in self._seen_text:
                continue
            key, value = feature
            self._seen_text.add(key)
            if key not in self._categorical and Numbers().is_number(value):
                note_numbers("key", key, value)

    def _rows(self, items: list[Any]) -> tuple[dict[int, Row], dict[int, str], str]:
        """Return the rows by offset, the causes of bad rows, and the cause of an early end."""
        rows: dict[int, Row] = {}
        bad: dict[int, str] = {}
        for offset, item in enumerate(items):
            before = self._decided
            try:
                rows[offset] = self._row(item)
            except FeatureError as problem:
                return rows, bad, str(problem)
            except ROW_ERRORS as problem:
                self._undo(before)
                bad[offset] = cause_of(problem)
        return rows, bad, ""

    def _settle(self, rows: Mapping[int, Row]) -> dict[int, str]:
        """Take None as a missing number for keys without a value; return the bad rows."""
        late: dict[int, str] = {}
        offsets = {id(row): offset for offset, row in rows.items()} if self._undecided else {}
        for row, key in self._undecided:
            if self._is_text.get(key) or (feature := self._features[key]) < 0:
                continue
            if not self._allows_nan:
                late[offsets[id(row)]] = bad_value(math.nan, 0, feature, key).cause
            _put(row, feature, math.nan)
        self._undecided.clear()
        return late

    @property
    def _decided(self) -> tuple[int, int, str | None, int, int, bool | None]:
        """The state of everything that rows decide, to be restored after a bad row."""
        features = self._features
        return (
            len(self._is_text),
            len(self._undecided),
            self._labels.kind,
            len(features),
            features.ignored,
            self._has_dates,
        )

    def _undo(self, before: tuple[int, int, str | None, int, int, bool | None]) -> None:
        n_keys, n_undecided, self._labels.kind, n_features, ignored, self._has_dates = before
        self._features.ignored = ignored
        while len(self._is_text) > n_keys:
            self._is_text.popitem()
        del self._undecided[n_undecided:]
        self._features.forget(n_features)

    def _row(self, item: Any) -> Row:
        if isinstance(item, str):
            raise ValueError(item)
        if isinstance(item, Mapping):
            record, label = item, _value(item, self._target, "target")
        else:
            record, label = item
        if str(self._target) in self._categorical:
            label = category(label)
        weight = t = 0.0
        if self._weight is not None:
            weight = _number(record, self._weight, "weight")
        if self._time is not None:
            t = self._clock_reading(record)
        row = Row([], [], self._labels.check(label), weight, t)
        refuse_as_batch(label, weight, t)
        for key, value in record.items():
            if key in self._special:
                continue
            name = str(key)
            if not isinstance(key, str):
                if name in record:
                    raise ValueError(f"Keys must differ as text, got {key!r} and {name!r}.")
                if name in self._special:
                    continue
            self._add(row, name, value)
        return row

    def _clock_reading(self, record: Mapping[Any, Any]) -> float:
        """Return the time of a row; the first one decides whether times are dates or numbers."""
        value = _value(record, self._time, "time")
        is_number = isinstance(value, Real) and not isinstance(value, np.timedelta64)
        is_date = not is_number or (self._has_dates is not False and is_digit_date(value))
        if is_number and is_date:
            value = f"{value:.0f}"
        t = _number({self._time: value}, self._time, "time")
        if self._has_dates is not None and is_date != self._has_dates:
            held = "a date" if self._has_dates else "a number"
            raise ValueError(
                f"Time {self._time!r} must be {held}, as in the rows before, got {value!r}."
            )
        self._has_dates = is_date
        return t

    def _add(self, row: Row, key: str, value: Any) -> None:
        # Plain types first, because checking the abstract class Real takes longer than everything
        # else.
        if type(value) not in PLAIN:
            if isinstance(value, str):
                value = str.__str__(value)  # the value of an Enum member, not its name
            elif not isinstance(value, Real | np.bool_):
                raise TypeError(
                    f"Key {key!r} must hold a number or text, got {type(value).__name__}."
                )
        if key not in self._is_text and len(self._is_text) >= self._most_keys:
            self._features.refuse(key)
            return
        if key in self._categorical:
            value = category(value)
        if value is None and key not in self._is_text:
            self._undecided.append((row, key))
            return
        is_text = self._is_text.setdefault(key, isinstance(value, str))
        if isinstance(value, str) != is_text and value is not None:
            held = "text" if is_text else "a number"
            raise TypeError(f"Key {key!r} must hold {held}, as in the rows before, got {value!r}.")
        if is_text:
            _put(row, -1 if value is None else self._features[key, value], 1.0)
            return
        try:
            number = math.nan if value is None else float(value)
        except OverflowError:
            raise ValueError(
                f"Key {key!r} must hold a number that fits float64, got a larger integer."
            ) from None
        feature = self._features[key]
        if feature >= 0 and (math.isinf(number) or (math.isnan(number) and not self._allows_nan)):
            raise bad_value(number, 0, feature, key)
        _put(row, feature, number)


def _put(row: Row, feature: int, number: float) -> None:
    if number and feature >= 0:
        row.indices.append(feature)
        row.data.append(number)


def _value(record: Mapping[Any, Any], key: Any, what: str) -> Any:
    try:
        return record[key]
    except KeyError:
        raise ValueError(f"A row must have the {what} {key!r}, got none.") from None


def _number(record: Mapping[Any, Any], key: Any, what: str) -> float:
    """Return a weight, or a time (which may be a datetime, or an ISO date)."""
    value = _value(record, key, what)
    try:
        if what == "time" and isinstance(value, date | np.datetime64):
            number = float(seconds_of(np.array([value], dtype=object))[0])
        else:
            is_text = what == "time" and isinstance(value, str)
            number = second(value) if is_text else float(value)
    except ROW_ERRORS:
        number = math.nan
    if math.isnan(number):
        wanted = "a number or an ISO date" if what == "time" else "a number"
        raise ValueError(f"{what.capitalize()} {key!r} must be {wanted}, got {str(value)[:40]!r}.")
    return number
