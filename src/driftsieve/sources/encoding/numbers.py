"""Conversion of text to numbers: missing values, decimal signs, exact labels."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Literal

from driftsieve._arguments import arg
from driftsieve._rows.labels import LARGE_LABEL
from driftsieve.exceptions import SourceWarning

DecimalSign = Literal[".", ","]

MISSING = frozenset(
    (
        *("", "?", "NA", "N/A", "n/a", "<NA>", "#N/A", "#N/A N/A", "#NA", "null", "NULL", "None"),
        *("NaN", "nan", "-NaN", "-nan", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
    )
)
"""Marks of a missing value in any column: those of pandas, and the question mark."""

NOT_A_NUMBER = frozenset(
    mark.lower()
    for mark in (
        *MISSING,
        *("-", "--", "---", ".", "..", "...", "*", "none", "nil", "n.a.", "n.a", "nat"),
        *("(null)", "\\N", "#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NUM!", "#NAME?"),
    )
)
"""Marks of a missing number, in lower case. In a column of text ``-`` or ``none`` is a value."""

_SPELLINGS = (str, str.upper, str.lower, str.title, str.capitalize)
# Digits with thousands separators, a decimal sign, and a unit before or after.
_LIKE = re.compile(
    r"[-+(]?\s?[$€£¥₹]?\s?"
    r"(?:\d{1,3}(?:[.,'’ \u00a0\u202f]\d{3})+(?:[.,]\d+)?|\d+(?:[.,]\d*)?|[.,]\d+)"
    r"(?:[eE][-+]?\d+)?\s?[$€£¥₹%°]?\)?"
)


class Numbers:
    """Reader of the numbers of a csv file, with its marks of missing values and its decimal sign.

    >>> numbers = Numbers(na=["-9"], decimal=",")
    >>> numbers.number("3,5"), numbers.number("-9"), numbers.is_number("3.5")
    (3.5, nan, False)
    """

    def __init__(self, na: Iterable[str] = (), decimal: DecimalSign = ".") -> None:
        self.decimal = decimal
        self._na = frozenset(mark.strip() for mark in na)
        self._missing = MISSING | self._na

    @property
    def given_marks(self) -> list[str]:
        """Marks of missing values from the option ``na``, which may be numbers."""
        return sorted(self._na)

    @property
    def marks(self) -> list[str]:
        """Usual spellings of the marks of a missing number, for readers that need a list."""
        usual = {spell(mark) for mark in NOT_A_NUMBER for spell in _SPELLINGS}
        return sorted(usual | self._missing)

    def is_missing(self, cell: str) -> bool:
        """Return whether a cell of a text column is missing."""
        return cell in self._missing or cell.isspace() or cell.strip() in self._na

    def known(self, cells: Sequence[str]) -> list[str | None]:
        """Return the cells of a text column, None for missing ones."""
        missing = {cell for cell in set(cells) if self.is_missing(cell)}
        return [None if cell in missing else cell for cell in cells] if missing else list(cells)

    def is_missing_number(self, cell: str) -> bool:
        """Return whether a cell of a column of numbers is missing."""
        mark = cell.strip()
        return mark.lower() in NOT_A_NUMBER or mark in self._na

    def number(self, cell: str) -> float:
        """Return the number in a cell, NaN if missing; raise ValueError for text."""
        return math.nan if self.is_missing_number(cell) else float(self._plain(cell))

    def label(self, cell: str) -> float:
        """Return the number in a cell, as an integer if float64 has too few digits."""
        value = self.number(cell)
        if not 2**53 <= abs(value) < math.inf:
            return value
        exact = Decimal(self._plain(cell))
        if exact != int(exact) or not -(2**63) <= exact < 2**63:
            raise ValueError(LARGE_LABEL)
        return int(exact)

    def is_number(self, cell: str) -> bool:
        """Return whether a cell has a number that is not missing."""
        try:
            return not math.isnan(self.number(cell))
        except ValueError:
            return False

    def are_numbers(self, cells: Sequence[str]) -> bool:
        """Return whether all cells are numbers or missing, by a quick check that may say no."""
        try:
            list(map(float, cells))
        except ValueError:
            return False
        return self.decimal == "." and "_" not in "".join(cells)

    def _plain(self, cell: str) -> str:
        """Return a cell as text for ``float``."""
        if "_" in cell or (self.decimal == "," and "." in cell):  # Python accepts 1_000
            raise ValueError(cell)
        return cell.replace(self.decimal, ".")


def is_like_number(cell: str) -> bool:
    """Return whether a cell looks like a number: also ``1,234.5``, ``3,5``, ``$5`` and ``12 %``."""
    text = cell.strip()
    if len(text) > 2 and text[0] == text[-1] == "'":
        text = text[1:-1]
    return _LIKE.fullmatch(text) is not None


def is_grouped(cell: str) -> bool:
    """Return whether all commas may be thousands separators: ``1,234,567``."""
    return re.fullmatch(r"\s*[-+]?\d{1,3}(?:,\d{3})+\s*", cell) is not None


def note_numbers(what: str, name: str, value: str) -> None:
    """Warn of a column or key with numbers as text; ``value`` is an example."""
    warnings.warn(
        f"{what.capitalize()} {name!r} holds numbers as text, such as {value!r}, so each value is "
        f"a feature. Convert them to numbers, or pass {arg('categorical', name)} if they are "
        "codes.",
        SourceWarning,
        stacklevel=3,
    )
