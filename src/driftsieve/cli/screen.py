"""``driftsieve screen``: from files to a ranking, a report and a bank."""

from __future__ import annotations

import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import typer

from driftsieve import report as reports
from driftsieve._text import printable
from driftsieve.cli import show
from driftsieve.cli.errors import CommandError, say, saying_warnings
from driftsieve.cli.hints import about_top, hints, look_shuffled
from driftsieve.cli.keeper import Every, Keeper, checkpoint_of
from driftsieve.cli.loop import go, report_left_out
from driftsieve.cli.options import (
    Bins,
    Json,
    ScoreOption,
    check_apart,
    check_output,
    half_life_of_text,
    has_duration,
)
from driftsieve.cli.ranking import WRITERS, write_rankings
from driftsieve.cli.run import Run, Settings
from driftsieve.memory import LearnedBank
from driftsieve.report import to_json
from driftsieve.sources import FORMATS
from driftsieve.sources.encoding.numbers import DecimalSign
from driftsieve.sources.files.paths import find, pyarrow

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
    sample_weight: Annotated[
        str | None, typer.Option(help="Column of the row weights.", rich_help_panel=READING)
    ] = None,
    score_func: ScoreOption = "mutual_info",
    half_life: Annotated[
        str | None,
        typer.Option(
            metavar="auto|none|NUMBER|DURATION",
            help="Age at which a row weighs half: 1000 (rows), 12h, 30d. auto learns it from the "
            "rows, none never forgets, a list (500,2000,none) ranks by each.",
            show_default="auto, none with --decay",
            rich_help_panel=FADING,
        ),
    ] = None,
    decay: Annotated[
        float | None,
        typer.Option(
            help="Factor of a row's weight per tick of the clock.", rich_help_panel=FADING
        ),
    ] = None,
    clock: Annotated[
        Literal["row", "batch", "time"] | None,
        typer.Option(
            help="Unit of the age of a row: rows, batches or --time.",
            show_default="time with --time, else row",
            rich_help_panel=FADING,
        ),
    ] = None,
    n_bins: Bins = 5,
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
            help="Format of the files, if their names do not say it.",
            autocompletion=lambda: ["auto", *FORMATS],
            rich_help_panel=READING,
        ),
    ] = "auto",
    threads: Annotated[
        int | None,
        typer.Option(
            max=1024, help="Threads to use; -2 is all cores but one.", show_default="all cores"
        ),
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
        typer.Option(
            help="Column whose values are categories, even if they are numbers.",
            rich_help_panel=READING,
        ),
    ] = None,
    delimiter: Annotated[
        str | None,
        typer.Option(help="Separator of the cells of csv files.", rich_help_panel=READING),
    ] = None,
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header",
            help="Whether csv files have a header.",
            show_default="found out from the first rows",
            rich_help_panel=READING,
        ),
    ] = None,
    na: Annotated[
        list[str] | None,
        typer.Option(help="Another mark of missing values in csv files.", rich_help_panel=READING),
    ] = None,
    decimal: Annotated[
        str,
        typer.Option(
            metavar=".|,", help="Decimal separator in csv files.", rich_help_panel=READING
        ),
    ] = ".",
    zero_based: Annotated[
        bool,
        typer.Option(
            "--zero-based", help="Indices of svmlight files start at 0.", rich_help_panel=READING
        ),
    ] = False,
    names: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Names of svmlight features, one per line in the order of their indices.",
            rich_help_panel=READING,
        ),
    ] = None,
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
            help="Record the scores every so many rows, for the report.",
            rich_help_panel=RESULTS,
        ),
    ] = None,
    max_features: Annotated[
        int | None,
        typer.Option(min=1, help="Largest number of features.", rich_help_panel=LIMITS),
    ] = None,
    max_classes: Annotated[
        int | None,
        typer.Option(min=1, help="Largest number of classes.", rich_help_panel=LIMITS),
    ] = None,
    max_bytes: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Largest size of the state.",
            show_default="a quarter of the memory",
            rich_help_panel=LIMITS,
        ),
    ] = None,
    on_limit: Annotated[
        Literal["error", "ignore_new"],
        typer.Option(
            help="Stop with an error, or leave new features and classes out.",
            rich_help_panel=LIMITS,
        ),
    ] = "error",
    json: Json = False,
    state: Annotated[
        Path | None,
        typer.Option(help="Save the bank and the position in the input.", rich_help_panel=STATE),
    ] = None,
    checkpoint_every: Annotated[
        str | None,
        typer.Option(
            metavar="ROWS|SECONDS",
            help="How often to save: 100000 (rows), 30s, 5m.",
            show_default="at the end and when stopped",
            rich_help_panel=STATE,
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue from --state.", rich_help_panel=STATE)
    ] = False,
    accept_changed_input: Annotated[
        bool,
        typer.Option(
            "--accept-changed-input",
            help="Resume although the input has changed.",
            rich_help_panel=STATE,
        ),
    ] = False,
    force: Annotated[
        bool,
        typer.Option("--force", help="Start again and replace --state.", rich_help_panel=STATE),
    ] = False,
) -> None:
    """Screen the features of a labelled stream in one pass, and print the best."""
    if clock is None:
        clock = "time" if time else "row"
    if (clock == "time") != (time is not None):
        raise CommandError(
            "--time must be the column of the timestamps with --clock time, got none."
            if clock == "time"
            else f"--clock must be time with --time, got {clock}. To leave the column out, pass "
            f"--drop {time}."
        )
    fading = half_life_of_text(half_life or ("auto" if decay is None else "none"))
    if clock != "time" and has_duration(fading):
        raise CommandError(
            f"--half-life must be a number of {'rows' if clock == 'row' else 'batches'} without "
            f"--time, got {half_life}. Pass the column of the timestamps with --time."
        )
    if state is None and (resume or force or checkpoint_every is not None):
        raise CommandError(
            "--state must be given with --resume, --force and --checkpoint-every, got none."
        )
    if resume and force:
        raise CommandError("--resume and --force must not both be given, got both.")
    if accept_changed_input and not resume:
        raise CommandError("--resume must be given with --accept-changed-input, got none.")
    if isinstance(fading, list) and not (history_every is None and report is None):
        raise CommandError(
            "--half-life must be one value or auto with --report and --history-every, got a list."
        )
    if history_every is not None and clock != "batch":
        batch_size = min(batch_size, history_every)  # so that no record is late
    outputs = {"--out": out, "--report": report, "--state": state}
    with warnings.catch_warnings(action="ignore"):  # the reader checks the rest
        check_apart(outputs, [file.name for file in find(list(sources))])
    check_output("--out", out, WRITERS)
    check_output("--report", report, reports.WRITERS)
    if out is not None and out.suffix.lower() == ".parquet":
        pyarrow("Writing parquet files")
    settings = Settings(
        target=target,
        time=time,
        sample_weight=sample_weight,
        format=format,
        batch_size=batch_size,
        missing=missing,
        drop=drop or (),
        categorical=categorical or (),
        delimiter="\t" if delimiter == r"\t" else delimiter,  # as for cut and awk
        header="auto" if header is None else header,
        zero_based=zero_based,
        names=None if names is None else str(names),
        na=na or (),
        decimal=cast("DecimalSign", decimal),
        epsilon=epsilon,
        decay=decay,
        half_life=fading,
        clock=clock,
        history_every=history_every,
        score_func=score_func,
        n_bins=n_bins,
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
        resumed = checkpoint_of(state, resume=resume, force=force, n_threads=threads)
    with saying_warnings():
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
        asked = context.get_parameter_source("top")
        is_asked = asked is not None and asked.name != "DEFAULT"
        go(
            run,
            keeper,
            arguments,
            lambda: _results(run, out, report, state, as_json=json, top_given=is_asked),
        )


def _results(
    run: Run,
    out: Path | None,
    report: Path | None,
    state: Path | None,
    *,
    as_json: bool,
    top_given: bool,
) -> None:
    settings, is_learned = run.settings, isinstance(run.bank, LearnedBank)
    rankings = run.rankings()
    quality = show.quality_of(run.bank)
    if out is not None:
        write_rankings(rankings, out)
    if report is not None:
        reports.write(report, _report(run))
    report_left_out(run)
    written = {"out": out, "report": report, "state": state}
    has_history = run.history is not None
    advice = hints(run.bank, quality, run.neighbours, has_history=has_history)
    if as_json:
        found = show.facts(run.bank, quality)
        found |= {"rows_left_out": run.rows_skipped, "reasons": list(run.reasons)}
        found |= {"beyond_limits": run.ignored}
        found |= {name: None if path is None else str(path) for name, path in written.items()}
        best = [record for ranking in rankings for record in ranking.records(settings.top)]
        found |= {"score": settings.score_func, "ranking": best, "hints": advice}
        print(to_json(found, indent=1))
        return
    if settings.top:
        show.ranking_table(rankings, settings.top)
    print(show.summary(run.bank, quality))
    if isinstance(run.bank, LearnedBank):
        shuffled = " The rows look shuffled." if look_shuffled(run.bank, run.neighbours) else ""
        print(f"{run.bank.memory}{shuffled}")
    if any(written.values()):
        print("Written: " + printable(", ".join(str(path) for path in written.values() if path)))
    if report is not None and run.history is None:
        say("The report has no scores over time. Pass --history-every ROWS to record them.")
    selects = is_learned or has_history
    if top_given and (done := about_top(settings.top, run.bank.n_features, selects=selects)):
        say(done)
    for text in advice:
        say(text)


def _report(run: Run) -> dict[str, Any]:
    settings, files = run.settings, run.batches.files
    usual: tuple[object, ...] = (None, False, (), [], "auto", ".")
    chosen = {k: v for k, v in asdict(settings).items() if v not in usual}
    if settings.names is not None:
        chosen["names"] = Path(settings.names).name
    names = printable(", ".join(Path(name).name for name in files[:3]))
    names += f" and {len(files) - 3} more" if len(files) > 3 else ""
    return reports.of_bank(
        run.bank,
        run.history,
        score_func=settings.score_func,
        n_bins=settings.n_bins,
        title=names,
        parameters={"source": names, **chosen},
        scores=run.scores(),
    )
