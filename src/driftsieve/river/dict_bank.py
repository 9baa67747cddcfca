"""DictBank: a bank for rows that come as dictionaries whose keys come and go."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from typing import Any, Literal

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from driftsieve._core import RowCollector
from driftsieve.bank import Bank, ClockName
from driftsieve.batch import Batch, Missing
from driftsieve.limits import Limits
from driftsieve.scores import ScoreFunction
from driftsieve.screener.reading import read_bank
from driftsieve.snapshot import Floats

_MOST_ROWS = 256  # a dense bank takes in that many at once without a copy
_MOST_CELLS = 1 << 20  # 8 MB of rows wait at most


class DictBank:
    """Features are keys and classes are labels, both anything hashable and known from when they are
    first seen. Rows wait in a buffer until there are enough of them, or somebody reads.

    Keys that come together get their columns in sorted order, whatever their order in the row.

    - ``absent="zero"``: one dense bank for the keys of the first row, and one sparse bank for all
      that come later. Both see every row, so a late feature has its zeros behind it.
    - ``absent="missing"``: a row does not count for a feature it does not have. What comes later
      goes to further dense banks, each twice as wide, that see the rows from then on.
    """

    def __init__(
        self,
        *,
        absent: Literal["zero", "missing"],
        missing: Missing,
        clock: ClockName,
        **settings: Any,
    ) -> None:
        if absent not in ("zero", "missing"):
            raise ValueError(f'absent must be "zero" or "missing", got {absent!r}.')
        self.absent = absent
        self.missing = missing
        self.clock = clock
        self._taken = 0
        self._settings = settings
        self._index: dict[Hashable, int] = {}
        self._codes: dict[Hashable, int] = {}
        self._banks = [self._new_bank(), self._new_bank()] if absent == "zero" else []
        if absent == "missing":
            self._new_bank()  # complains now, not with the first row
        self._ends: list[int] = []  # where the columns of each dense bank end, beyond "zero"
        self._width = 0  # of all dense columns
        self._collect(0)

    def _new_bank(self) -> Bank:
        missing: Missing = "ignore" if self.absent == "missing" else self.missing
        return Bank(missing=missing, clock=self.clock, **self._settings)

    @property
    def n_rows(self) -> int:
        return self._taken + len(self._rows)

    @property
    def keys(self) -> list[Hashable]:
        return list(self._index)

    @property
    def labels(self) -> list[Hashable]:
        return list(self._codes)

    @property
    def nbytes(self) -> int:
        """Bytes that the state and the waiting rows take."""
        waiting = sum(int(array.nbytes) for array in self._rows.rows())
        return waiting + sum(bank.nbytes for bank in self._banks)

    def update_one(
        self, x: dict[Hashable, Any], y: Hashable, w: float = 1.0, t: float | None = None
    ) -> None:
        """Take in a row. A bad one raises an error and leaves all as it was."""
        waiting = self._rows.append(x, y, w, t) or self._append_new(x, y, w, t)
        if waiting >= self._room:
            self.flush()

    def _append_new(self, x: dict[Hashable, Any], y: Hashable, w: float, t: float | None) -> int:
        """A row with a label or a key that is not known yet."""
        _check_label(y)
        trial = self._collector(dict.fromkeys(x, 0), {y: 0}, 0)
        trial.append(x, y, w, t)  # complains, if there is reason to, before anything has changed
        new = [key for key in x if key not in self._index]
        self._check_limits(len(new), int(y not in self._codes))
        self._register(new)
        self._codes.setdefault(y, len(self._codes))
        return self._rows.append(x, y, w, t)

    def update_many(
        self, X: Any, y: Iterable[Hashable], w: ArrayLike | None, t: ArrayLike | None
    ) -> None:
        """Take in the rows of a data frame: the same as one by one, its columns the keys of each,
        except that with ``clock="batch"`` they share a tick.
        """
        codes = dict(self._codes)
        numbers = [codes.setdefault(label, len(codes)) for label in y]
        new = list(codes)[len(self._codes) :]
        for label in new:
            _check_label(label)
        batch = Batch.of(X, numbers, sample_weight=w, t=t, missing=self.missing)
        if (batch.t is None) != (self.clock != "time"):
            raise ValueError(f't goes with clock="time", and only with it; it is {self.clock!r}.')
        if not batch.n_rows:
            return
        names = list(nw.from_native(X, eager_only=True).columns)
        new_keys = [name for name in names if name not in self._index]
        self._check_limits(len(new_keys), len(new))
        self.flush()
        self._register(new_keys)
        for label in new:
            self._codes[label] = codes[label]
        columns = np.array([self._index[name] for name in names], dtype=np.int64)
        given = np.asarray(batch.X)
        dense = np.full((batch.n_rows, self._width), self._fill)
        dense[:, columns[columns < self._width]] = given[:, columns < self._width]
        late = np.flatnonzero(columns >= self._width)
        late = late[np.argsort(columns[late])]
        self._take(
            dense,
            given[:, late].ravel(),
            np.tile(columns[late] - self._width, batch.n_rows),
            np.arange(batch.n_rows + 1) * len(late),
            batch.y,
            batch.sample_weight,
            batch.t,
        )

    def flush(self) -> None:
        """Give the waiting rows to the banks."""
        if not len(self._rows):
            return
        dense, data, indices, indptr, codes, weights, times = self._rows.rows()
        self._take(
            dense,
            data,
            indices,
            indptr,
            codes,
            None if (weights == 1).all() else weights,
            times if self.clock == "time" else None,
        )
        self._rows.clear()

    def read(self, function: ScoreFunction, n_bins: int, one_class: float) -> Floats:
        """The function of every feature; ``one_class`` for those that met fewer than two."""
        self.flush()
        parts = [read_bank(bank, function, n_bins, one_class) for bank in self._banks]
        return np.concatenate([np.empty(0), *parts])[: len(self._index)]

    @property
    def _fill(self) -> float:
        return 0.0 if self.absent == "zero" else math.nan

    def _collect(self, width: int) -> None:
        self._width = width
        self._rows = self._collector(self._index, self._codes, width)
        self._make_room()

    def _make_room(self) -> None:
        """How many rows may wait: up to the next block of the banks, if there were reads before."""
        most = 1 if self.clock == "batch" else _MOST_CELLS // max(1, self._width)
        most = min(max(1, most), _MOST_ROWS)
        self._room = most - self._taken % most

    def _collector(
        self, columns: dict[Any, int], classes: dict[Any, int], width: int
    ) -> RowCollector:
        return RowCollector(
            columns, classes, width, self._fill, self.missing == "ignore", self.clock == "time"
        )

    def _check_limits(self, n_keys: int, n_labels: int) -> None:
        """Refuse what the banks would refuse when the rows no longer wait."""
        limits = Limits()
        limits.check_features(len(self._index) + n_keys)
        limits.check_classes(len(self._codes) + n_labels)

    def _register(self, new: Iterable[Hashable]) -> None:
        keys: list[Any] = list(new)
        try:
            keys.sort()
        except TypeError:  # of several types
            keys.sort(key=repr)
        first = not self._index
        for key in keys:
            self._index[key] = len(self._index)
        known = len(self._index)
        if self.absent == "missing" and known > self._width:
            self.flush()
            self._banks.append(self._new_bank())
            self._collect(max(known, 2 * self._width))
            self._ends.append(self._width)
        elif first and not self.n_rows:
            self._collect(known)

    def _take(
        self,
        dense: NDArray[Any],
        data: NDArray[Any],
        indices: NDArray[Any],
        indptr: NDArray[Any],
        codes: NDArray[Any],
        weights: NDArray[Any] | None,
        times: NDArray[Any] | None,
    ) -> None:
        # Everything was checked when it came: no need to do so again.
        rows = (codes, weights, times, None)
        self._taken += len(codes)
        self._make_room()
        if self.absent == "zero":
            shape = (len(codes), len(self._index) - self._width)
            late = sparse.csr_array((data, indices, indptr), shape=shape)
            if len(data):
                late = late.sorted_indices()
            if self._width:
                self._banks[0].update_batch(Batch(dense, *rows))
            self._banks[1].update_batch(Batch(late, *rows))
            return
        begin = 0
        for bank, end in zip(self._banks, self._ends, strict=True):
            bank.update_batch(Batch(dense[:, begin:end], *rows))
            begin = end

    def __getstate__(self) -> dict[str, Any]:
        self.flush()  # what waits and what does not is no part of the state
        return {name: value for name, value in vars(self).items() if name != "_rows"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._collect(self._width)


def _check_label(label: Hashable) -> None:
    if label is None or label != label:
        raise ValueError(f"Input y contains a missing label: {label}.")
