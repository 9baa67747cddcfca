"""From the first batch to the results, through signals and bad rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from driftsieve.cli.errors import CommandError
from driftsieve.cli.keeper import Keeper
from driftsieve.cli.progress import watching
from driftsieve.cli.run import Run
from driftsieve.cli.signals import Signals, Stop


def go(run: Run, keeper: Keeper, arguments: Sequence[str], results: Callable[[], None]) -> None:
    """Take every batch, keep the state, then make the results.

    However it ends, all batches taken are in the state (if one is kept) and none in part.
    """
    with Signals() as signals:
        try:
            _read(run, keeper, signals)
            with signals.whole():
                run.finish()
                if run.bank.n_rows:
                    keeper.save()
            _check(run, keeper)
            results()
        except Stop as stop:
            with suppress(Stop), signals.whole():
                if keeper.is_behind:
                    keeper.save()
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
        if keeper.is_behind:
            keeper.save()
            error.add_note(f"the {run.bank.n_rows:,} rows before are in {keeper.path}: --resume")
        raise


def _check(run: Run, keeper: Keeper) -> None:
    try:
        run.check()
    except CommandError as error:
        if keeper.path is not None and run.bank.n_rows:
            error.add_note(f"the {run.bank.n_rows:,} rows are in {keeper.path}")
        raise
