"""The bar: rows, rate, time left, leaders; on a terminal only."""

import io
import os
import pty
import re
import subprocess

import pytest
from rich.console import Console

from driftsieve.cli.progress import Bar, Quiet, watching
from driftsieve.cli.run import Run, Settings

from .helpers import DRIFTSIEVE


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("driftsieve.cli.progress.time.monotonic", lambda: now[0])
    return now


@pytest.fixture
def run(stream):
    return Run([str(stream)], Settings(target="kind", batch_size=100))


def drawn(bar: Bar) -> str:
    console = Console(file=io.StringIO(), width=100, force_terminal=True, color_system=None)
    console.print(bar.get_renderable())
    return console.file.getvalue()


def bar_of(run, rows_before=0):
    console = Console(file=io.StringIO(), width=100, force_terminal=True)
    return Bar(run.batches, console, rows_before)


def test_rows_rate_and_leaders(run, clock):
    bar = bar_of(run)
    for batch in run.batches:
        run.take(batch)
        clock[0] += 2
        bar.rows_done(run.bank.n_rows, run.leaders)
    text = drawn(bar)
    assert "1,000 rows, 50 a second" in text
    assert "100%" in text
    assert "1. strong  2. colour=" in text
    assert len(text.splitlines()) == 2


def test_leaders_take_a_small_share_of_the_time(run, clock):
    calls = []

    def slow():
        calls.append(clock[0])
        clock[0] += 1  # a second of work
        return ["a"]

    bar = bar_of(run)
    for _ in range(1000):
        clock[0] += 0.1
        bar.rows_done(10, slow)
    assert 3 <= len(calls) <= 6  # of 100 seconds


def test_before_the_first_batch_of_a_resumed_run(run):
    assert "reading up to row 400" in drawn(bar_of(run, rows_before=400))


def test_names_in_the_bar_are_text(run, clock):
    bar = bar_of(run)
    clock[0] += 10
    bar.rows_done(10, lambda: ["[red]\x1b[31m", "b"])
    assert "1. [red]\\x1b[31m  2. b" in drawn(bar)


def test_no_leaders_before_there_are_two_classes(run):
    assert run.leaders() == []


def test_no_progress_bar_without_a_terminal(run, monkeypatch):
    monkeypatch.setattr("sys.stderr", io.StringIO())
    with watching(run.batches, 0) as watch:
        assert isinstance(watch, Quiet)


def test_a_terminal_gets_progress_and_a_table_with_lines(stream):
    ours, theirs = pty.openpty()
    command = [DRIFTSIEVE, "screen", str(stream), "--target", "kind", "--top", "2"]
    environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": "100"}
    process = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, close_fds=True
    )
    os.close(theirs)
    seen = b""
    try:
        while chunk := os.read(ours, 65536):
            seen += chunk
    except OSError:  # that is how a terminal ends on Linux
        pass
    os.close(ours)
    assert process.wait() == 0
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen.decode())
    assert "1,000 rows" in text
    assert "100%" in text
    assert "strong" in text
    assert "─" in text  # the table has lines here
    assert b"\x1b[1m" in seen
