"""Runs commands in forked children: loaded once, one process each, killed on request."""

import json
import os
import signal
import sys
import time
from pathlib import Path

# All that a command may import, before the first fork (pyarrow imports pandas when it is used).
import pandas as pd  # noqa: F401
import pyarrow.csv
import pyarrow.parquet  # noqa: F401

from driftsieve import cli
from driftsieve.cli.app import COMMANDS, load

for command in COMMANDS:
    load(command)


def inode(path: str) -> int:
    try:
        return Path(path).stat().st_ino
    except FileNotFoundError:
        return 0


def kill(child: int, path: str, n: int, seconds: float) -> None:
    last = inode(path)
    while n and os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        now = inode(path)
        n -= now != last
        last = now
        time.sleep(0.0005)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)  # an ended child keeps its number until it is waited for


def serve() -> None:
    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if not child:
            quiet = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(quiet, stream)
            os._exit(cli.main(order["arguments"]))
        if order["kill"]:
            kill(child, *order["kill"])
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    serve()
