"""One pass over a source, which can stop after any batch and continue in another process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from driftsieve._arguments import arg
from driftsieve._rows.names import name_of
from driftsieve._state.settings import is_auto
from driftsieve._storage.fingerprint import Fingerprint
from driftsieve._text import printable
from driftsieve.bank import Bank, ClockName
from driftsieve.batch import Batch, Missing
from driftsieve.cli.checkpoint import Checkpoint, Place
from driftsieve.cli.errors import CommandError
from driftsieve.cli.neighbours import Neighbours
from driftsieve.cli.options import HalfLifeSetting
from driftsieve.cli.ranking import Ranking
from driftsieve.history import ScoreHistory
from driftsieve.memory import LearnedBank
from driftsieve.memory.reading import AnyBank, read_scores
from driftsieve.scores import SCORES
from driftsieve.scores.ranking import Ranks
from driftsieve.scores.reader import can_score, read_bank
from driftsieve.snapshot import Floats
from driftsieve.sources import Batches, as_batches
from driftsieve.sources.batches import N_REASONS, OnError
from driftsieve.sources.encoding.numbers import DecimalSign
from driftsieve.sources.files.paths import File

_COLUMNAR = ("parquet", "arrow")  # formats that are not read from start to end


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of the bank and the history, which are the same in a resumed run."""

    history_every: int | None = None
    target: str | None = None
    time: str | None = None
    sample_weight: str | None = None
    format: str = "auto"
    batch_size: int = 4096
    missing: Missing = "error"
    drop: Sequence[str] = ()
    categorical: Sequence[str] = ()
    delimiter: str | None = None
    header: bool | Literal["auto"] = "auto"
    zero_based: bool = False
    names: str | None = None
    na: Sequence[str] = ()
    decimal: DecimalSign = "."
    epsilon: float = 0.01
    decay: float | None = None
    half_life: HalfLifeSetting = None
    clock: ClockName = "row"
    score_func: str = "mutual_info"
    n_bins: int = 5
    top: int = 50

    def bank(self, n_threads: int | None, limits: Mapping[str, Any]) -> AnyBank:
        common: dict[str, Any] = {
            "epsilon": self.epsilon,
            "half_life": self.half_life,
            "clock": self.clock,
            "missing": self.missing,
            "n_threads": n_threads,
            **limits,
        }
        if not is_auto(self.half_life):
            return Bank(decay=self.decay, **common)
        if self.decay is not None:
            raise CommandError("--decay and --half-life auto must not both be given, got both.")
        learning: dict[str, Any] = {"n_bins": self.n_bins, "k": self.top or None}
        return LearnedBank(self.score_func, moments=True, quantiles=True, **learning, **common)

    def batches(
        self, sources: Sequence[str], on_error: OnError, start: Place, limits: Mapping[str, Any]
    ) -> Batches:
        return as_batches(
            list(sources),
            target=self.target,
            time=self.time,
            sample_weight=self.sample_weight,
            batch_size=self.batch_size,
            format=self.format,
            missing=self.missing,
            on_error=on_error,
            skip_rows=start.position,
            columns=start.columns,
            header=self.header,
            delimiter=self.delimiter,
            zero_based=self.zero_based,
            names=None if self.names is None else _lines(Path(self.names)),
            na=self.na,
            decimal=self.decimal,
            categorical=self.categorical,
            drop=self.drop,
            **{name: limits[name] for name in limits if name in ("max_features", "on_limit")},
        )

    def stored(self) -> dict[str, Any]:
        """Return the settings as a checkpoint stores them, without those that have no effect."""
        lists = {name: list(getattr(self, name)) for name in ("drop", "categorical", "na")}
        kept = asdict(self) | lists
        for name, usual in (("na", []), ("decimal", "."), ("names", None)):  # the defaults
            if kept[name] == usual:
                del kept[name]
        if self.history_every is None and not is_auto(self.half_life):
            # these then have an effect only at the end
            for name in ("score_func", "n_bins", "top"):
                del kept[name]
        return kept

    def check(self, before: dict[str, Any]) -> None:
        """Raise CommandError if the settings differ from those of the run to resume."""
        now = self.stored()
        for name in before | now:
            was, wanted = before.get(name), now.get(name)
            if was != wanted:
                raise CommandError(
                    f"{arg(name)} must be {shown(was)}, as in the run to resume, got "
                    f"{shown(wanted)}. Pass it as before, or start again with --force."
                )


