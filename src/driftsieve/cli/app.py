"""The commands, and the end of every run."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from driftsieve._arguments import spelling
from driftsieve.cli.errors import FAILED, INTERRUPTED, OK, explain, option

COMMANDS = {
    "screen": "Screen the features of a labelled stream in one pass, and print the best.",
    "merge": "Merge banks of different rows of the same stream.",
    "inspect": "Show what is in a state file: rows, classes, features, settings and certificate.",
    "report": "Write a report that opens in any browser, offline.",
    "demo": "Screen a small stream whose relevant features change half way.",
    "reproduce": "Make a table or figure of the paper: csv and markdown, png and svg, and what it "
    "claims.",
}
"""The first line of the docstring of each command, so that the list of commands imports none."""

# other errors are handled in driftsieve.cli
_MODULES = {"reproduce": "driftsieve.reproduce.command"}


class Commands(TyperGroup):
    """Commands whose modules are imported when they are called.

    Importing numpy and scipy takes longer than most commands, so each command imports only what it
    needs, and the list of commands nothing.
    """

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        return name, command if name is None else load(name), rest


def load(name: str) -> Any:
    """Import a command. Ctrl-C meanwhile prints nothing."""
    try:
        module = import_module(_MODULES.get(name, f"driftsieve.cli.{name}"))
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None
    alone = typer.Typer(add_completion=False)
    alone.command(name)(getattr(module, name))
    return typer.main.get_command(alone)


app = typer.Typer(
    name="driftsieve",
    cls=Commands,
    help="Which features of a labelled data stream matter now.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _name, _line in COMMANDS.items():
    app.command(_name, help=_line)(lambda: None)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

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
    for stream in (sys.stdout, sys.stderr):  # a name that the terminal cannot show is not an error
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        command = typer.main.get_command(app)
        with spelling(option):
            code = command.main(arguments, "driftsieve", standalone_mode=False, obj=arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of the output has closed it. Python would report that when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return FAILED
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else FAILED
    except (Exception, KeyboardInterrupt) as error:
        return explain(error)
    return code if isinstance(code, int) else OK
