"""One pass over a source: it can stop after any batch, and go on in another process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from driftsieve.bank import Bank, ClockName
from driftsieve.batch import Batch, Missing
from driftsieve.checkpoint import Checkpoint, Place
from driftsieve.cli.errors import CommandError, as_options
from driftsieve.cli.ranking import is_ready, scores
from driftsieve.fingerprint import Fingerprint
from driftsieve.history import ScoreHistory
from driftsieve.report.text import printable
from driftsieve.scores import SCORES, rank
from driftsieve.sources import Batches, as_batches
from driftsieve.sources.batches import N_REASONS, OnError
from driftsieve.sources.files import File

_COLUMNAR = ("parquet", "arrow")  # formats whose bytes are not in the order of the rows


@dataclass(frozen=True, slots=True)
class Settings:
    """What the bank and the history depend on besides the rows: the same in a resumed run."""

    history_every: int | None = None
    target: str | None = None
    time: str | None = None
    weight: str | None = None
    format: str = "auto"
    batch_size: int = 4096
    missing: Missing = "error"
    drop: Sequence[str] = ()
    categorical: Sequence[str] = ()
    delimiter: str | None = None
    header: bool | Literal["auto"] = "auto"
    zero_based: bool = False
    epsilon: float = 0.01
    alpha: float = 1.0
    half_life: float | None = None
    clock: ClockName = "sample"
    score: str = "mutual_info"
    bins: int = 5
    top: int = 50

    def bank(self, n_threads: int | None, limits: Mapping[str, Any]) -> Bank:
        return Bank(
            self.epsilon,
            alpha=self.alpha,
            half_life=self.half_life,
            clock=self.clock,
            missing=self.missing,
            n_threads=n_threads,
            **limits,
        )

    def batches(
        self, sources: Sequence[str], on_error: OnError, position: int, limits: Mapping[str, Any]
    ) -> Batches:
        return as_batches(
            list(sources),
            target=self.target,
            time=self.time,
            weight=self.weight,
            batch_size=self.batch_size,
            format=self.format,
            missing=self.missing,
            on_error=on_error,
            skip_rows=position,
            header=self.header,
            delimiter=self.delimiter,
            zero_based=self.zero_based,
            categorical=self.categorical,
            drop=self.drop,
            **{name: limits[name] for name in limits if name in ("max_features", "on_limit")},
        )

    def stored(self) -> dict[str, Any]:
        """As a checkpoint keeps them: what JSON holds, and nothing that does not matter."""
        kept = asdict(self) | {"drop": list(self.drop), "categorical": list(self.categorical)}
        if self.history_every is None:  # then these are for the end alone
            for name in ("score", "bins", "top"):
                del kept[name]
        return kept

    def check(self, before: dict[str, Any]) -> None:
        """Refuse to go on with other settings than the run had before."""
        now = self.stored()
        for name in before | now:
            was, wanted = before.get(name), now.get(name)
            if was != wanted:
                option = "--" + name.replace("_", "-")
                raise CommandError(
                    f"the run that is to be resumed had {option} {shown(was)}, not "
                    f"{shown(wanted)}: give it as it was, or start anew with --force"
                )


class Run:
    """A bank, a history and where they are in the source; every batch moves all three."""

    def __init__(
        self,
        sources: Sequence[str],
        settings: Settings,
        *,
        on_error: OnError = "raise",
        n_threads: int | None = None,
        resumed: Checkpoint | None = None,
        accept_changed_input: bool = False,
        limits: Mapping[str, Any] | None = None,
    ) -> None:
        self.settings = settings
        limits = limits or {}  # not a setting: a run that met one goes on with a larger one
        if resumed is None:
            self.bank = settings.bank(n_threads, limits)
        else:
            self.bank = resumed.bank.set_limits(**limits)
        self.history = None if resumed is None else resumed.history
        self._start = Place(settings=settings.stored()) if resumed is None else resumed.place
        settings.check(self._start.settings)
        self.batches = settings.batches(sources, on_error, self._start.position, limits)
        name = self.batches.files[0]
        kind = settings.format if settings.format != "auto" else File(name).format
        self._fingerprint = Fingerprint(self.batches.files, sequential=kind not in _COLUMNAR)
        if resumed is not None:
            self._check_input(accept_changed_input)
        self._position = self._start.position
        self._reasons: tuple[str, ...] = ()
        self._skipped = self._bytes_read = 0
        self._values_ignored = self._start.values_ignored

    @property
    def rows_skipped(self) -> int:
        return self._start.rows_skipped + self._skipped

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why rows were left out, for the first few of them."""
        return (self._start.reasons + self._reasons)[:N_REASONS]

    @property
    def ignored(self) -> dict[str, int]:
        """What is beyond the limits, and was left out with ``--on-limit ignore_new``."""
        return {**self.bank.ignored, "values": self._values_ignored}

    def take(self, batch: Batch) -> None:
        """Screen the batch that ``batches`` delivered last."""
        try:
            self.bank.update_batch(batch)
        except (ValueError, TypeError) as error:
            rows = f"rows {self._position + 1:,} to {self.batches.position:,}"
            raise CommandError(f"{self._names}, {rows}: {as_options(str(error))}") from error
        self._note()
        every = self.settings.history_every
        if every is not None and self.bank.n_rows // every > self._recorded // every:
            self.record()

    def finish(self) -> None:
        """All rows have been read: take note of those at the end."""
        self._note()
        if self.settings.history_every is not None and self.bank.n_rows > self._recorded:
            self.record()

    def check(self) -> None:
        """CommandError where what was read gives no ranking."""
        if not self.bank.n_rows:
            causes = "; ".join(self.reasons[:1])
            raise CommandError(
                f"no row could be used, {self.rows_skipped:,} were left out: {causes}"
            )
        if not self.bank.n_features:
            raise CommandError(f"{self._names}: there is no feature besides the label")
        if len(self.bank.classes) < 2:
            label = self.bank.classes.tolist()[0]
            raise CommandError(
                f"{self._names}: the label is {label!r} in all {self.bank.n_rows:,} rows: there is "
                "nothing to tell apart (is it the right --target?)"
            )
        if not is_ready(self.bank):
            fades = self.settings.half_life is not None or self.settings.alpha < 1
            why = (
                "the others have faded: lengthen --half-life or raise --alpha"
                if fades
                else "see --weight"
            )
            raise CommandError(
                f"{self._names}: of {len(self.bank.classes)} labels, fewer than two have rows of "
                f"any weight at the end, so there is nothing to tell apart ({why})"
            )

    def record(self) -> None:
        """Add the scores of now to the history, if there are any."""
        settings = self.settings
        if not is_ready(self.bank) or not self.bank.n_features:
            return
        if self.history is None:
            # The best quarter, where that is fewer: with all features in, none would ever enter.
            k = max(1, min(settings.top, self.bank.n_features // 4))
            self.history = ScoreHistory(settings.score, k=k, every=settings.history_every or 1)
        values = scores(self.bank, settings.score, settings.bins)
        self.history.record(self.bank.n_rows, values, self.bank.feature_names)

    def leaders(self, n: int = 5) -> list[str]:
        """The names of the best features now."""
        score = self.settings.score
        if not is_ready(self.bank):
            return []
        values = scores(self.bank, score, self.settings.bins)
        best = np.argsort(rank(values, SCORES[score].larger_is_better))[:n]
        names = self.bank.feature_names
        return [f"x{f}" if names is None else names[f] for f in best.tolist()]

    def checkpoint(self) -> Checkpoint:
        """Everything as of the last batch taken."""
        place = Place(
            self._position,
            self.rows_skipped,
            tuple(printable(reason) for reason in self.reasons),
            self._fingerprint.up_to(self._bytes_read),
            self.settings.stored(),
            self._values_ignored,
        )
        return Checkpoint(self.bank, place, self.history)

    @property
    def _names(self) -> str:
        names = self.batches.files
        return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"

    @property
    def _recorded(self) -> float:
        return self.history.positions[-1] if self.history is not None and len(self.history) else 0

    def _note(self) -> None:
        """Remember the counts as of now: ``batches`` may run ahead before it is interrupted."""
        self._position = self.batches.position
        self._skipped = self.batches.rows_skipped
        reasons, files = self.batches.skip_reasons, self.batches.files
        self._reasons = tuple(as_options(reason, *files) for reason in reasons)
        self._bytes_read = self.batches.bytes_read
        # Rows of before were encoded again, maybe within larger limits: they count as they were.
        before, (least, most) = self._start.values_ignored, self.batches.values_before
        again = min(max(before, least), most)
        self._values_ignored = before + self.batches.values_ignored - again

    def _check_input(self, may_change: bool) -> None:
        files = self._start.files
        if may_change:
            if difference := self._fingerprint.displaced(files):
                raise CommandError(
                    f"the first {self._start.position:,} rows are not those that were read: "
                    f"{difference}; name the files read before first and as they were, the new "
                    "ones last, or start anew with --force"
                )
        elif difference := self._fingerprint.difference(files):
            raise CommandError(
                f"the input has changed: {difference}; pass --accept-changed-input to go on after "
                f"its first {self._start.position:,} rows all the same, or --force to start anew"
            )


def shown(value: Any) -> str:
    """A setting as an option has it."""
    if isinstance(value, list):
        return ",".join(map(str, value)) or "none"
    return "none" if value is None else str(value)
