"""The command line, ``driftsieve``: one file for each command."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; errors are one line on standard error.

    0: it is done. 1: it could not be done (a full disk, too little memory). 2: the input or the
    arguments are at fault. 130, 143: stopped by Ctrl-C or SIGTERM.
    """
    try:
        _open_closed_streams()
        from driftsieve.cli.app import run  # here, so that Ctrl-C while it loads is quiet too

        return run(list(sys.argv[1:] if arguments is None else arguments))
    except KeyboardInterrupt:
        return 130


def _open_closed_streams() -> None:
    """Give the standard streams that are closed (``>&-``) to nobody.

    Else the next file that is opened would get their number, and what is meant for them.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: PTH123, SIM115 - stays open
