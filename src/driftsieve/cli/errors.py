"""User-facing errors: one line on standard error, and an exit code."""

from __future__ import annotations

import errno
import os
import shlex
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import typer

from driftsieve._text import printable
from driftsieve.exceptions import SourceError, SourceWarning

OK, FAILED, BAD_INPUT, INTERRUPTED, TERMINATED = 0, 1, 2, 130, 143

# the copy of click in typer, or the installed one, depending on its version
UsageError, ClickException = typer.BadParameter.__mro__[1:3]

_TROUBLE = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG, errno.EROFS}


class CommandError(Exception):
    """User-facing error with an exit code."""

    def __init__(self, message: str, code: int = BAD_INPUT) -> None:
        super().__init__(message)
        self.code = code


def say(message: str) -> None:
    """Print a line on standard error, with control codes in names escaped."""
    with suppress(OSError):  # standard error is closed
        print(printable(message), file=sys.stderr, flush=True)


@contextmanager
def saying_warnings() -> Iterator[None]:
    """Print warnings of sources as lines on standard error."""
    with warnings.catch_warnings():
        usual = warnings.showwarning

        def show(message: Any, category: Any, *place: Any) -> None:
            if issubclass(category, SourceWarning):
                say(str(message))
            else:
                usual(message, category, *place)

        warnings.simplefilter("always", SourceWarning)
        warnings.showwarning = show  # type: ignore[assignment]
        yield


def explain(error: BaseException) -> int:
    """Print an error in one line, and return its exit code."""
    if os.environ.get("DRIFTSIEVE_DEBUG"):
        traceback.print_exception(error)
    if isinstance(error, ClickException):
        return _usage(error)
    code, text = _described(error)
    notes = getattr(error, "__notes__", ())
    if notes:
        text = " ".join([f"{text.rstrip('.')}.", *notes])
    text = " ".join(text.split())
    say(text if code in (INTERRUPTED, TERMINATED) else f"driftsieve: {text}")
    return code


def _described(error: BaseException) -> tuple[int, str]:
    if isinstance(error, CommandError):
        return error.code, str(error)
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        return INTERRUPTED, "Interrupted."
    if isinstance(error, SourceError):
        return BAD_INPUT, str(error)
    if isinstance(error, OSError):
        name = f"{os.fspath(error.filename)!s}: " if error.filename else ""
        code = FAILED if error.errno in _TROUBLE else BAD_INPUT
        return code, name + (error.strerror or str(error))
    if isinstance(error, ValueError | TypeError | ImportError):
        return BAD_INPUT, str(error)
    if isinstance(error, MemoryError):
        return FAILED, "Not enough memory."
    problem = f"{type(error).__name__}: {error}"
    return FAILED, f"Internal error, please report it with DRIFTSIEVE_DEBUG=1 set: {problem}"


def _usage(error: BaseException) -> int:
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "driftsieve"
    message = " ".join(error.format_message().split())  # type: ignore[attr-defined]
    message = message.replace("Value error, ", "")  # of pydantic, which new versions of typer use
    if message:  # empty if the help was shown instead
        say(f"{command}: {message} (see {command} --help)")
    return BAD_INPUT


def option(name: str, value: Any) -> str:
    """Return a Python parameter as an option of the command line.

    >>> option("missing", "ignore"), option("header", False), option("max_bytes", None)
    ('--missing ignore', '--no-header', '--max-bytes')
    """
    if isinstance(value, bool):
        name, value = name if value else f"no-{name}", None
    typed = "--" + name.replace("_", "-")
    if value is None:
        return typed
    text = str(value)
    bare = shlex.quote(text) == text
    # A comma or a full stop would be taken for one of the sentence.
    return (
        f"{typed} '{text}'" if bare and not text[-1].isalnum() else f"{typed} {shlex.quote(text)}"
    )
