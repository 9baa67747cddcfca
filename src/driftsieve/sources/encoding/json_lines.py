"""Encoding of JSON lines: in chunks by pyarrow, or one by one."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftsieve._rows.vectors import MAX_WEIGHT
from driftsieve.sources.base import Encoded, Rows
from driftsieve.sources.encoding.dicts import DictEncoder
from driftsieve.sources.encoding.features import FeatureError, csr_of_rows, index_type, sort_rows
from driftsieve.sources.encoding.json_table import JsonTable, read_lines
from driftsieve.sources.encoding.row_checks import ROW_ERRORS
from driftsieve.sources.encoding.tables import second
from driftsieve.sources.files import text
from driftsieve.sources.files.paths import quick_pyarrow

_NEW = -2  # stands for the index of a feature


class _NotPlainError(ValueError):
    """The rows must be encoded one by one."""


class LineEncoder(DictEncoder):
    """Encoder of JSON lines, with the result of ``DictEncoder`` on their objects.

    Lines of flat objects with known keys and kinds of values are encoded as columns. Only rows with
    new features, and chunks with bad or unusual rows, are encoded row by row.
    """

    _n_bytes = 0  # number of bytes so far

    def parsing(self, lines: Sequence[bytes | str]) -> Callable[[], JsonTable | None]:
        """Return a function that parses the lines in any thread."""
        n_bytes = sum(map(len, lines))
        self._n_bytes += n_bytes
        first = _object(lines[0])
        n_keys = max(len(self._is_text), len(first))
        pa = quick_pyarrow(self._n_bytes)
        if pa is None or isinstance(first, str) or n_keys * len(lines) > n_bytes:
            return lambda: None  # rows without most of the keys are faster one by one
        kinds = {key: str if is_text else float for key, is_text in self._is_text.items()}
        return partial(read_lines, pa, lines, first, kinds)

    def encode_lines(self, lines: Sequence[bytes | str], table: JsonTable | None) -> Rows:
        """Return the encoded rows, given the result of ``parsing``."""
        before = self._decided
        try:
            encoded = None if table is None else self._encoded(table, lines)
        except (FeatureError, *ROW_ERRORS):
            self._undo(before)
            encoded = None
        if encoded is None:
            return self.encode([_object(line) for line in lines])
        self._note_numbers(before[3])
        return Rows(len(lines), encoded)

    def _encoded(self, table: JsonTable, lines: Sequence[bytes | str]) -> Encoded:
        self._decide(lines[0])
        weight = None if self._weight is None else _known(table.numbers, self._weight)
        if weight is not None and not ((weight >= 0) & (weight <= MAX_WEIGHT)).all():
            raise _NotPlainError
        t = None if self._time is None else self._times(table)
        y = self._label_column(table)
        X = self._matrix(table, lines)
        features = self._features
        has_dates = bool(self._has_dates)
        return Encoded(X, y, weight, t, features.names, features.ignored, has_dates=has_dates)

    def _decide(self, line: bytes | str) -> None:
        """Encode one row alone, which adds its features and decides the kinds of its keys."""
        self._row(_object(line))
        if not all(key in self._features for _, key in self._undecided):
            raise _NotPlainError
        self._undecided.clear()

    def _times(self, table: JsonTable) -> NDArray[np.float64]:
        if not self._has_dates:
            return _known(table.numbers, self._time)
        dates = table.texts.get(self._time)
        if dates is None:
            raise _NotPlainError
        t = np.array([*map(second, dates.values), math.nan]).take(dates.codes)
        return _known({"t": t}, "t")

    def _label_column(self, table: JsonTable) -> NDArray[Any]:
        if self._labels.kind == "strings":  # and labels that are categories
            labels = table.texts.get(self._target)
            if labels is None or (labels.codes < 0).any():
                raise _NotPlainError
            return labels.array()
        if self._labels.kind == "booleans":
            return _known(table.booleans, self._target).astype(bool)
        y = _known(table.numbers, self._target)
        if ((y != np.floor(y)) | (np.abs(y) >= 2**53)).any():
            raise _NotPlainError
        return y

    def _matrix(self, table: JsonTable, lines: Sequence[bytes | str]) -> Any:
        names = [name for name in table.names if name not in self._special]
        for name in names:
            if name not in self._is_text and not np.isnan(table.numbers.get(name, 0.0)).all():
                raise _NotPlainError  # a key without a value so far, which is not in the first row
        texts = [name for name in names if self._is_text.get(name)]
        places = self._places(table, texts, lines)
        features = self._features
        numeric = [name for name in names if not self._is_text.get(name)]
        if not all(name in features for name in numeric):
            raise _NotPlainError  # beyond the limits
        numeric.sort(key=features.__getitem__)
        data: Any = np.empty((len(lines), len(names)))
        indices: Any = np.empty(data.shape, index_type(len(features)))
        for j, name in enumerate(numeric):
            data[:, j], indices[:, j] = self._numbers(table, name), features[name]
        for j, place in enumerate(places, len(numeric)):
            data[:, j], indices[:, j] = place >= 0, place
        if places:  # canonical CSR
            sort_rows(indices, data)
        return csr_of_rows(data, indices, len(features))

    def _numbers(self, table: JsonTable, name: str) -> NDArray[np.float64]:
        """Return the numbers of a key: 0 if absent, NaN if null."""
        values = table.booleans.get(name) if name in table.booleans else table.numbers.get(name)
        if values is None:
            raise _NotPlainError  # text
        missing = np.isnan(values)
        if not missing.any():
            return values
        if name not in table.absent:
            if table.nulls_are_missing is None:
                raise _NotPlainError
            if table.nulls_are_missing:
                if not self._allows_nan:
                    raise _NotPlainError
                return values
        return np.where(missing, 0.0, values)

    def _places(
        self, table: JsonTable, names: list[str], lines: Sequence[bytes | str]
    ) -> list[NDArray[np.int64]]:
        """Return the feature of each row for each key of text, -1 without one."""
        if not all(name in table.texts for name in names):
            raise _NotPlainError  # numbers
        features, rows = self._features, set[int]()
        for name in names:
            new = {value for value in table.texts[name].values if (name, value) not in features}
            rows.update(table.texts[name].first_rows(new))
        for row in sorted(rows):  # in the order of any other split of the rows into batches
            self._decide(lines[row])
        places = []
        for name in names:
            known = [features.get((name, value), _NEW) for value in table.texts[name].values]
            if _NEW in known:
                raise _NotPlainError  # beyond the limits
            places.append(table.texts[name].look_up(known, -1))
        return places


def _known(columns: Mapping[str, NDArray[np.float64]], name: str) -> NDArray[np.float64]:
    """Return a column that is present and has no missing value."""
    values = columns.get(name)
    if values is None or not np.isfinite(values).all():
        raise _NotPlainError
    return values


def _object(line: bytes | str) -> dict[str, Any] | str:
    """Return the object, or the cause of a bad line."""
    if isinstance(line, str):
        return line
    try:
        value = json.loads(line.decode())
        # half of a surrogate pair is not valid text, and cannot be stored in a file
        if b"\\u" in line:
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeDecodeError as problem:
        return text.not_utf8(problem)
    except UnicodeEncodeError as problem:
        return f"A line must be valid Unicode, got {problem.object[problem.start]!a}."
    except (ValueError, RecursionError) as problem:
        return f"A line must be valid JSON: {problem}."
    if isinstance(value, dict):
        return value
    return f"A line must be a JSON object, got {str(value)[:40]!r}."
