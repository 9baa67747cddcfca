"""Columns of text as codes, and columns of Arrow tables as numpy arrays."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Codes(Sequence[str | None]):
    """A column of text: an index into ``values`` for each row, -1 if missing.

    >>> column = Codes(np.array([1, 0, -1]), ["red", "blue"])
    >>> list(column)
    ['blue', 'red', None]
    """

    def __init__(self, codes: NDArray[np.integer[Any]], values: Sequence[str]) -> None:
        self.codes = codes
        self.values = values

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, row: int) -> str | None:  # type: ignore[override]  # without slices
        code = self.codes[row]
        return None if code < 0 else self.values[code]

    def look_up(self, numbers: Sequence[int], missing: int) -> NDArray[np.int64]:
        """Return a number for each row, given one for each value; ``missing`` if it has none."""
        return np.array([*numbers, missing], np.int64).take(self.codes)

    def first_rows(self, wanted: Collection[str]) -> list[int]:
        """Return the first row of each wanted value."""
        if not wanted:
            return []
        places = [i for i, value in enumerate(self.values) if value in wanted]
        found, rows = np.unique(self.codes, return_index=True)
        chosen: list[int] = rows[np.isin(found, places)].tolist()
        return chosen

    def array(self) -> NDArray[Any]:
        """Return the texts, as strings if none is missing."""
        if (self.codes < 0).any() or not self.values:
            return np.fromiter(self, dtype=object, count=len(self))
        return np.array(self.values, dtype=np.str_).take(self.codes)

    @classmethod
    def of_arrow(cls, column: Any, called: Callable[[Any], str | None]) -> Codes:
        """Return the codes of an Arrow column, with new names of its values; None means missing."""
        array = _whole(column)
        encoded = array if hasattr(array, "indices") else array.dictionary_encode()
        names = [*map(called, encoded.dictionary.to_pylist())]
        if None not in names and len(set(names)) == len(names):
            return cls(_numpy(encoded.indices, -1), names)  # type: ignore[arg-type]
        values = [*dict.fromkeys(name for name in names if name is not None)]
        places = {name: i for i, name in enumerate(values)}
        missing = len(names)
        lookup = np.array([*(-1 if name is None else places[name] for name in names), -1])
        return cls(lookup.take(_numpy(encoded.indices, missing)), values)


def numbers_of_arrow(column: Any) -> NDArray[Any]:
    """Return the numbers of an Arrow column, NaN for null, without a copy if possible.

    The conversion of pyarrow imports pandas, which takes longer than reading a small file.
    """
    return _numpy(_whole(column), np.nan)


def _whole(column: Any) -> Any:
    """Join the chunks of an Arrow column."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _numpy(array: Any, missing: float) -> NDArray[Any]:
    validity, data = array.buffers()
    kind = np.dtype(array.type.to_pandas_dtype())
    if data is None:  # no rows
        return np.empty(0, kind)
    values = np.frombuffer(data, kind, len(array), array.offset * kind.itemsize)
    if array.null_count:
        bits = np.unpackbits(np.frombuffer(validity, np.uint8), bitorder="little")
        known = bits[array.offset : array.offset + len(array)].astype(bool)
        values = np.where(known, values, missing)
    return values
