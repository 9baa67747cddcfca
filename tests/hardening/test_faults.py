"""Faults around a run: full disks, read-only folders, files that change, broken pipes.

SIGTERM and SIGKILL are tested in tests/cli/test_signals.py, tests/cli/test_kill.py and
tests/_storage/test_atomic.py.
"""

import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import driftsieve as ds
from driftsieve import cli
from driftsieve.cli.checkpoint import Checkpoint
from driftsieve.exceptions import SourceError

DRIFTSIEVE = str(Path(sys.executable).with_name("driftsieve"))
OPTIONS = ["--target", "y", "--half-life", "300", "--batch-size", "100", "--threads", "1"]


def csv_lines(n, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    x = rng.normal(size=(n, 4)) + y[:, None]
    return [",".join(f"{v:.6f}" for v in row) + f",{c}\n" for row, c in zip(x, y, strict=True)]


def write(path, lines, header="a,b,c,d,y\n"):
    path.write_text(header + "".join(lines))
    return path


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def screen(*arguments, **options):
    command = [DRIFTSIEVE, "screen", *map(str, arguments), *OPTIONS]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **options)


def run(*arguments):
    return cli.main(["screen", *map(str, arguments), *OPTIONS])


def bits(state):
    return Checkpoint.load(state).bank.to_bytes()


# --- disk full ----------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path):
    """A file system of its own with room for one checkpoint, not for two."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=48k", "tmpfs", str(place)]
    if os.getuid() != 0 or shutil.which("mount") is None or subprocess.run(mount).returncode:
        pytest.skip("mounting a small file system takes more rights than this user has")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def full_by_limit():
    """Files of this process may have 20,000 bytes; Python gets an error instead of a signal."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))


def check_full(place, source, message, **options):
    """The last whole checkpoint stays, nothing else is left, and the run can go on from it."""
    arguments = [source, "--state", place / "s.dsv", "--checkpoint-every", "100"]
    done = screen(*arguments, **options)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert message in done.stderr
    assert [path.name for path in place.iterdir()] == ["s.dsv"]
    before = Checkpoint.load(place / "s.dsv")
    assert 0 < before.place.position == before.bank.n_rows < 2000
    shutil.copy(place / "s.dsv", "moved.dsv")
    assert run(source, "--state", "moved.dsv", "--resume") == 0
    assert run(source, "--state", "whole.dsv") == 0
    assert bits("moved.dsv") == bits("whole.dsv")


def test_a_full_disk_leaves_the_last_checkpoint(small_disk, folder):
    source = write(folder / "a.csv", csv_lines(2000))
    check_full(small_disk, source, "No space left on device")


def test_a_limit_on_file_sizes_leaves_the_last_checkpoint(folder):
    source = write(folder / "a.csv", csv_lines(2000))
    (folder / "state").mkdir()
    check_full(folder / "state", source, "File too large", preexec_fn=full_by_limit)


def test_a_full_disk_leaves_earlier_results(small_disk, folder):
    source = write(folder / "a.csv", csv_lines(2000))
    old = small_disk / "r.csv"
    old.write_text("from an earlier run")
    (small_disk / "other").write_bytes(b"x" * 44_000)
    done = screen(source, "--out", old)
    assert done.returncode == 1
    assert "No space left on device" in done.stderr
    assert old.read_text() == "from an earlier run"
    assert sorted(path.name for path in small_disk.iterdir()) == ["other", "r.csv"]


# --- read-only folder ---------------------------------------------------------------------------


@pytest.fixture
def read_only(small_disk):
    """A folder in which even root cannot write, with one file."""
    write(small_disk / "a.csv", csv_lines(300))
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    return small_disk


@pytest.mark.parametrize(
    ("option", "name"), [("--state", "s.dsv"), ("--out", "r.csv"), ("--report", "r.html")]
)
def test_unwritable_folder_is_an_error_before_any_row_is_read(
    option, name, read_only, monkeypatch, capfd
):
    monkeypatch.setattr(ds.Bank, "update", lambda *_: pytest.fail("a row was read"))
    assert run(read_only / "a.csv", option, read_only / name) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert "must be writable" in err


# --- files that change while they are read --------------------------------------------------------


def meddle(monkeypatch, function, after=2):
    """Call the function once the bank has taken some batches."""
    update, left = ds.Bank.update, [after]

    def meddling(self, batch):
        left[0] -= 1
        if left[0] == 0:
            function()
        return update(self, batch)

    monkeypatch.setattr(ds.Bank, "update", meddling)


def test_file_deleted_while_open_is_read_to_its_end(folder):
    """An open file stays until it is closed."""
    source = write(folder / "a.csv", csv_lines(1000))
    batches = ds.as_batches(source, target="y", batch_size=100)
    next(batches)
    source.unlink()
    assert 100 + sum(batch.n_rows for batch in batches) == batches.rows_read == 1000


