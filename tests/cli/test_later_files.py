"""``--resume --accept-changed-input``: files that came since, and which of them are not read."""

import gzip
from pathlib import Path

import pytest

from driftsieve.cli.checkpoint import Checkpoint

from .helpers import csv_text

COMMAND = ["--target", "kind", "--top", 0, "--state", "s.dsv"]
AGAIN = [*COMMAND, "--resume", "--accept-changed-input"]


def write(*days: int, rows: int = 100) -> None:
    for day in days:
        Path(f"day{day}.csv").write_text(csv_text(rows, seed=day))


def append(name: str, rows: int = 20) -> None:
    with Path(name).open("a") as file:
        file.write(csv_text(rows, seed=9).partition("\n")[2])


@pytest.fixture
def refused(call):
    """See that files are refused for a reason, and that the state is left alone."""

    def check(reason: str, *files: str) -> None:
        before = Path("s.dsv").read_bytes()
        code, out, err = call("screen", *files, *AGAIN)
        assert (code, out) == (2, "")
        assert f"rows must be those of the run to resume, but {reason}" in err
        assert "new files last" in err
        assert Path("s.dsv").read_bytes() == before

    return check


def test_a_late_file_that_sorts_first_is_refused(call, refused):
    write(2, 3)
    assert call("screen", "day*.csv", *COMMAND).code == 0
    write(1)
    refused("day2.csv was read and day1.csv is now in its place", "day*.csv")
    named_last = ["day2.csv", "day3.csv", "day1.csv"]
    assert call("screen", *named_last, *AGAIN).code == 0
    resumed = Path("s.dsv").read_bytes()
    assert call("screen", *named_last, *COMMAND, "--force").code == 0
    assert Path("s.dsv").read_bytes() == resumed


def test_a_late_file_among_those_read_is_refused(call, refused):
    write(1, 3)
    assert call("screen", "day*.csv", *COMMAND).code == 0
    write(2)
    refused("day3.csv was read and day2.csv is now in its place", "day*.csv")


def test_missing_read_file_is_refused_on_resume(call, refused):
    write(1, 2)
    assert call("screen", "day*.csv", *COMMAND).code == 0
    refused("day2.csv was read and is no longer among the files", "day1.csv")
    write(3)
    refused("day1.csv was read and day2.csv is now in its place", "day2.csv", "day3.csv")


def test_rows_are_appended_to_the_last_file_only(call, refused):
    write(1, 2)
    assert call("screen", "day*.csv", *COMMAND).code == 0
    append("day2.csv")
    assert "220 rows" in call("screen", "day*.csv", *AGAIN).out
    append("day1.csv")
    refused("day1.csv had ", "day*.csv")


def test_unread_files_may_change(call):
    """A run that stops at a bad row in its first file has not read the second."""
    write(1, 3)
    good = Path("day1.csv").read_text()
    Path("day1.csv").write_text(good + "bad\n")
    small = [*COMMAND, "--batch-size", 50]
    assert call("screen", "day*.csv", *small).code == 2
    assert Checkpoint.load("s.dsv").bank.n_rows == 100
    write(2)
    again = [*small, "--resume", "--accept-changed-input", "--on-error", "skip"]
    assert "300 rows" in call("screen", "day*.csv", *again).out


def test_read_files_may_move_and_grow(call):
    write(1)
    assert call("screen", "day1.csv", *COMMAND).code == 0
    Path("day1.csv").rename("old.csv")
    append("old.csv")
    assert "120 rows" in call("screen", "old.csv", *AGAIN).out


def test_a_changed_file_of_the_same_name_is_detected(call):
    Path("a.csv.gz").write_bytes(gzip.compress(csv_text(100).encode()))
    assert call("screen", "a.csv.gz", *COMMAND).code == 0
    rows = csv_text(100) + csv_text(20, seed=1).partition("\n")[2]
    Path("a.csv.gz").write_bytes(gzip.compress(rows.encode()))  # other bytes from the start
    assert "120 rows" in call("screen", "a.csv.gz", *AGAIN).out
