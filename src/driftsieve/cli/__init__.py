"""The command line, ``driftsieve``: one file for each command."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; errors are one line on standard error.

    0: it is done. 1: it could not be done (a full disk, too little memory). 2: the input or the
    arguments are at fault. 130, 143: stopped by Ctrl-C or SIGTERM.
    """
    try:
        from driftsieve.cli.app import run  # here, so that Ctrl-C while it loads is quiet too
    except KeyboardInterrupt:
        return 130
    return run(list(sys.argv[1:] if arguments is None else arguments))
