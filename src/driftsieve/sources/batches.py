"""Batches: the iterator over validated batches of a source, with counts."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from typing import Literal, cast

import numpy as np

from driftsieve._arguments import arg
from driftsieve.batch import Batch, Missing
from driftsieve.exceptions import RowError, SourceError
from driftsieve.sources.base import Encoded, Part, Rows

OnError = Literal["raise", "skip"]
N_REASONS = 10


class Batches(Iterator[Batch]):
    """Iterator over the batches of a source, with counts that are valid at any time.

    Attributes
    ----------
    rows_read : int
        Number of rows delivered plus ``rows_skipped``.
    rows_skipped : int
        Number of bad rows that were skipped.
    skip_reasons : list of str
        The first few skipped rows and why.
    values_ignored : int
        Number of values of features beyond ``max_features``, which are left out of rows. It
        includes rows before ``skip_rows``.
    values_before : tuple of int
        Bounds of the part of ``values_ignored`` in the rows before ``skip_rows``.
    bytes_read, total_bytes : int
        Progress through the files. The total is None if unknown.
    files : tuple of str
        Names of the files.

    See Also
    --------
    driftsieve.as_batches : Returns one.

    Examples
    --------
    >>> import driftsieve as ds
    >>> batches = ds.as_batches([({"size": 2}, "ham"), ({"size": None}, "spam")], on_error="skip")
    >>> [batch.n_rows for batch in batches], batches.rows_read, batches.rows_skipped
    ([1], 2, 1)
    >>> print(batches.skip_reasons[0])
    row 1: Input X contains NaN, column 0 ('size'). Pass missing="ignore" to leave missing
    values out.
    """

    def __init__(
        self, parts: Sequence[Part], *, missing: Missing, on_error: OnError, skip_rows: int
    ) -> None:
        self.rows_read = 0
        self.rows_skipped = 0
        self.values_ignored = 0
        self.values_before = 0, 0
        self.skip_reasons: list[str] = []
        self.bytes_read = 0
        sizes = [part.size for part in parts]
        self.total_bytes = None if None in sizes else sum(cast("list[int]", sizes))
        self.files = tuple(part.name for part in parts if part.name is not None)
        self._missing = missing
        self._on_error = on_error
        self._resumed = 0
        self._parts = parts
        self._stream = self._run(parts, skip_rows)

    @property
    def rows_delivered(self) -> int:
        """Number of rows in the batches so far."""
        return self.rows_read - self.rows_skipped

    @property
    def position(self) -> int:
        """Value of ``skip_rows`` with which ``as_batches`` continues after the last batch."""
        return self._resumed + self.rows_read

    @property
    def columns(self) -> dict[str, str]:
        """Kind of each column, ``"numbers"`` or ``"text"``, once rows were read.

        Empty for sources without columns.
        """
        return self._parts[0].columns() if self._parts else {}

    def __next__(self) -> Batch:
        return next(self._stream)

    def close(self) -> None:
        """Close the open file and end the iteration.

        Examples
        --------
        >>> import driftsieve as ds
        >>> batches = ds.as_batches([({"size": 2}, "ham"), ({"size": 3}, "spam")], batch_size=1)
        >>> batches.close()
        >>> list(batches)
        []
        """
        self._stream.close()

    def _run(self, parts: Sequence[Part], skip_rows: int) -> Generator[Batch]:
        for part in parts:
            bytes_before, row = self.bytes_read, 0
            with closing(_named(part)) as chunks:
                for rows in chunks:
                    # The rows before skip_rows were read by an earlier run: they are encoded
                    # again, because the features they bring must come in the same order.
                    resumed = min(skip_rows - self._resumed, rows.n_read)
                    batch, bad = self._validated(part.name, rows, row, resumed)
                    row += rows.n_read
                    self._resumed += resumed
                    self.rows_read += rows.n_read - resumed
                    self.rows_skipped += len(bad)
                    if rows.encoded is not None:
                        self._count_values(rows.encoded.values_ignored, resumed, rows.n_read)
                    self.skip_reasons += bad[: N_REASONS - len(self.skip_reasons)]
                    self.bytes_read = bytes_before + rows.bytes_read
                    if batch is not None and batch.n_rows:
                        yield batch
            self.bytes_read = bytes_before + (part.size or 0)
        if self.files and self.position == 0:
            one = len(self.files) == 1
            which = "The file" if one else f"At least one of {len(self.files)} files"
            cause = f"{which} must have rows, got none."
            raise SourceError(cause, self.files[0] if one else None)
        if self._resumed < skip_rows:
            raise SourceError(f"skip_rows must be at most {self._resumed}, got {skip_rows}.")

    def _count_values(self, ignored: int, resumed: int, n_read: int) -> None:
        if resumed:  # if only some of the rows are resumed, it is unknown which have the values
            least = self.values_ignored if resumed < n_read else ignored
            self.values_before = least, ignored
        self.values_ignored = ignored

    def _validated(
        self, name: str | None, rows: Rows, row: int, resumed: int
    ) -> tuple[Batch | None, list[str]]:
        """Return the rows from ``resumed`` on as a batch, and an error for each skipped row."""

        def error(offset: int, cause: str) -> SourceError:
            where = f"row {row + offset}" if rows.lines is None else f"line {rows.lines[offset]}"
            return SourceError(cause, name, where)

        def refused(offset: int, cause: str) -> SourceError:
            problem = error(offset, cause)
            if "Pass " not in cause and not cause.startswith("Unknown label type"):
                problem.add_note(f"Pass {arg('on_error', 'skip')} to leave such rows out.")
            return problem

        bad = {offset: cause for offset, cause in rows.bad.items() if offset >= resumed}
        if bad and self._on_error == "raise":
            raise refused(min(bad), bad[min(bad)])
        batch = None
        if rows.encoded is not None:
            kept = rows.kept
            encoded = rows.encoded
            if encoded.stop is not None:
                offset, cause = encoded.stop
                raise error(int(kept[offset]), cause)
            if resumed:
                encoded, kept = encoded.take(kept >= resumed), kept[kept >= resumed]
            try:
                batch, causes = self._usable(encoded, len(kept))
            except RowError as problem:
                raise refused(int(kept[problem.row]), problem.cause) from problem
            except (ValueError, TypeError) as problem:
                raise SourceError(problem, name) from problem
            bad |= {int(kept[offset]): cause for offset, cause in causes.items()}
        return batch, [str(error(offset, bad[offset])) for offset in sorted(bad)]

    def _usable(self, encoded: Encoded, n_rows: int) -> tuple[Batch, dict[int, str]]:
        """Return the valid rows as a batch, and the error of each of the others."""
        try:
            return self._batch(encoded), {}
        except RowError:
            if self._on_error == "raise":
                raise
        causes = self._bad_rows(encoded, 0, n_rows)
        return self._batch(encoded.take(np.delete(np.arange(n_rows), list(causes)))), causes

    def _batch(self, encoded: Encoded) -> Batch:
        return Batch.of(
            encoded.X,
            encoded.y,
            sample_weight=encoded.weight,
            time=encoded.t,
            missing=self._missing,
            feature_names=encoded.names,
            has_dates=encoded.has_dates,
        )

    def _bad_rows(self, encoded: Encoded, start: int, stop: int) -> dict[int, str]:
        """Return the error of each invalid row, which are found by bisection."""
        try:
            self._batch(encoded.take(slice(start, stop)))
        except RowError as problem:
            if stop - start == 1:
                return {start: problem.cause}
            middle = (start + stop) // 2
            return self._bad_rows(encoded, start, middle) | self._bad_rows(encoded, middle, stop)
        return {}


def _named(part: Part) -> Generator[Rows]:
    """Read the part, and add the file to errors that do not name it."""
    try:
        yield from part.read()
    except SourceError as problem:
        if problem.file or part.name is None:
            raise
        raise SourceError(problem, part.name) from problem
