"""DictBank: a bank for rows that come as dictionaries whose keys come and go."""

from __future__ import annotations

import math
import operator
from collections import deque
from collections.abc import Callable, Hashable, Iterable
from functools import partial
from itertools import pairwise
from typing import Any, Literal

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from driftsieve._core import NO_ROOM, TAKEN, RowCollector, Turn
from driftsieve._core import Bank as CoreBank
from driftsieve.bank import Bank, ClockName
from driftsieve.batch import Batch, Missing
from driftsieve.growth import SharedMeter
from driftsieve.limits import Limits
from driftsieve.river.frames import Laid, laid_out
from driftsieve.river.known import NOBODY, Known, Newcomers
from driftsieve.river.one_row import check_types, is_nothing, seconds
from driftsieve.river.room import ROWS, Room
from driftsieve.scores import ScoreFunction
from driftsieve.screener.reading import read_bank
from driftsieve.snapshot import Floats


class DictBank:
    """Features are keys and classes are labels, both anything hashable and known from when they are
    first seen. Rows wait until there is a block of them, which is taken in without a copy, or until
    somebody reads: where a bank would keep them, if it is one bank.

    - ``absent="zero"``: one dense bank for the keys of the first row, and one sparse bank for all
      that come later. Both see every row, so a late feature has its zeros behind it.
    - ``absent="missing"``: a row does not count for a feature it does not have. What comes later
      goes to further dense banks, each twice as wide, that see the rows from then on.

    The limits hold for the banks together and for what waits. A row is held against them before
    anything of it is kept, so that the banks never refuse it later, or only one of them does.

    It is used by one thread at a time. Who comes while another has its turn is turned away.
    """

    def __init__(
        self,
        *,
        absent: Literal["zero", "missing"],
        missing: Missing,
        clock: ClockName,
        limits: Limits,
        **settings: Any,
    ) -> None:
        if absent not in ("zero", "missing"):
            raise ValueError(f'absent must be "zero" or "missing", got {absent!r}.')
        self.absent = absent
        self.missing = missing
        self.clock = clock
        self.ignored = {"rows": 0, "values": 0}
        self._limits = limits
        self._settings = settings
        self._template = self._new_bank()  # complains now, not with the first row
        self._banks = [self._new_bank(), self._new_bank()] if absent == "zero" else []
        self._ends: list[int] = []  # where the columns of each dense bank end, beyond "zero"
        self._known = Known()
        self._taken = 0  # rows that the banks have
        self._n_values = 0  # and values of late features
        self._no_late = sparse.csr_array((0, 0))  # what the last rows had of late features
        self._turned_away = -ROWS  # rows there were when newcomers last found no room
        self._turn = Turn()
        self._collect(0)

    def _new_bank(self) -> Bank:
        missing: Missing = "ignore" if self.absent == "missing" else self.missing
        limits = {name: getattr(self._limits, name) for name in ("max_features", "max_classes")}
        settings = {**self._settings, **limits, "max_bytes": math.inf}
        return Bank(missing=missing, clock=self.clock, **settings)

    @property
    def n_rows(self) -> int:
        return self._taken + len(self._rows)

    @property
    def keys(self) -> list[Hashable]:
        return list(self._known.columns)

    @property
    def labels(self) -> list[Hashable]:
        return list(self._known.classes)

    @property
    def nbytes(self) -> int:
        """Bytes that the state and the waiting rows take."""
        return self._rows.nbytes + sum(bank.nbytes for bank in self._banks)

    # --- rows -----------------------------------------------------------------------------------

    def update_one(
        self, x: dict[Hashable, Any], y: Hashable, w: float = 1.0, t: Any = None
    ) -> None:
        """Take in a row. A bad one raises an error and leaves all as it was."""
        if t is not None and type(t) is not float:
            t = seconds(t)
        try:
            answer = self._rows.append(x, y, w, t)
            if answer == NO_ROOM:
                self.flush()
                answer = self._rows.append(x, y, w, t)
            if answer != TAKEN:
                with self._turn:
                    self._append_new(x, y, w, t)
        except TypeError:
            check_types(x, w, t)
            if self.missing == "error" or not any(map(is_nothing, x.values())):
                raise
            filled = {key: math.nan if is_nothing(value) else value for key, value in x.items()}
            self.update_one(filled, y, w, t)

    def _append_new(self, x: dict[Hashable, Any], y: Hashable, w: float, t: float | None) -> None:
        """A row with a label or a key that is not known yet, or for which there may be no room."""
        trial = self._collector(dict.fromkeys(x, 0), {y: 0}, 0)
        trial.append(x, y, w, t)  # complains, if there is reason to, before anything has changed
        new = self._admit(x, [y], 1)
        if y not in self._known.classes and y not in new.labels:
            self.ignored["rows"] += 1
            return
        self._learn_keys(new)
        known = {key: value for key, value in x.items() if key in self._known.columns}
        self.ignored["values"] += len(x) - len(known)
        if self._rows.append(known, y, w, t) == NO_ROOM:
            self.flush()
            self._rows.make_room(1, len(known))  # it has been admitted
            self._rows.append(known, y, w, t)

    def update_many(
        self, X: Any, y: Iterable[Hashable], w: ArrayLike | None, t: ArrayLike | None
    ) -> None:
        """Take in the rows of a data frame: the same as one by one, its columns the keys of each,
        except that with ``clock="batch"`` they share a tick.
        """
        with self._turn:
            self._take_frame(X, y, w, t)

    def _take_frame(
        self, X: Any, y: Iterable[Hashable], w: ArrayLike | None, t: ArrayLike | None
    ) -> None:
        codes = dict(self._known.classes)
        numbers = [codes.setdefault(label, len(codes)) for label in y]
        batch = Batch.of(X, numbers, sample_weight=w, t=t, missing=self.missing)
        if (batch.t is None) != (self.clock != "time"):
            raise ValueError(f't goes with clock="time", and only with it; it is {self.clock!r}.')
        if not batch.n_rows:
            return
        for time in () if batch.t is None else (batch.t.min(), batch.t.max()):
            self._rows.check(1.0, time)
        names = list(nw.from_native(X, eager_only=True).columns)
        new = self._admit(names, codes, batch.n_rows)
        kept = batch.y < len(self._known.classes) + len(new.labels)
        self.ignored["rows"] += int(np.count_nonzero(~kept))
        if not kept.any():
            return
        self.flush()
        self._learn_keys(new)
        batch, columns = batch.part(kept, batch.n_features), self._known.columns
        self.ignored["values"] += batch.n_rows * sum(name not in columns for name in names)
        laid = laid_out(np.asarray(batch.X), names, columns, self._width, self._fill)
        self._take(laid, batch.y, batch.sample_weight, batch.t)

    def flush(self) -> None:
        """Give the waiting rows to the banks."""
        with self._turn:
            if not len(self._rows):
                return
            dense, data, indices, indptr, codes, weights, times = self._rows.rows()
            self._take(
                Laid(dense, data, indices, indptr),
                codes,
                None if (weights == 1).all() else weights,
                times if self.clock == "time" else None,
            )

    def _take(
        self,
        laid: Laid,
        codes: NDArray[Any],
        weights: NDArray[Any] | None,
        times: NDArray[Any] | None,
    ) -> None:
        # Everything was checked when it came: no need to do so again.
        rows = (codes, weights, times, None, self.missing == "error")
        if self.absent == "zero":
            first, late = self._banks
            parts = [(first, laid.dense)] if self._width else []
            parts.append((late, self._late(laid)))
        else:
            columns = [laid.dense[:, lo:hi] for lo, hi in pairwise([0, *self._ends])]
            parts = list(zip(self._banks, columns, strict=True))
        counts = {
            "_taken": self._taken + len(codes),
            "_n_values": self._n_values + len(laid.data),
        }
        steps: list[Callable[[], object]] = [
            *(bank._taking(Batch(X, *rows)) for bank, X in parts),
            self._rows.clear,
            partial(vars(self).update, counts),
        ]
        # In C from the first to the last, so that a signal comes before all of them or after.
        deque(map(operator.call, steps), 0)
        self._room.make(self._taken, self._n_values)

    def _late(self, laid: Laid) -> sparse.csr_array:
        shape = (len(laid.indptr) - 1, len(self._known.columns) - self._width)
        if len(laid.data):
            values = (laid.data, laid.indices, laid.indptr)
            return sparse.csr_array(values, shape=shape).sorted_indices()
        if self._no_late.shape != shape:  # mostly it is the same, and scipy takes its time
            self._no_late = sparse.csr_array(shape)
        return self._no_late

    def read(self, function: ScoreFunction, n_bins: int, one_class: float) -> Floats:
        """The function of every feature; ``one_class`` for those that met fewer than two."""
        with self._turn:
            self.flush()
            parts = [read_bank(bank, function, n_bins, one_class) for bank in self._banks]
            return np.concatenate([np.empty(0), *parts])[: len(self._known.columns)]

    # --- limits ---------------------------------------------------------------------------------

    def _admit(
        self, keys: Iterable[Hashable], labels: Iterable[Hashable], n_rows: int
    ) -> Newcomers:
        """Who may become known through these rows; LimitError where they may not be taken in.

        Nothing changes but that waiting rows may be taken in.
        """
        keys = list(keys)
        new = self._known.newcomers(keys, labels, self._limits)
        late = sum(self._known.columns.get(key, -1) >= self._width for key in keys)
        choices = [new]
        if self._limits.ignores_new:
            choices += [Newcomers([], new.labels), NOBODY]
        for admitted in choices:
            n_new = 0 if self._starts() else len(admitted.keys)
            if self._has_room(n_rows, n_rows * (late + n_new), admitted):
                return admitted
        raise self._limits.too_large(self.nbytes)

    def _has_room(self, rows: int, values: int, new: Newcomers) -> bool:
        # Newcomers may fill half of the room, so that what is known can go on.
        halved = self._limits.ignores_new and new != NOBODY
        limit = (0.5 if halved else 1.0) * self._limits.bytes
        width = self._width_with(new)
        needed = partial(self._room.needed, math.inf if halved else rows, values, new, width)
        if needed() <= limit:
            return True
        if halved and self.n_rows - self._turned_away < ROWS:
            return False
        self.flush()  # what waits may take less when it no longer does
        found = needed() <= limit
        if halved and not found:
            self._turned_away = self.n_rows
        return found

    # --- what is known --------------------------------------------------------------------------

    def _starts(self) -> bool:
        """Whether the keys that come next are those of the first row."""
        return not self._known.columns and not self.n_rows

    def _width_with(self, new: Newcomers) -> int:
        n_keys = len(self._known.columns) + len(new.keys)
        if self._starts():
            return n_keys
        if self.absent == "zero" or n_keys <= self._width:
            return self._width
        return max(n_keys, 2 * self._width)

    def _learn_keys(self, new: Newcomers) -> None:
        starts = self._starts()
        width = self._width_with(new)
        widens = self.absent == "missing" and width > self._width
        if widens:
            self.flush()
        self._known.add(new)
        if widens:
            bank = self._new_bank()
            if self.clock == "time" and self._banks:  # which had rows of later times, perhaps
                bank._core.catch_up(self._banks[0]._core.now)
            self._banks.append(bank)
            self._ends.append(width)
        if widens or starts:
            self._collect(width)

    @property
    def _fill(self) -> float:
        return 0.0 if self.absent == "zero" else math.nan

    def _collect(self, width: int) -> None:
        dense = self._banks[:1] if self.absent == "zero" else self._banks
        home = dense[0]._core if width and len(dense) == 1 else None  # several get a part each
        rows = self._collector(self._known.columns, self._known.classes, width, home)
        room = Room(self._limits.bytes, self._known, rows, self._new_meter(), width, self._ends)
        room.make(self._taken, self._n_values)
        self._width, self._rows, self._room = width, rows, room  # width: of all dense columns

    def _new_meter(self) -> SharedMeter:
        if self.absent == "zero":
            return SharedMeter([self._banks[0]._core], self._banks[1]._core)
        banks = (*self._banks, self._template)  # the next one that there will be
        return SharedMeter([bank._core for bank in banks], None)

    def _collector(
        self,
        columns: dict[Any, int],
        classes: dict[Any, int],
        width: int,
        home: CoreBank | None = None,
    ) -> RowCollector:
        return RowCollector(
            columns,
            classes,
            width,
            self._fill,
            self.missing == "ignore",
            self.clock == "time",
            self._template.half_life,
            home,
            self._turn,
        )

    def __getstate__(self) -> dict[str, Any]:
        left_out = ("_rows", "_turn", "_room")
        with self._turn:
            self.flush()  # what waits and what does not is no part of the state
            state = {name: v for name, v in vars(self).items() if name not in left_out}
            # all of them now, and not when another thread may have gone on with some
            return {**state, "_banks": [bank.to_bytes() for bank in self._banks]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        n_threads = self._template.n_threads
        self._banks = [Bank.from_bytes(data, n_threads=n_threads) for data in state["_banks"]]
        self._turn = Turn()
        self._collect(self._width)
