"""Errors as the user sees them: one line on standard error, and an exit code."""

from __future__ import annotations

import errno
import os
import re
import sys
import traceback
from contextlib import suppress

import typer

from driftsieve.report.text import printable
from driftsieve.sources import SourceError

OK, FAILED, BAD_INPUT, INTERRUPTED, TERMINATED = 0, 1, 2, 130, 143

# typer brings its own copy of click or uses the one installed, as its version has it.
UsageError, ClickException = typer.BadParameter.__mro__[1:3]

_TROUBLE = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG, errno.EROFS}
# Messages of the Python interface speak of its arguments; what they quote is the user's.
_QUOTED = r"""(?<!\w)(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_WORDS = "target|time|weight|format|missing|drop|categorical|header|t"  # that mean other things too
_NAMES = (
    "alpha|epsilon|half_life|delimiter|zero_based|max_features|max_classes|max_bytes|on_limit|"
    "sample_weight"
)
_ARGUMENT = re.compile(
    rf"""{_QUOTED}|\b(?:({_WORDS})(?==| must )|({_NAMES})\b)(?:=(?:True|"?([\w,]*\w)"?)?)?"""
)
_OTHER_NAMES = {"sample_weight": "weight", "t": "time"}


class CommandError(Exception):
    """An error that was put into words; the command ends with its exit code."""

    def __init__(self, message: str, code: int = BAD_INPUT) -> None:
        super().__init__(message)
        self.code = code


def say(message: str) -> None:
    """A line on standard error, whatever the names in it."""
    with suppress(OSError):  # nobody listens any more
        print(printable(message), file=sys.stderr, flush=True)


def explain(error: BaseException) -> int:
    """Say what went wrong in one line, and return the exit code that goes with it."""
    if os.environ.get("DRIFTSIEVE_DEBUG"):
        traceback.print_exception(error)
    if isinstance(error, ClickException):
        return _usage(error)
    code, text = _described(error)
    text = " ".join("; ".join([text, *getattr(error, "__notes__", ())]).split())
    say(text if code in (INTERRUPTED, TERMINATED) else f"driftsieve: {text}")
    return code


def _described(error: BaseException) -> tuple[int, str]:
    if isinstance(error, CommandError):
        return error.code, str(error)
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        return INTERRUPTED, "Interrupted."
    if isinstance(error, SourceError):
        return BAD_INPUT, as_options(str(error), error.file or "")
    if isinstance(error, OSError):
        name = f"{os.fspath(error.filename)!s}: " if error.filename else ""
        code = FAILED if error.errno in _TROUBLE else BAD_INPUT
        return code, name + (error.strerror or str(error))
    if isinstance(error, ValueError | TypeError | ImportError):
        return BAD_INPUT, as_options(str(error))
    if isinstance(error, MemoryError):
        return FAILED, "there is not enough memory"
    problem = f"{type(error).__name__}: {error}"
    return FAILED, f"internal error, please report it with DRIFTSIEVE_DEBUG=1 set: {problem}"


def _usage(error: BaseException) -> int:
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "driftsieve"
    message = " ".join(error.format_message().split())  # type: ignore[attr-defined]
    if message:  # there is none where the help was shown instead
        say(f"{command}: {message} (see {command} --help)")
    return BAD_INPUT


def as_options(text: str, *files: str) -> str:
    """The arguments of Python in a message, which may begin with a file, as options.

    >>> as_options('Input X contains NaN. Pass missing="ignore" to leave missing values out.')
    'Input X contains NaN. Pass --missing ignore to leave missing values out.'
    """

    def option(found: re.Match[str]) -> str:
        word, name, value = found.groups()
        argument = word or name
        if argument is None:  # a quotation
            return found[0]
        typed = "--" + _OTHER_NAMES.get(argument, argument).replace("_", "-")
        return f"{typed} {value}" if value else typed

    file = max((name for name in files if text.startswith(name)), key=len, default="")
    return file + _ARGUMENT.sub(option, text.removeprefix(file))
