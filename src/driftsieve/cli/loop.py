"""The loop of a run, from the first batch to the results, with signals and bad rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from driftsieve.cli import show
from driftsieve.cli.errors import CommandError, say
from driftsieve.cli.keeper import Keeper
from driftsieve.cli.progress import watching
from driftsieve.cli.run import Run
from driftsieve.cli.signals import Signals, Stop


def go(run: Run, keeper: Keeper, arguments: Sequence[str], results: Callable[[], None]) -> None:
    """Screen every batch, write checkpoints, then make the results.

    However it ends, the state (if there is one) has all screened batches, and none in part.
    """
    with Signals() as signals:
        try:
            _read(run, keeper, signals)
            with signals.whole():
                run.finish()
                if run.bank.n_rows:
                    keeper.save()
            with _noting(run, keeper):
                run.check()
                results()
        except Stop as stop:
            with suppress(Stop), signals.whole():
                if keeper.is_behind:
                    keeper.save()
            report_left_out(run)
            raise CommandError(keeper.how_to_go_on(arguments), stop.code) from None


def _read(run: Run, keeper: Keeper, signals: Signals) -> None:
    try:
        with watching(run.batches, run.bank.n_rows) as watch:
            for batch in run.batches:
                with signals.whole():
                    run.take(batch)
                    keeper.after_batch()
                watch.rows_done(run.bank.n_rows, run.leaders)
    except Exception as error:
        if isinstance(error, MemoryError):
            error.add_note("A smaller --batch-size may help, or --max-bytes to stop earlier.")
        _note_left_out(error, run)
        if keeper.is_behind:
            keeper.save()
            error.add_note(
                f"The {run.bank.n_rows:,} rows before are saved in {keeper.path}: pass --resume."
            )
        raise


@contextmanager
def _noting(run: Run, keeper: Keeper) -> Iterator[None]:
    """Add to errors after the last row where the rows are stored."""
    try:
        yield
    except Exception as error:
        if isinstance(error, MemoryError):
            error.add_note("Fewer --n-bins may help.")
        if run.bank.n_rows:
            _note_left_out(error, run)
            if keeper.path is not None:
                error.add_note(f"The {run.bank.n_rows:,} rows are saved in {keeper.path}.")
        raise


def _note_left_out(error: Exception, run: Run) -> None:
    if run.rows_skipped:
        count = show.count(run.rows_skipped, "row")
        error.add_note(f"{count} could not be used, the first: {run.reasons[0]}")
    if beyond := show.beyond_limits(run.ignored):
        error.add_note(f"Left out because of the limits: {beyond}.")


def report_left_out(run: Run) -> None:
    """Report the rows and features that a run left out."""
    if run.rows_skipped:
        say(f"Left out {show.count(run.rows_skipped, 'row')} that could not be used:")
        for reason in run.reasons:
            say(f"  {reason}")
        if run.rows_skipped > len(run.reasons):
            say(f"  and {run.rows_skipped - len(run.reasons):,} more")
    if beyond := show.beyond_limits(run.ignored):
        say(f"Left out because of the limits: {beyond}")
