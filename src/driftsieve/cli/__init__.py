"""The command line, ``driftsieve``: one file for each command."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; errors are one line on standard error.

    0: success. 1: failure, such as a full disk or too little memory. 2: bad input or arguments.
    130, 143: stopped by Ctrl-C or SIGTERM.
    """
    try:
        _open_closed_streams()
        from driftsieve.cli.app import run  # imported here, so that Ctrl-C meanwhile prints nothing

        return run(list(sys.argv[1:] if arguments is None else arguments))
    except KeyboardInterrupt:
        return 130


def _open_closed_streams() -> None:
    """Open standard streams that are closed (``>&-``) on the null device.

    Otherwise the next file to be opened would get their descriptor, and their output.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: PTH123, SIM115 - stays open
