"""Rows one by one: an iterable of dicts, of (dict, label) or of (values, label) pairs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from itertools import chain, islice
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from driftsieve.batch import seconds_of
from driftsieve.sources.base import LARGE_LABEL, Encoded, Options, Rows
from driftsieve.sources.columns import category, second
from driftsieve.sources.features import FeatureError, Features, csr

ROW_ERRORS = (ValueError, TypeError, OverflowError)
PLAIN = (float, int, str, bool, type(None))


def read_rows(source: Iterable[Any], options: Options) -> Iterator[Rows]:
    """Rows of an iterable, which the first one tells the kind of: none is drawn before its time."""
    items = iter(source)
    first = next(items, None)
    if first is None:
        return
    encoder = DictEncoder(options) if _holds_dict(first) else PairEncoder(options)
    items = chain([first], items)
    while chunk := list(islice(items, options.batch_size)):
        yield encoder.encode(chunk)


def _holds_dict(item: Any) -> bool:
    if isinstance(item, Mapping):
        return True
    if isinstance(item, tuple | list) and len(item) == 2:
        return isinstance(item[0], Mapping)
    raise TypeError(
        f"rows must be dicts or (x, y) pairs, got {type(item).__name__}: as_batches takes arrays, "
        "sparse matrices, data frames, file names, and iterables of rows."
    )


class Row(NamedTuple):
    """One row of features, as sparse entries."""

    indices: list[int]
    data: list[float]
    label: Any
    weight: float
    t: float


class Labels:
    """Sees to it that labels are all text or all numbers."""

    def __init__(self) -> None:
        self._text: bool | None = None

    def check(self, label: Any) -> Any:
        if label is None:
            return label
        text = isinstance(label, str)
        if not text and not isinstance(label, Real | np.bool_):
            raise TypeError(f"labels must be numbers or text, got {label!r}")
        if isinstance(label, int) and not -(2**63) <= label < 2**63:
            raise ValueError(LARGE_LABEL)
        if isinstance(label, float) and 2**53 <= abs(label) < math.inf:
            raise ValueError("labels of 2**53 and more must be integers: others are not exact")
        if self._text is None:
            self._text = text
        if self._text != text:
            raise TypeError(f"labels were {'text' if self._text else 'numbers'}, got {label!r}")
        return label


class DictEncoder:
    """Encodes dicts as CSR rows: a key is a feature, an absent one the value 0.

    Features are numbered in order of first appearance. Text makes an indicator named
    ``key=value``, and so does what a categorical key holds; None is a missing number, or no
    category. A key that held numbers may not hold text later, nor the other way round: the first
    value decides, and where a chunk of rows has none, its Nones are taken for missing numbers.
    """

    def __init__(self, options: Options) -> None:
        self._target, self._weight, self._time = options.target, options.weight, options.time
        dropped = *options.drop, *map(str, options.drop)
        self._special = {self._target, self._weight, self._time, *dropped}
        self._categorical = frozenset(map(str, options.categorical))
        self._is_text: dict[str, bool] = dict.fromkeys(self._categorical, True)
        self._features = Features(options)
        self._undecided: list[tuple[Row, str]] = []  # rows with None where no value has been yet
        self._most_keys = max(options.max_features, len(self._is_text))
        self._labels = Labels()

    def encode(self, items: list[Any]) -> Rows:
        """Dicts, (dict, label) pairs, or texts that say why there is none."""
        rows: list[Row] = []
        bad: dict[int, str] = {}
        for offset, item in enumerate(items):
            try:
                rows.append(self._row(item))
            except FeatureError as problem:
                none = np.empty(0)
                return Rows(len(items), Encoded(none, none, stop=(len(rows), str(problem))), bad)
            except ROW_ERRORS as problem:
                bad[offset] = str(problem)
        for row, key in self._undecided:
            if not self._is_text.get(key):
                _put(row, self._features[key], math.nan)
        self._undecided.clear()
        if not rows:
            return Rows(len(items), None, bad)
        indices = np.fromiter(chain.from_iterable(row.indices for row in rows), np.int64)
        data = np.fromiter(chain.from_iterable(row.data for row in rows), np.float64)
        indptr = np.cumsum([0] + [len(row.indices) for row in rows])
        X = csr(data, indices, indptr, len(self._features))
        y = np.fromiter((row.label for row in rows), dtype=object, count=len(rows))
        weight = None if self._weight is None else np.array([row.weight for row in rows])
        t = None if self._time is None else np.array([row.t for row in rows])
        features = self._features
        return Rows(len(items), Encoded(X, y, weight, t, features.names, features.ignored), bad)

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
            t = _number(record, self._time, "time")
        row = Row([], [], self._labels.check(label), weight, t)
        for key, value in record.items():
            if key in self._special:
                continue
            name = str(key)
            if not isinstance(key, str):
                if name in record:
                    raise ValueError(f"the keys {key!r} and {name!r} have the same name")
                if name in self._special:
                    continue
            self._add(row, name, value)
        return row

    def _add(self, row: Row, key: str, value: Any) -> None:
        # Plain types first: looking up the abstract Real takes longer than all the rest.
        if type(value) not in PLAIN:
            if isinstance(value, str):
                value = str.__str__(value)  # of an Enum what it stands for, not what it is called
            elif not isinstance(value, Real | np.bool_):
                raise TypeError(f"{key!r} must be a number or text, got {type(value).__name__}")
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
            held = "text" if is_text else "numbers"
            raise TypeError(f"{key!r} held {held}, but here {value!r}")
        if is_text:
            _put(row, -1 if value is None else self._features[key, value], 1.0)
            return
        try:
            number = math.nan if value is None else float(value)
        except OverflowError:
            raise ValueError(f"{key!r} holds an integer that is too large for a number") from None
        _put(row, self._features[key], number)


def _put(row: Row, feature: int, number: float) -> None:
    if number and feature >= 0:
        row.indices.append(feature)
        row.data.append(number)


class PairEncoder:
    """Encodes (values, label) pairs, all of the same number of values, as a dense matrix."""

    def __init__(self, options: Options) -> None:
        options.refuse("(values, label) pairs")
        self._width: int | None = None
        self._labels = Labels()

    def encode(self, items: list[Any]) -> Rows:
        vectors, labels = [], []
        bad: dict[int, str] = {}
        for offset, item in enumerate(items):
            try:
                x, label = item
                vector = np.asarray(x, dtype=np.float64)
                if self._width is None and vector.ndim == 1:
                    self._width = len(vector)
                if vector.shape != (self._width,):
                    raise ValueError(f"values of shape {vector.shape}, not ({self._width},)")
                labels.append(self._labels.check(label))
                vectors.append(vector)
            except ROW_ERRORS as problem:
                bad[offset] = str(problem)
        if not vectors:
            return Rows(len(items), None, bad)
        y = np.fromiter(labels, dtype=object, count=len(labels))
        return Rows(len(items), Encoded(np.stack(vectors), y), bad)


def _value(record: Mapping[Any, Any], key: Any, what: str) -> Any:
    try:
        return record[key]
    except KeyError:
        raise ValueError(f"the {what} {key!r} is absent") from None


def _number(record: Mapping[Any, Any], key: Any, what: str) -> float:
    """A weight, or a time (which may be a datetime, or an ISO date)."""
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
        raise ValueError(f"the {what} {key!r} must be {wanted}, but here is {str(value)[:40]!r}")
    return number