def test_deleted_file_is_named_and_earlier_rows_are_kept(folder, monkeypatch, capfd):
    names = [write(folder / f"{k}.csv", csv_lines(500, k)) for k in range(3)]
    meddle(monkeypatch, lambda: names[2].rename("away.csv"))
    assert run(*names, "--state", "s.dsv") != 0
    out, err = capfd.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert "2.csv: No such file or directory" in err
    assert Checkpoint.load("s.dsv").bank.n_rows == 1000
    monkeypatch.undo()
    Path(folder / "away.csv").rename(names[2])
    monkeypatch.chdir(folder)
    assert run(*names, "--state", "s.dsv", "--resume") == 0
    assert run(*names, "--state", "whole.dsv") == 0
    assert bits("s.dsv") == bits("whole.dsv")


def test_rows_that_are_added_while_a_file_is_read_are_read_too_and_counted(folder, monkeypatch):
    source = write(folder / "a.csv", csv_lines(6000))  # more than is read before the first batch
    more = csv_lines(300, seed=1)

    def grow():
        with source.open("a") as file:
            file.writelines(more)

    meddle(monkeypatch, grow)
    batches = ds.as_batches(source, target="y", batch_size=100)
    bank = ds.Bank()
    for batch in batches:
        bank.update(batch)
    assert bank.n_rows == batches.rows_read == 6300


def test_resume_with_a_grown_file_is_refused(folder, capfd):
    source = write(folder / "a.csv", csv_lines(1000))
    assert run(source, "--state", "s.dsv") == 0
    write(source, csv_lines(1000) + csv_lines(200, seed=1))
    assert run(source, "--state", "s.dsv", "--resume") == 2
    assert "The input must be that of the run to resume" in capfd.readouterr().err
    assert run(source, "--state", "s.dsv", "--resume", "--accept-changed-input") == 0
    assert Checkpoint.load("s.dsv").bank.n_rows == 1200


def test_truncated_row_is_reported(folder):
    """The writer of the file has written half of a row."""
    source = write(folder / "a.csv", [*csv_lines(100), "1.5,0.2"])
    with pytest.raises(SourceError, match=r"a\.csv, line 102: A row must have 5 columns, got 2."):
        list(ds.as_batches(source, target="y"))
    batches = ds.as_batches(source, target="y", on_error="skip")
    assert sum(batch.n_rows for batch in batches) == 100
    assert (batches.rows_read, batches.rows_skipped) == (101, 1)


# --- limits ---------------------------------------------------------------------------------------


def test_a_run_that_reached_a_limit_resumes_with_a_larger_one(folder, capfd):
    lines = csv_lines(1000)
    lines[600] = lines[600].replace(",0\n", ",2\n").replace(",1\n", ",2\n")
    source = write(folder / "a.csv", lines)
    assert run(source, "--state", "s.dsv", "--max-classes", "2") == 2
    assert "--max-classes 2" in capfd.readouterr().err
    assert Checkpoint.load("s.dsv").bank.n_rows == 600
    assert run(source, "--state", "s.dsv", "--max-classes", "3", "--resume") == 0
    assert run(source, "--state", "whole.dsv", "--max-classes", "3") == 0
    assert bits("s.dsv") == bits("whole.dsv")


# --- pipes and clocks -----------------------------------------------------------------------------


def test_closed_output_pipe_ends_the_command_quietly(folder):
    source = write(folder / "a.csv", csv_lines(500))
    command = f"{DRIFTSIEVE} screen {source} {' '.join(OPTIONS)} --state s.dsv --json"
    shell = ["bash", "-c", f"set -o pipefail; {command} | true; exit ${{PIPESTATUS[0]}}"]
    done = subprocess.run(shell, capture_output=True, text=True, timeout=120)
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") <= 1
    assert Checkpoint.load("s.dsv").bank.n_rows == 500


@pytest.mark.usefixtures("folder")
def test_input_that_breaks_off_keeps_the_rows_before():
    """All rows from a pipe count, because a broken pipe looks the same as its end."""
    text = "a,b,c,d,y\n" + "".join(csv_lines(450))
    done = screen("-", "--format", "csv", "--state", "s.dsv", input=text)
    assert done.returncode == 0, done.stderr
    assert Checkpoint.load("s.dsv").bank.n_rows == 450


def test_the_clock_of_the_machine_does_not_matter(folder, monkeypatch):
    source = write(folder / "a.csv", csv_lines(1000))
    assert run(source, "--state", "plain.dsv", "--checkpoint-every", "1s") == 0
    jumps = iter(np.tile([1e9, 3e9, 0.0, -1e9, 2e9], 10_000))
    monkeypatch.setattr(time, "time", lambda: float(next(jumps)))
    assert run(source, "--state", "jumpy.dsv", "--checkpoint-every", "1s") == 0
    assert bits("jumpy.dsv") == bits("plain.dsv")


def test_rows_read_are_rows_counted_and_rows_skipped(folder, capfd):
    lines = csv_lines(1000)
    lines[::90] = ["oops\n"] * len(lines[::90])
    source = write(folder / "a.csv", lines)
    assert run(source, "--state", "s.dsv", "--on-error", "skip") == 0
    checkpoint = Checkpoint.load("s.dsv")
    assert checkpoint.place.rows_skipped == len(lines[::90])
    assert checkpoint.bank.n_rows + checkpoint.place.rows_skipped == 1000
    assert checkpoint.place.position == 1000
    assert f"{len(lines[::90])} rows" in capfd.readouterr().err
