"""Ctrl-C and SIGTERM: a checkpoint, a message on how to continue, and the exit code."""

import importlib
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from driftsieve.cli.checkpoint import Checkpoint
from driftsieve.cli.signals import Signals, Stop

from .helpers import DRIFTSIEVE, csv_text


def wait_for(condition) -> None:
    for _ in range(600):
        if condition():
            return
        time.sleep(0.1)
    pytest.fail("it did not come to that within a minute")


def stopped(arguments: list[str], text: str, number: int) -> tuple[int, str]:
    """Feed the text, send the signal once the command waits for more; exit code and messages."""
    process = subprocess.Popen(
        [DRIFTSIEVE, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin is not None
    process.stdin.write(text.encode())
    process.stdin.flush()
    wait_for(lambda: Path("s.dsv").exists() and Checkpoint.load("s.dsv").place.position == 5000)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert out == b""
    return process.returncode, err.decode()


def results() -> tuple[bytes, bytes, bytes]:
    """The bank, the history and the ranking file of a run that came to its end."""
    checkpoint = Checkpoint.load("s.dsv")
    assert checkpoint.history is not None
    return checkpoint.bank.to_bytes(), checkpoint.history.to_bytes(), Path("r.csv").read_bytes()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_writes_a_checkpoint_and_prints_how_to_continue(
    number, code, call, stream, monkeypatch
):
    lines = csv_text(6000)  # of which the first 4,096 are inspected before any is screened
    stream.write_text(lines)
    part = "".join(lines.splitlines(keepends=True)[:5560])  # inside the sixth batch
    options = ["--target", "kind", "--half-life", "100", "--batch-size", "1000", "--out", "r.csv"]
    options += ["--history-every", "1000", "--state", "s.dsv", "--checkpoint-every", "1000"]
    found, err = stopped(["screen", "-", "--format", "csv", *options], part, number)
    assert found == code
    assert err.count("\n") == 1
    assert err.startswith(
        "Stopped after 5,000 rows, which are saved in s.dsv. To continue: driftsieve "
    )
    assert not Path("r.csv").exists()

    go_on = shlex.split(err.partition("To continue: driftsieve ")[2])
    with stream.open() as text, monkeypatch.context() as patch:
        patch.setattr("sys.stdin", text)
        assert call(*go_on).code == 0
    resumed = results()
    assert call("screen", stream, *options, "--force").code == 0
    assert resumed == results()


class Interrupting:
    """Calls a function as it is called, and sends this process SIGINT at the n-th time."""

    def __init__(self, function, n: int) -> None:
        self.function, self.left = function, n

    def __call__(self, *args, **kwargs):
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGINT)
        return self.function(*args, **kwargs)


@pytest.mark.parametrize(
    ("where", "rows"),
    [
        ("driftsieve.bank.Bank.update", 300),  # the current batch is finished
        ("driftsieve.sources.files.csv.text.chunked", 0),  # waiting for input: at once
        ("driftsieve.history.ScoreHistory.record", 300),
        ("driftsieve.cli.checkpoint.Checkpoint.save", 300),
    ],
)
def test_signal_at_any_moment_leaves_a_valid_checkpoint(where, rows, call, stream, monkeypatch):
    arguments = ["screen", stream, "--target", "kind", "--batch-size", 100, "--state", "s.dsv"]
    arguments += ["--history-every", 100, "--checkpoint-every", 100, "--out", "r.csv"]
    assert call(*arguments).code == 0
    expected = {name: Path(name).read_bytes() for name in ("s.dsv", "r.csv")}
    for name in expected:
        Path(name).unlink()

    module, _, name = where.rpartition(".")
    function = Interrupting(_resolve(where), 1 if rows == 0 else 3)
    with monkeypatch.context() as patch:
        patch.setattr(f"{module}.{name}", lambda *a, **k: function(*a, **k))
        code, out, err = call(*arguments)
    assert (code, out) == (130, "")
    if rows:
        assert err.startswith(f"Stopped after {rows} rows, which are saved in s.dsv. To continue: ")
        assert Checkpoint.load("s.dsv").bank.n_rows == rows
    else:
        assert err == "Stopped before the first batch. Nothing is saved in s.dsv yet.\n"
    assert call(*arguments, "--resume").code == 0
    assert expected == {name: Path(name).read_bytes() for name in expected}


def _resolve(where: str):
    parts = where.split(".")
    for i in range(len(parts) - 1, 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:i]))
        except ModuleNotFoundError:
            continue
        for part in parts[i:]:
            found = getattr(found, part)
        return found
    raise AssertionError(where)


def test_without_a_state_a_stopped_run_reports_that_nothing_is_kept(call, stream, monkeypatch):
    function = Interrupting(_resolve("driftsieve.bank.Bank.update"), 2)
    monkeypatch.setattr("driftsieve.bank.Bank.update", lambda *a: function(*a))
    code, out, err = call("screen", stream, "--target", "kind", "--batch-size", 100)
    assert (code, out) == (130, "")
    assert err == "Stopped after 200 rows. Nothing is saved without --state.\n"


def test_skipped_rows_are_reported_when_the_run_is_stopped(call, stream, monkeypatch):
    lines = stream.read_text().splitlines()
    stream.write_text("\n".join([*lines[:2], "bad", *lines[2:]]))
    function = Interrupting(_resolve("driftsieve.bank.Bank.update"), 2)
    monkeypatch.setattr("driftsieve.bank.Bank.update", lambda *a: function(*a))
    skip = ["--target", "kind", "--batch-size", 100, "--on-error", "skip"]
    code, _, err = call("screen", stream, *skip)
    assert code == 130
    assert err.splitlines() == [
        "Left out 1 row that could not be used:",
        f"  {stream}, line 3: A row must have 5 columns, got 1.",
        "Stopped after 199 rows. Nothing is saved without --state.",
    ]


def test_signals_are_deferred_to_the_end_of_a_critical_section():
    done = []
    before = signal.getsignal(signal.SIGTERM)
    with Signals() as signals:
        with pytest.raises(Stop) as stop, signals.whole():  # noqa: PT012
            os.kill(os.getpid(), signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGTERM)
            done.append("all of it")
        assert stop.value.code == 143
    assert done == ["all of it"]
    assert signal.getsignal(signal.SIGTERM) is before
    with Signals(), pytest.raises(Stop):
        signal.raise_signal(signal.SIGINT)


def test_ctrl_c_in_other_commands_ends_quietly(call, folder, monkeypatch):
    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr("driftsieve.cli.inspect.read_state", interrupted)
    code, out, err = call("inspect", folder / "s.dsv")
    assert (code, out) == (130, "")
    assert "Traceback" not in err


LOADING = """
import os, signal, sys
class Interrupting:
    def find_spec(self, name, *_):
        if name == sys.argv[1]:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupting())
from driftsieve.cli import main
sys.exit(main(["demo"]))
"""


@pytest.mark.parametrize("module", ["numpy", "driftsieve.bank", "typer"])
def test_ctrl_c_while_it_loads_ends_quietly(module):
    command = [sys.executable, "-c", LOADING, module]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
