"""Validation of class labels, and the errors for invalid ones."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftsieve.exceptions import RowError

KINDS = {"b": "booleans", "i": "integers", "u": "integers", "U": "strings"}  # of numpy
LARGE_LABEL = "Labels must fit 64-bit integers, got a larger one. Convert labels to text."


def labels_of(y: Any) -> NDArray[Any]:
    """Return one array of integers, booleans or strings; raise RowError for invalid labels."""
    refuse_masked(y, "y")
    # numpy would convert the number in ["a", 1] to a string
    labels = np.asarray(y, dtype=object) if isinstance(y, list | tuple) else np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"y should be a 1d array, got an array of shape {labels.shape} instead.")
    if labels.dtype.kind in "OT":
        labels = _labels_of_objects(labels.tolist())
    kind = labels.dtype.kind
    if kind == "f":
        return _integral(labels)
    if kind == "c":
        raise ValueError(f"Complex data not supported: y has dtype {labels.dtype}.")
    if kind not in "iubU":
        raise TypeError(other_kind(None, f"y of dtype {labels.dtype}."))
    return labels


def _labels_of_objects(values: list[Any]) -> NDArray[Any]:
    """Return objects as one array of strings or numbers; raise RowError for invalid ones."""
    types = set(map(type, values))
    kinds = set(map(_kind, types))
    if kinds <= {"strings"}:
        return np.asarray(values, dtype=np.str_)
    if types == {int, float}:  # numpy would round integers that float64 cannot represent
        values = [int(v) if v == v // 1 and abs(v) < 2**63 else v for v in values]
        types = set(map(type, values))
    if types == {int}:
        return large_integers(values)
    if kinds in ({"booleans"}, {"integers"}):
        return np.asarray(values)
    checks = LabelChecks()
    for row, value in enumerate(values):
        if is_missing_label(value):
            raise RowError(f"Input y contains a missing label: {value}", row)
    for row, value in enumerate(values):
        try:
            checks.check(value)
        except TypeError as problem:
            raise TypeError(f"{problem} at row {row}.") from None
    raise AssertionError(kinds)


class LabelChecks:
    """Check of labels that come one by one. They must be of the kind of the first one.

    >>> checks = LabelChecks()
    >>> checks.check("ham")
    'ham'
    >>> checks.check(1)
    Traceback (most recent call last):
    ...
    TypeError: Labels must be strings, as in earlier rows, got 1 of type int
    """

    def __init__(self) -> None:
        self.kind: str | None = None

    def check(self, label: Any) -> Any:
        """Return the label, None if missing; raise TypeError or ValueError if not valid."""
        if label is None:
            return label
        kind = _kind(type(label))
        if kind is None or kind != (self.kind or kind):
            got = f"{label!r} of type {type(label).__name__}"
            raise TypeError(other_kind(self.kind, got))
        if isinstance(label, int) and not -(2**63) <= label < 2**63:
            raise ValueError(LARGE_LABEL)
        if isinstance(label, float) and 2**53 <= abs(label) < math.inf:
            raise ValueError(
                "Labels of 2**53 and more must be integers to be exact, got a float. Convert them."
            )
        self.kind = kind
        return label


def other_kind(known: str | None, got: str) -> str:
    """Return the message for labels of an invalid kind, or of another kind than before."""
    wanted = f"{known}, as in earlier rows" if known else "integers, booleans or strings"
    return f"Labels must be {wanted}, got {got}"


def is_missing_label(label: Any) -> bool:
    """Whether it is None, NaN, or the NA or NaT of pandas."""
    return is_none_or_na(label) or bool(label != label)


def is_none_or_na(value: Any) -> bool:
    """Return whether it is None or the NA of pandas, which has no truth value."""
    return value is None or value is getattr(sys.modules.get("pandas"), "NA", None)


def _kind(of: type) -> str | None:
    """Return the kind of labels of a type. Floats must be integral, which is checked later."""
    if issubclass(of, str):
        return "strings"
    if issubclass(of, bool | np.bool_):
        return "booleans"
    return "integers" if issubclass(of, int | float | np.integer | np.floating) else None


def _integral(labels: NDArray[Any]) -> NDArray[np.int64]:
    labels = labels.astype(np.promote_types(labels.dtype, np.float64), copy=False)
    bad = ~np.isfinite(labels)
    if bad.any():
        row = int(bad.argmax())
        kind = "NaN" if np.isnan(labels[row]) else "infinity"
        raise RowError(f"Input y contains {kind}", row)
    bad = (labels != np.floor(labels)) | (np.abs(labels) >= 2.0**63)
    if bad.any():
        row = int(bad.argmax())
        raise RowError(
            "Unknown label type: continuous. Labels must be strings, booleans or whole numbers, "
            f"got {float(labels[row])}",
            row,
            ". Cut a numeric target into a few classes first.",
        )
    return labels.astype(np.int64)


def refuse_masked(values: Any, what: str) -> None:
    """Raise TypeError for a masked array, because numpy would ignore the mask."""
    if np.ma.isMaskedArray(values):
        raise TypeError(f"{what} must not be a masked array. Leave out the masked rows.")


def large_integers(labels: list[int]) -> NDArray[Any]:
    """Return large integers as labels with all digits, which numpy could lose.

    >>> large_integers([2**64 - 1, 0])
    array([18446744073709551615,                    0], dtype=uint64)
    """
    low, high = min(labels), max(labels)
    if -(2**63) <= low <= high < 2**63:
        return np.array(labels, dtype=np.int64)
    if 0 <= low <= high < 2**64:
        return np.array(labels, dtype=np.uint64)
    raise ValueError(
        f"Labels must fit one type of 64-bit integers, got {low} to {high}. Number the classes "
        "from 0, or pass strings."
    )


def check_text(texts: Iterable[str], what: str) -> None:
    """Raise ValueError for half of a surrogate pair, which is not valid text."""
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError as problem:
            raise ValueError(
                f"{what} must be valid Unicode, got {text!r}, whose character {problem.start} is "
                "half of a surrogate pair."
            ) from problem
