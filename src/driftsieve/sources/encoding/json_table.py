"""JSON lines as an Arrow table, if that gives the same result as the json module."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftsieve.sources.encoding.codes import Codes, numbers_of_arrow

_ODD_ESCAPE = re.compile(rb"\\u(?:[dD][89a-fA-F]|0000)")  # parts of surrogate pairs, NUL


class JsonTable(NamedTuple):
    """Flat JSON objects with values of one kind for each key."""

    numbers: dict[str, NDArray[np.float64]]  # NaN for missing numbers
    booleans: dict[str, NDArray[np.float64]]
    texts: dict[str, Codes]
    absent: frozenset[str]  # keys that no object has
    # otherwise they are absent, because Arrow does not distinguish; None if unknown
    nulls_are_missing: bool | None

    @property
    def names(self) -> list[str]:
        return [*self.numbers, *self.booleans, *self.texts]

    @classmethod
    def of(cls, table: Any, block: bytes) -> JsonTable | None:
        """Return the columns of an Arrow table; None if it has other types, NaN or infinity."""
        columns = dict(zip(table.column_names, table.columns, strict=True))
        parts: dict[str, dict[str, Any]] = {"numbers": {}, "booleans": {}, "texts": {}}
        for name, column in columns.items():
            kind = str(column.type)
            if kind == "string":
                parts["texts"][name] = Codes.of_arrow(column, str)
            elif kind == "null":
                parts["numbers"][name] = np.full(len(column), np.nan)
            elif kind in ("double", "int64", "bool"):
                plain = column.cast("uint8") if kind == "bool" else column
                values = numbers_of_arrow(plain).astype(np.float64, copy=False)
                if np.count_nonzero(np.isfinite(values)) + column.null_count < len(values):
                    return None
                parts["booleans" if kind == "bool" else "numbers"][name] = values
            else:
                return None
        absent = frozenset(
            name
            for name, column in columns.items()
            if column.null_count == len(column) and f'"{name}"'.encode() not in block
        )
        used = {name: column for name, column in columns.items() if name not in absent}
        return cls(**parts, absent=absent, nulls_are_missing=_nulls_are_missing(used, block))


def _nulls_are_missing(columns: Mapping[str, Any], block: bytes) -> bool | None:
    """Return whether all nulls were null, or all absent; None if this is not known.

    Every key of a flat object is followed by a colon, and all other colons are in strings.
    """
    n_nulls = sum(column.null_count for column in columns.values())
    if not n_nulls or b"null" not in block:
        return False
    if b"\\" in block or any(":" in name for name in columns):
        return None
    import pyarrow.compute as pc

    texts = [column for column in columns.values() if str(column.type) == "string"]
    in_texts = sum(pc.sum(pc.count_substring(text, ":")).as_py() or 0 for text in texts)
    n_cells = sum(map(len, columns.values()))
    n_absent = n_cells - (block.count(b":") - in_texts)
    return {0: True, n_nulls: False}.get(n_absent)


def read_lines(
    pa: Any, lines: Sequence[bytes | str], first: Mapping[str, Any], kinds: Mapping[str, Any]
) -> JsonTable | None:
    """Return the objects on the lines, or None if one of them may not be valid.

    The values of the first object decide the types; ``kinds`` has the types of keys that it does
    not have.
    """
    import pyarrow.json as pj

    block = _plain_block(lines)
    if block is None:
        return None
    types = {**kinds, **{key: type(value) for key, value in first.items() if value is not None}}
    names = {str: pa.string(), bool: pa.bool_(), int: pa.float64(), float: pa.float64()}
    schema = pa.schema([(key, names[kind]) for key, kind in types.items() if kind in names])
    try:
        table = pj.read_json(
            pa.BufferReader(block),
            pj.ReadOptions(use_threads=False, block_size=len(block) + 1),
            pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="infer"),
        )
    except (pa.ArrowException, OverflowError):
        return None
    return JsonTable.of(table, block) if len(table) == len(lines) else None


def _plain_block(lines: Sequence[Any]) -> bytes | None:
    """Return lines as one text if each has flat objects and all is valid Unicode, otherwise None.

    A line that begins with { and ends with } has complete objects, unless they are nested.
    """
    try:
        block = b"".join(lines)
        if not block.isascii():
            block.decode()
    except (TypeError, UnicodeDecodeError):  # a line that is too long is a str
        return None
    ends = {line[-3:] for line in lines[:-1]} | {lines[-1].rstrip(b"\r\n")[-1:] + b"\n"}
    is_flat = {line[:1] for line in lines} == {b"{"} and all(
        end.endswith((b"}\n", b"}\r\n")) for end in ends
    )
    if not is_flat or (b"\\" in block and _ODD_ESCAPE.search(block)):
        return None
    return block
