"""Decisions from the first rows of a csv file: whether there is a header, and the column kinds."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

from driftsieve._arguments import arg
from driftsieve.exceptions import SourceError
from driftsieve.sources.base import ColumnRef, Options
from driftsieve.sources.encoding.numbers import Numbers, is_grouped, is_like_number
from driftsieve.sources.encoding.tables import find_column, is_digit_date, is_position, second

SAMPLE, SAMPLE_BYTES = 4096, 1_000_000
"""Number of rows that are read before the first batch of any size; fewer if rows are long."""

_MANY = 10  # number of rows from which on a label that occurs only once is suspicious
_ENOUGH = 100  # number of values from which on a text column without repeated values is noted
_NOTED = 0.1  # share of numbers from which on a warning about a text column is due
_DAY = r"(0?[1-9]|[12]\d|3[01])"
_OTHER_DATE = re.compile(
    rf"({_DAY}([./-]){_DAY}\3(\d{{4}}|\d{{2}})|\d{{4}}([./]){_DAY}\6{_DAY})( .*)?"
)
"""Dates in forms that are not read as times: 31.1.2020, 1/31/20, 2020/1/31."""

Cells = Sequence[str]


def has_header(first: Cells, rows: Sequence[Cells], options: Options, numbers: Numbers) -> bool:
    """Return whether the first row is a header.

    It is one if it has no number, or a name that an option gives. Otherwise the other rows decide:
    text above a column of numbers is a name, and so is a row of the numbers from 0 or 1 on. Raise
    SourceError if a row of integers may be either.
    """
    named = (*options.roles.values(), *options.categorical, *options.drop)
    names = (name for name in named if isinstance(name, str) and name in first)
    if any(not is_position(name, len(first)) for name in names):
        return True
    if not any(map(numbers.is_number, first)):
        return True
    target = _position(options.target, len(first))
    if target is None:
        return False
    label, labels = first[target], [row[target] for row in rows]
    known = [cell for cell in labels if not numbers.is_missing_number(cell)]
    codes = {_position(column, len(first)) for column in options.categorical}
    is_text = not (numbers.is_number(label) or numbers.is_missing_number(label))
    if is_text and known and target not in codes and all(map(numbers.is_number, known)):
        return True
    is_odd = len(known) >= _MANY and label not in known
    counts = ([str(i) for i in range(start, start + len(first))] for start in (0, 1))
    if list(first) in counts:
        return is_odd or len(first) >= _MANY
    looks_so = len(set(first)) == len(first) and all(map(_may_be_name, first))
    if is_odd and looks_so and len(set(known)) <= len(known) / 2:
        raise SourceError(
            "The first row must be clearly a header or data, got one that may be either (no other "
            f"row has its label {label!r}). Pass {arg('header', True)} or {arg('header', False)}."
        )
    return False


def _position(wanted: ColumnRef | None, n_columns: int) -> int | None:
    names = [f"x{i}" for i in range(n_columns)]
    try:
        return None if wanted is None else names.index(find_column(names, wanted))
    except SourceError:
        return None


def _may_be_name(cell: str) -> bool:
    return bool(cell.strip()) and "." not in cell


def read_as_text(cells: Sequence[str], numbers: Numbers, *, is_time: bool) -> bool:
    """Return whether a column is text, given the cells of the first rows.

    A column has numbers if at least half of its values are numbers, or if it has no values. Times
    are dates if the first one is like 20200131.
    """
    if not is_time and numbers.are_numbers(cells):
        return False
    counts = Counter(cells)
    known = [value for value in counts if not numbers.is_missing_number(value)]
    if known and is_time and is_digit_date(known[0]):
        return True
    n_numbers = sum(counts[value] for value in known if numbers.is_number(value))
    return n_numbers < sum(counts[value] for value in known) / 2


def note_text(name: str, cells: Sequence[str], numbers: Numbers, becomes: str) -> str | None:
    """Return a warning about a column that is read as text, or None.

    ``becomes`` is what each value becomes: a feature or a class.
    """
    counts = Counter(cells)
    values = [value for value in counts if not numbers.is_missing(value)]
    plain = [value for value in values if numbers.is_number(value)]
    others = [value for value in values if not numbers.is_number(value)]
    like = [value for value in others if is_like_number(value)]
    dates = [value for value in values if not math.isnan(second(value))]
    n_known, n_plain, n_like, n_dates = (
        sum(counts[value] for value in some) for some in (values, plain, like, dates)
    )
    start = f"Column {name!r} is read as text, one {becomes} for each value, although"
    codes = f"{arg('categorical', name)} if it holds codes"
    few = max(1, _NOTED * n_known)
    if n_plain >= max(few, n_like):
        other = max(others, key=counts.__getitem__)
        cause = f"{n_plain:,} of its first {n_known:,} values are numbers"
        return f"{start} {cause}. Pass {arg('na', other)} if that means missing, {codes}."
    if n_like >= few:
        cause = f"values look like numbers, such as {like[0]!r}"
        commas = Numbers(decimal=",")
        is_comma = numbers.decimal == "." and all(map(commas.is_number, like))
        if is_comma and not all(map(is_grouped, like)):  # 1,234 may be a thousand or one
            return f"{start} {cause}. Pass {arg('decimal', ',')}, or {codes}."
        return f"{start} {cause}. Write them without separators and units, or pass {codes}."
    if becomes == "feature" and n_dates >= max(few, n_known / 2):
        cause = f"it holds dates, such as {dates[0]!r}"
        return f"{start} {cause}. Pass {arg('time', name)}, {arg('drop', name)}, or {codes}."
    other_dates = [value for value in values if _OTHER_DATE.fullmatch(value)]
    if becomes == "feature" and sum(counts[v] for v in other_dates) >= max(few, n_known / 2):
        cause = f"it holds dates, such as {other_dates[0]!r}"
        as_time = f"Write them as 2020-01-31 to pass {arg('time', name)}"
        return f"{start} {cause}. {as_time}, or pass {arg('drop', name)}, or {codes}."
    if becomes == "feature" and n_known >= _ENOUGH and len(values) > n_known / 2:
        cause = f"{len(values):,} of its first {n_known:,} values differ, such as {values[0]!r}"
        return f"{start} {cause}. Pass {arg('drop', name)}, or {codes}."
    folded = {value.strip().casefold(): value for value in values}
    for value in values:
        if (other := folded[value.strip().casefold()]) != value:
            return (
                f"Column {name!r} holds values that differ only in case or spaces, such as "
                f"{value!r} and {other!r}. Each is a separate {becomes}."
            )
    return None
