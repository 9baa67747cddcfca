"""The commands, and how each run of one ends."""

from __future__ import annotations

import os
import sys
from importlib.metadata import version
from typing import Annotated

import typer

from driftsieve.cli import demo, inspect, merge, report, screen
from driftsieve.cli.errors import FAILED, OK, explain
from driftsieve.reproduce.command import reproduce

app = typer.Typer(
    name="driftsieve",
    help="Which features of a labelled data stream matter now.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
# A command is a function with typer's annotations; one that has commands of its own is
# added by app.add_typer(...).
app.command()(screen.screen)
app.command()(merge.merge)
app.command()(inspect.inspect)
app.command()(report.report)
app.command()(demo.demo)
app.command()(reproduce)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"driftsieve {version('driftsieve')}")
        raise typer.Exit


@app.callback()
def _options(
    _: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    pass


def run(arguments: list[str]) -> int:
    """Run a command and return its exit code."""
    for stream in (sys.stdout, sys.stderr):  # a name that the terminal cannot show is no error
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        command = typer.main.get_command(app)
        code = command.main(arguments, "driftsieve", standalone_mode=False, obj=arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # What reads our output has seen enough. Python would complain when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return FAILED
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else FAILED
    except (Exception, KeyboardInterrupt) as error:
        return explain(error)
    return code if isinstance(code, int) else OK
