"""``driftsieve screen``: from files to a ranking, a report and a bank."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from driftsieve.cli import page, show
from driftsieve.cli.errors import CommandError, say
from driftsieve.cli.keeper import Every, Keeper, opened
from driftsieve.cli.loop import go, tell_left_out
from driftsieve.cli.options import Bins, Json, Score, check_apart, check_output
from driftsieve.cli.ranking import WRITERS, Ranking
from driftsieve.cli.run import Run, Settings
from driftsieve.report import to_json
from driftsieve.report.text import printable
from driftsieve.sources import FORMATS
from driftsieve.sources.files import find, pyarrow

READING, FADING, LIMITS = "Reading", "Fading", "Limits"
RESULTS, STATE = "Results", "Checkpoints"


def screen(
    context: typer.Context,
    sources: Annotated[
        list[str],
        typer.Argument(metavar="SOURCE", help='Files, patterns ("day*.svm.gz"), or - for stdin.'),
    ],
    target: Annotated[
        str | None,
        typer.Option(help="Column of the labels: a name or position.", rich_help_panel=READING),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(help="Column of the timestamps.", rich_help_panel=FADING),
    ] = None,
    weight: Annotated[
        str | None, typer.Option(help="Column of the row weights.", rich_help_panel=READING)
    ] = None,
    score: Score = "mutual_info",
    half_life: Annotated[
        float | None,
        typer.Option(
            help="A row weighs half after this much of the clock.", rich_help_panel=FADING
        ),
    ] = None,
    alpha: Annotated[
        float,
        typer.Option(help="A row weighs this to the power of its age.", rich_help_panel=FADING),
    ] = 1.0,
    clock: Annotated[
        Literal["sample", "batch", "time"] | None,
        typer.Option(
            help="What age is counted in: rows, batches or --time.",
            show_default="time with --time, else sample",
            rich_help_panel=FADING,
        ),
    ] = None,
    bins: Bins = 5,
    epsilon: Annotated[float, typer.Option(help="Largest rank error, as a share.")] = 0.01,
    top: Annotated[
        int,
        typer.Option(min=0, help="How many features to print and follow.", rich_help_panel=RESULTS),
    ] = 50,
    batch_size: Annotated[
        int, typer.Option(min=1, max=1_000_000_000, rich_help_panel=READING)
    ] = 4096,
    format: Annotated[  # noqa: A002 - the name of the option
        str,
        typer.Option(
            metavar="|".join(["auto", *FORMATS]),
            help="What the files hold, where their names do not tell.",
            autocompletion=lambda: ["auto", *FORMATS],
            rich_help_panel=READING,
        ),
    ] = "auto",
    threads: Annotated[
        int | None, typer.Option(min=1, max=1024, help="Threads to use.", show_default="all cores")
    ] = None,
    missing: Annotated[
        Literal["error", "ignore"],
        typer.Option(help="What to do with missing values.", rich_help_panel=READING),
    ] = "error",
    on_error: Annotated[
        Literal["raise", "skip"],
        typer.Option(help="Stop at a bad row, or skip and count it.", rich_help_panel=READING),
    ] = "raise",
    drop: Annotated[
        list[str] | None, typer.Option(help="Column to leave out.", rich_help_panel=READING)
    ] = None,
    categorical: Annotated[
        list[str] | None,
        typer.Option(help="Column of codes, not of numbers.", rich_help_panel=READING),
    ] = None,
    delimiter: Annotated[
        str | None, typer.Option(help="Between the cells of csv.", rich_help_panel=READING)
    ] = None,
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header",
            help="Whether csv has a header.",
            show_default="looks",
            rich_help_panel=READING,
        ),
    ] = None,
    zero_based: Annotated[
        bool,
        typer.Option(
            "--zero-based", help="Indices of svmlight begin at 0.", rich_help_panel=READING
        ),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write the whole ranking: .csv, .json, .parquet.", rich_help_panel=RESULTS
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(help="Write a report: .html, .json, .txt.", rich_help_panel=RESULTS),
    ] = None,
    history_every: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="ROWS",
            help="Record the scores, for the report.",
            rich_help_panel=RESULTS,
        ),
    ] = None,
    max_features: Annotated[
        int | None,
        typer.Option(min=1, help="Stop at more features.", rich_help_panel=LIMITS),
    ] = None,
    max_classes: Annotated[
        int | None,
        typer.Option(min=1, help="Stop at more labels.", rich_help_panel=LIMITS),
    ] = None,
    max_bytes: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Stop before the state takes more.",
            show_default="a quarter of the memory",
            rich_help_panel=LIMITS,
        ),
    ] = None,
    on_limit: Annotated[
        Literal["error", "ignore_new"],
        typer.Option(help="Or leave out and count what is new.", rich_help_panel=LIMITS),
    ] = "error",
    json: Json = False,
    state: Annotated[
        Path | None,
        typer.Option(help="Keep the bank and the place in the input.", rich_help_panel=STATE),
    ] = None,
    checkpoint_every: Annotated[
        str | None,
        typer.Option(
            metavar="ROWS|SECONDS",
            help="How often: 100000 (rows), 30s, 5m.",
            show_default="at the end and when stopped",
            rich_help_panel=STATE,
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from --state.", rich_help_panel=STATE)
    ] = False,
    accept_changed_input: Annotated[
        bool,
        typer.Option(
            "--accept-changed-input",
            help="Resume although the input is not what it was.",
            rich_help_panel=STATE,
        ),
    ] = False,
    force: Annotated[
        bool,
        typer.Option("--force", help="Start anew, over an old --state.", rich_help_panel=STATE),
    ] = False,
) -> None:
    """Screen the features of a labelled stream in one pass, and print the best."""
    if clock is None:
        clock = "time" if time else "sample"
    if (clock == "time") != (time is not None):
        raise CommandError(
            "--clock time needs the column of the timestamps: --time"
            if clock == "time"
            else f"--time goes with --clock time only; to leave the column out: --drop {time}"
        )
    if state is None and (resume or force or checkpoint_every is not None):
        raise CommandError(
            "--resume, --force and --checkpoint-every need --state, the file to keep"
        )
    if resume and force:
        raise CommandError("--resume goes on and --force starts anew: give one of them")
    if accept_changed_input and not resume:
        raise CommandError("--accept-changed-input goes with --resume, which is not given")
    if history_every is not None and clock != "batch":
        batch_size = min(batch_size, history_every)  # so that no record comes late
    outputs = {"--out": out, "--report": report, "--state": state}
    check_apart(outputs, [file.name for file in find(list(sources))])
    check_output("--out", out, WRITERS)
    check_output("--report", report, page.WRITERS)
    if out is not None and out.suffix.lower() == ".parquet":
        pyarrow("Writing parquet files")
    settings = Settings(
        target=target,
        time=time,
        weight=weight,
        format=format,
        batch_size=batch_size,
        missing=missing,
        drop=drop or (),
        categorical=categorical or (),
        delimiter="\t" if delimiter == r"\t" else delimiter,  # as cut and awk have it typed
        header="auto" if header is None else header,
        zero_based=zero_based,
        epsilon=epsilon,
        alpha=alpha,
        half_life=half_life,
        clock=clock,
        history_every=history_every,
        score=score,
        bins=bins,
        top=top,
    )
    limits = {
        "max_features": max_features,
        "max_classes": max_classes,
        "max_bytes": max_bytes,
        "on_limit": on_limit,
    }
    every = None if checkpoint_every is None else Every.parse(checkpoint_every)
    resumed = None
    if state is not None:
        resumed = opened(state, resume=resume, force=force, n_threads=threads)
    run = Run(
        sources,
        settings,
        on_error=on_error,
        n_threads=threads,
        resumed=resumed,
        accept_changed_input=accept_changed_input,
        limits={name: value for name, value in limits.items() if value is not None},
    )
    keeper = Keeper(run, state, every)
    arguments = context.obj if isinstance(context.obj, list) else []
    go(run, keeper, arguments, lambda: _results(run, out, report, state, as_json=json))


def _results(
    run: Run, out: Path | None, report: Path | None, state: Path | None, *, as_json: bool
) -> None:
    settings = run.settings
    ranking = Ranking.of(run.bank, settings.score, settings.bins)
    if out is not None:
        ranking.write(out)
    if report is not None:
        page.write(report, _report(run))
    tell_left_out(run)
    written = {"out": out, "report": report, "state": state}
    if as_json:
        found = show.facts(run.bank, ranking.certificate)
        found |= {"rows_left_out": run.rows_skipped, "reasons": list(run.reasons)}
        found |= {"beyond_limits": run.ignored}
        found |= {name: None if path is None else str(path) for name, path in written.items()}
        found |= {"score": ranking.score, "ranking": ranking.records(settings.top)}
        print(to_json(found, indent=1))
        return
    if settings.top:
        show.ranking_table(ranking, settings.top)
    print(show.summary(run.bank, ranking.certificate))
    if any(written.values()):
        print("Written: " + printable(", ".join(str(path) for path in written.values() if path)))
    if report is not None and run.history is None:
        say("The report shows nothing over time: --history-every ROWS records it.")


def _report(run: Run) -> dict[str, Any]:
    settings, files = run.settings, run.batches.files
    chosen = {k: v for k, v in asdict(settings).items() if v not in (None, (), [], "auto")}
    return page.build(
        run.bank,
        run.history,
        score=settings.score,
        n_bins=settings.bins,
        title=printable(", ".join(Path(name).name for name in files[:3]))
        + (f" and {len(files) - 3} more" if len(files) > 3 else ""),
        parameters={"source": printable(", ".join(files)), **chosen},
    )
