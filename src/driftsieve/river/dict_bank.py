"""DictBank: a bank for rows that are dictionaries with changing keys."""

from __future__ import annotations

import math
import operator
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from driftsieve._arguments import check_choice
from driftsieve._core import NO_ROOM, TAKEN, RowCollector, Turn
from driftsieve._core import Bank as CoreBank
from driftsieve._rows.frames import as_frame
from driftsieve._rows.labels import is_none_or_na
from driftsieve._state.limits import Limits, Sizes
from driftsieve._state.settings import check_times, fading_of, refuse_digit_dates
from driftsieve.bank import Bank, ClockName
from driftsieve.batch import Batch, Missing
from driftsieve.memory import LearnedBank, Memory
from driftsieve.memory.reading import AnyBank, bank_from_bytes
from driftsieve.river.bank_pair import BankPair
from driftsieve.river.budget import ROWS, RowBudget
from driftsieve.river.known import Known, Newcomers
from driftsieve.river.layout import KeyedRows, LaidRows
from driftsieve.river.one_row import check_types, seconds
from driftsieve.scores import ScoreFunction
from driftsieve.snapshot import Floats


class DictBank:
    """A bank of rows that are dictionaries: features are keys, and classes are any hashable labels.

    Rows wait until they fill a block, which is added without a copy, or until the bank is read.
    With a single bank they wait in its buffer.

    A dense bank has the keys of the first row, and a sparse bank all later keys. Both get every
    row, so a late feature counts the earlier rows too: its value in them is 0 with
    ``absent="zero"``, and missing with ``absent="missing"``.

    The limits hold for both banks and the waiting rows together. A row is checked before any of it
    is kept, so that neither bank refuses it later.

    It can be used by one thread at a time. Other threads get an error meanwhile.
    """

    def __init__(
        self,
        *,
        absent: Literal["zero", "missing"],
        missing: Missing,
        clock: ClockName,
        limits: Limits,
        learning: Mapping[str, Any] | None = None,
        **settings: Any,
    ) -> None:
        check_choice("absent", absent, "zero", "missing")
        self.absent = absent
        self.missing = missing
        self.clock = clock
        self.ignored = {"rows": 0, "values": 0}
        self._limits = limits
        self._learning = learning  # settings of a LearnedBank; None for a fixed half-life
        self._settings = settings
        self._template = self._new_bank()  # raises for bad settings now, not with the first row
        self._fading = fading_of(settings.get("decay"), settings.get("half_life"))
        self._banks = BankPair(self._new_bank(), self._new_bank())
        if absent == "missing":
            self._banks.late._core.take_absent_as_missing()
        self._known = Known()
        self._taken = 0  # rows in the banks
        self._refused_at = -ROWS  # number of rows when new keys or labels were last refused
        self._turn = Turn()
        self._collect(0)

    def _new_bank(self) -> AnyBank:
        missing: Missing = "ignore" if self.absent == "missing" else self.missing
        limits = {name: getattr(self._limits, name) for name in ("max_features", "max_classes")}
        settings = {**self._settings, **limits, "max_bytes": math.inf}
        if self._learning is None:
            return Bank(missing=missing, clock=self.clock, **settings)
        settings.pop("decay", None)
        return LearnedBank(missing=missing, clock=self.clock, **self._learning, **settings)

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
        """Size of the state and the waiting rows, in bytes."""
        return self._rows.nbytes + self._banks.nbytes

    # --- rows -----------------------------------------------------------------------------------

    def update_one(
        self, x: dict[Hashable, Any], y: Hashable, w: float = 1.0, time: Any = None
    ) -> None:
        """Add a row. A row that is not valid raises an error and has no effect."""
        if time is not None and (type(time) is not float or self._fading == "duration"):
            time = seconds(time, self._fading)
        if self._learning is None:
            self._add_one(x, y, w, time)
            return
        with self._turn:  # also for the review that the row may bring
            self._add_one(x, y, w, time)

    def _add_one(self, x: dict[Hashable, Any], y: Hashable, w: float, time: Any) -> None:
        try:
            answer = self._rows.append(x, y, w, time)
            if answer == NO_ROOM:
                self.flush()
                answer = self._rows.append(x, y, w, time)
            if answer != TAKEN:
                with self._turn:
                    self._append_new(x, y, w, time)
            if self._learning is not None and len(self._rows) >= self._banks.rows_left():
                self.flush()  # reviews are at fixed numbers of rows
        except TypeError:
            check_types(x, y, w, time)
            if self.missing == "error" or not any(map(is_none_or_na, x.values())):
                raise
            filled = {key: math.nan if is_none_or_na(value) else value for key, value in x.items()}
            self._add_one(filled, y, w, time)

    def _append_new(
        self, x: dict[Hashable, Any], y: Hashable, w: float, time: float | None
    ) -> None:
        """Add a row with a new label or key, or one that may exceed a limit."""
        trial = self._collector(dict.fromkeys(x, 0), {y: 0}, 0)
        trial.append(x, y, w, time)  # raises for bad input before any change
        if time is not None and not self.n_rows:
            refuse_digit_dates(self._fading, time)
        codes = {**self._known.classes}
        rows = KeyedRows(
            np.array([list(x.values())], dtype=np.float64),
            list(x),
            np.array([codes.setdefault(y, len(codes))]),
            None if w == 1.0 else np.array([w]),
            None if time is None else np.array([time]),
        )
        new = self._admit(rows, [y])
        if y not in self._known.classes and y not in new.labels:
            self.ignored["rows"] += 1
            self._tick()
            return
        self._learn_keys(new)
        known = {key: value for key, value in x.items() if key in self._known.columns}
        self.ignored["values"] += len(x) - len(known)
        if self._rows.append(known, y, w, time) == NO_ROOM:
            self.flush()
            self._rows.make_room(1, len(known))  # the limits were checked above
            self._rows.append(known, y, w, time)

    def update_many(
        self, X: Any, y: Iterable[Hashable], w: ArrayLike | None, time: ArrayLike | None
    ) -> None:
        """Add the rows of a data frame, as if one by one, with its columns as keys.

        With ``clock="batch"`` they share a tick.
        """
        with self._turn:
            self._take_frame(X, y, w, time)

    def _take_frame(
        self, X: Any, y: Iterable[Hashable], w: ArrayLike | None, time: ArrayLike | None
    ) -> None:
        codes = dict(self._known.classes)
        numbers = [codes.setdefault(label, len(codes)) for label in y]
        batch = Batch.of(X, numbers, sample_weight=w, time=time, missing=self.missing)
        if (batch.time is None) != (self.clock != "time"):
            raise ValueError(
                f'time must be given exactly with clock="time", got clock={self.clock!r}.'
            )
        if not batch.n_rows:
            self._tick()
            return
        for moment in () if batch.time is None else (batch.time.min(), batch.time.max()):
            check_times(self._fading, moment, are_dates=batch.has_dates)
            self._rows.check(1.0, moment)
        if batch.time is not None and not (batch.has_dates or self.n_rows):
            refuse_digit_dates(self._fading, batch.time)
        names: list[Hashable] = [*as_frame(X).columns]
        rows = KeyedRows(np.asarray(batch.X), names, batch.y, batch.sample_weight, batch.time)
        new = self._admit(rows, codes)
        kept = rows.of_classes(len(self._known.classes) + len(new.labels))
        self.ignored["rows"] += batch.n_rows - len(kept.X)
        if not len(kept.X):
            self._tick()
            return
        self.flush()
        self._learn_keys(new)
        columns = self._known.columns
        self.ignored["values"] += len(kept.X) * sum(name not in columns for name in names)
        while len(kept.X) > (left := self._banks.rows_left()) and self.clock != "batch":
            first, kept = kept.split(int(left))
            self._take(first.laid_out(columns, self._width, self._fill))
        self._take(kept.laid_out(columns, self._width, self._fill))

    def _tick(self) -> None:
        """Count a tick without rows: with ``clock="batch"`` every call is a tick."""
        if self.clock == "batch":
            self.flush()
            none = KeyedRows(np.empty((0, 0)), [], np.empty(0, np.int64))
            self._take(none.laid_out({}, self._width, self._fill))

    def flush(self) -> None:
        """Add the waiting rows to the banks."""
        with self._turn:
            if not len(self._rows):
                return
            laid = LaidRows(*self._rows.rows())
            weights = None if np.all(laid.weights == 1) else laid.weights
            times = laid.times if self.clock == "time" else None
            self._take(laid._replace(weights=weights, times=times))

    def _take(self, laid: LaidRows) -> None:
        steps: list[Callable[[], object]] = [
            *self._banks.taking(laid, len(self._known.columns), self.missing),
            self._rows.clear,
            partial(vars(self).update, {"_taken": self._taken + len(laid.codes)}),
        ]
        # A single call of C code, so that a signal comes before or after all of it.
        deque(map(operator.call, steps), 0)
        if self._learning is not None:
            limit = self._limits.bytes - self._rows.nbytes
            self._banks.learn(laid, len(self._known.columns), self.missing, limit)
            self._budget.beside = self._banks.beside(fresh=True)
        self._budget.spend(self._taken, self._known.sizes)

    @property
    def memory(self) -> Memory | None:
        """Summary of the learned memory, or None."""
        with self._turn:
            self.flush()
            bank = next((bank for bank in self._banks if bank.n_features), self._banks.dense)
            return bank.memory if isinstance(bank, LearnedBank) else None

    def read_scores(self, score_func: str | ScoreFunction, n_bins: int, one_class: float) -> Floats:
        """Return the score of every feature; ``one_class`` if there are fewer than two classes."""
        with self._turn:
            self.flush()
            found = self._banks.read_scores(score_func, n_bins, one_class)
            return found[: len(self._known.columns)]

    def read(self, function: ScoreFunction, n_bins: int, one_class: float) -> Floats:
        """Apply the function to every feature; ``one_class`` if it has fewer than two classes."""
        with self._turn:
            self.flush()
            return self._banks.read(function, n_bins, one_class)[: len(self._known.columns)]

    def can_score(self) -> bool:
        """Whether rows of two classes have weight now."""
        with self._turn:
            self.flush()
            return self._banks.can_score()

    # --- limits ---------------------------------------------------------------------------------

    def _admit(self, rows: KeyedRows, labels: Iterable[Hashable]) -> Newcomers:
        """Return the keys and labels that rows may add; raise LimitError beyond a limit.

        If they are refused, the only possible change is that waiting rows are added to the banks.
        """
        known, has_room = self._known, True
        new = known.newcomers(rows.names, labels)
        late = sum(known.columns.get(key, -1) >= self._width for key in rows.names)

        def bytes_with(sizes: Sizes, limit: float, be_sure: bool) -> float:
            nonlocal has_room
            has_room = True
            some = known.first_of(new, sizes)
            width = self._width_with(some)
            n_late = late + (0 if self._starts() else len(some.keys))
            may_leave_out = self._limits.ignores_new and known.columns and sizes != known.sizes
            if may_leave_out and self.n_rows - self._refused_at < ROWS:
                return math.inf  # soon after new ones were refused
            needed = self._budget.needed(len(rows.X), len(rows.X) * n_late, sizes, width)
            if needed > limit:
                self.flush()  # waiting rows may need less memory once they are in the banks
                laid = rows.of_classes(sizes.classes).laid_out(
                    known.columns_with(some), width, self._fill
                )
                others = self._rows.nbytes + self._banks.beside(fresh=False)
                needed = others + self._banks.bytes_with(
                    laid, sizes, self.missing, max(limit - others, 0.0), be_sure
                )
                more = self._banks.beside(fresh=True) - self._banks.beside(fresh=False)
                has_room = needed + more <= self._limits.bytes
            if may_leave_out:
                needed = max(needed, self._budget.needed_by_new(n_late, sizes, width))
                if needed > limit:
                    self._refused_at = self.n_rows
            return needed

        wanted = known.sizes_with(new)
        sizes = self._limits.admit(known.sizes, wanted, bytes_with, lambda: self.nbytes)
        if not has_room:  # rows are refused only if they do not fit without the fresh rows
            self._banks.drop_fresh()
            self._budget.beside = self._banks.beside(fresh=False)
        return known.first_of(new, sizes)

    # --- known keys and labels ------------------------------------------------------------------

    def _starts(self) -> bool:
        """Return whether the next keys are those of the first row."""
        return not self._known.columns and not self.n_rows

    def _width_with(self, new: Newcomers) -> int:
        """Return the number of dense columns: those of the first row."""
        return len(new.keys) if self._starts() else self._width

    def _learn_keys(self, new: Newcomers) -> None:
        starts, width = self._starts(), self._width_with(new)
        self._known.add(new)
        if starts:
            self._collect(width)

    @property
    def _fill(self) -> float:
        return 0.0 if self.absent == "zero" else math.nan

    def _collect(self, width: int) -> None:
        first, late = (bank._core for bank in self._banks)
        # rows wait in the buffer of the bank that gets them, if it is a single one
        owner = first if width and len(self._template.half_lives) == 1 else None
        rows = self._collector(self._known.columns, self._known.classes, width, owner)
        budget = RowBudget(self._limits.bytes, rows, first, late, width)
        budget.spend(self._taken, self._known.sizes)
        # width: the number of dense columns
        self._width, self._rows, self._budget = width, rows, budget

    def _collector(
        self,
        columns: dict[Any, int],
        classes: dict[Any, int],
        width: int,
        owner: CoreBank | None = None,
    ) -> RowCollector:
        return RowCollector(
            columns,
            classes,
            width,
            self._fill,
            self.missing == "ignore",
            self.clock == "time",
            self._template.half_lives[0],
            owner,
            self._turn,
        )

    def __getstate__(self) -> dict[str, Any]:
        left_out = ("_rows", "_turn", "_budget")
        with self._turn:
            self.flush()  # which rows wait is not part of the state
            state = {name: v for name, v in vars(self).items() if name not in left_out}
            # all of them at once, before another thread can add some
            return {**state, "_banks": [bank.to_bytes() for bank in self._banks]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        n_threads = self._template.n_threads
        banks = (bank_from_bytes(data, n_threads=n_threads) for data in state["_banks"])
        self._banks = BankPair(*banks)
        self._turn = Turn()
        self._collect(self._width)