def _lines(path: Path) -> list[str]:
    """Return the lines of a file of names."""
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise CommandError(f"{path}: Names must be UTF-8 text ({error.reason}).") from error


class Run:
    """A bank, a history and their position in the source. Every batch updates all three."""

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
        # not a setting: a run that reached a limit can continue with a larger one
        limits = limits or {}
        if resumed is None:
            self.bank = settings.bank(n_threads, limits)
        else:
            self.bank = resumed.bank.set_limits(**limits)
        self.history = None if resumed is None else resumed.history
        self._start = Place(settings=settings.stored()) if resumed is None else resumed.place
        settings.check(self._start.settings)
        self.batches = settings.batches(sources, on_error, self._start, limits)
        name = self.batches.files[0]
        kind = settings.format if settings.format != "auto" else File(name).format
        self._fingerprint = Fingerprint(self.batches.files, sequential=kind not in _COLUMNAR)
        if resumed is not None:
            self._check_input(accept_changed_input)
        self.neighbours = Neighbours()  # rows of this run
        self._position = self._start.position
        self._reasons: tuple[str, ...] = ()
        self._skipped = self._bytes_read = 0
        self._has_dates = False
        self._scores: Floats | None = None  # since the last batch
        self._values_ignored = self._start.values_ignored

    @property
    def rows_skipped(self) -> int:
        return self._start.rows_skipped + self._skipped

    @property
    def reasons(self) -> tuple[str, ...]:
        """The causes of the first few rows that were left out."""
        return (self._start.reasons + self._reasons)[:N_REASONS]

    @property
    def ignored(self) -> dict[str, int]:
        """Counts of what ``--on-limit ignore_new`` left out."""
        ignored = self.bank.ignored
        ignored["values"] += self._values_ignored  # values that the source left out
        return ignored

    def take(self, batch: Batch) -> None:
        """Screen the batch that ``batches`` returned last."""
        self._scores = None
        try:
            self.bank.update(batch)
        except (ValueError, TypeError) as error:
            rows = f"rows {self._position + 1:,} to {self.batches.position:,}"
            raise CommandError(f"{self._names}, {rows}: {error}") from error
        self._has_dates = batch.has_dates
        self.neighbours.take(batch)
        self._note()
        every = self.settings.history_every
        if every is not None and self.bank.n_rows // every > self._recorded // every:
            self.record()

    def finish(self) -> None:
        """Update the counts and the history after the last row."""
        self._note()
        if self.settings.history_every is not None and self.bank.n_rows > self._recorded:
            self.record()

    def check(self) -> None:
        """Raise CommandError if the rows give no ranking."""
        if not self.bank.n_rows:
            causes = "; ".join(self.reasons[:1])
            raise CommandError(
                f"At least one row must be valid, got {self.rows_skipped:,} invalid rows: {causes}"
            )
        if not self.bank.n_features:
            raise CommandError(
                f"{self._names}: There must be at least one column besides the label, got none."
            )
        if len(self.bank.classes) < 2:
            label = self.bank.classes.tolist()[0]
            raise CommandError(
                f"{self._names}: There must be at least two labels, got {label!r} in all "
                f"{self.bank.n_rows:,} rows. Check --target."
            )
        if not can_score(self.bank):
            fading = self.settings.half_life
            fades = self.settings.decay is not None or not (fading is None or is_auto(fading))
            advice = (
                "The others have faded: use a longer --half-life or a larger --decay."
                if fades
                else "Check --sample-weight."
            )
            raise CommandError(
                f"{self._names}: At least two of the {len(self.bank.classes)} labels must have "
                f"weight at the end, got fewer. {advice}"
            )

    def record(self) -> None:
        """Record the current scores in the history, if there are any."""
        settings = self.settings
        if not can_score(self.bank) or not self.bank.n_features:
            return
        if self.history is None:
            # At most a quarter of the features: if all were members, no feature could enter.
            k = max(1, min(settings.top, self.bank.n_features // 4))
            self.history = ScoreHistory(settings.score_func, k=k, every=settings.history_every or 1)
        self.history.record(
            self.bank.n_rows,
            self.scores(),
            self.bank.feature_names,
            memory=self.bank.memory if isinstance(self.bank, LearnedBank) else None,
            time=self.bank.now if self._has_dates else None,
        )

    def scores(self) -> Floats:
        """Return the current score of every feature, computed once after each batch."""
        if self._scores is None:
            self._scores = read_scores(self.bank, self.settings.score_func, self.settings.n_bins)
        return self._scores

    def rankings(self) -> list[Ranking]:
        """Return the ranking, or one for each of several half-lives."""
        bank, how = self.bank, (self.settings.score_func, self.settings.n_bins)
        if isinstance(self.settings.half_life, list):
            return [Ranking.of(bank, *how, half_life) for half_life in bank.half_lives]
        return [Ranking.of(bank, *how, None, self.scores())]

    def leaders(self) -> list[str]:
        """Return the names of the five currently best features."""
        score = self.settings.score_func
        if not can_score(self.bank):
            return []
        if isinstance(self.settings.half_life, list):
            longest = self.bank.half_lives[-1]
            entry = SCORES[score]
            n_bins = entry.bins(self.settings.n_bins)
            values = read_bank(self.bank, entry.function, n_bins, half_life=longest)
        else:
            values = self.scores()
        best = Ranks.of(values, SCORES[score].larger_is_better).best(5)
        names = self.bank.feature_names
        return [name_of(f, names) for f in best.tolist()]

    def checkpoint(self) -> Checkpoint:
        """Return the checkpoint after the last batch."""
        place = Place(
            self._position,
            self.rows_skipped,
            tuple(printable(reason) for reason in self.reasons),
            self._fingerprint.up_to(self._bytes_read),
            self.settings.stored(),
            self._values_ignored,
            self.batches.columns or self._start.columns,
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
        """Keep the current counts, because ``batches`` may read ahead before it is interrupted."""
        self._position = self.batches.position
        self._skipped = self.batches.rows_skipped
        self._reasons = tuple(self.batches.skip_reasons)
        self._bytes_read = self.batches.bytes_read
        # Earlier rows were encoded again, maybe within larger limits: the old counts hold.
        before, (least, most) = self._start.values_ignored, self.batches.values_before
        again = min(max(before, least), most)
        self._values_ignored = before + self.batches.values_ignored - again

    def _check_input(self, may_change: bool) -> None:
        files = self._start.files
        if may_change:
            if difference := self._fingerprint.displaced(files):
                raise CommandError(
                    f"The first {self._start.position:,} rows must be those of the run to resume, "
                    f"but {difference}. Pass the files read before first and unchanged, new files "
                    "last, or start again with --force."
                )
        elif difference := self._fingerprint.difference(files):
            raise CommandError(
                f"The input must be that of the run to resume, but {difference}. Pass "
                "--accept-changed-input to continue after the first "
                f"{self._start.position:,} rows anyway, or --force to start again."
            )


def shown(value: Any) -> str:
    """Return a setting as an option."""
    if isinstance(value, list):
        return ",".join(map(str, value)) or "none"
    return "none" if value is None else str(value)
