"""Runs at their limits, which keep reporting what they left out."""

import json
from pathlib import Path

import pytest

from driftsieve.cli.checkpoint import Checkpoint

LIMITED = ["--max-features", 4, "--on-limit", "ignore_new"]


def write(n: int, name: str = "a.csv") -> None:
    """Rows of a number and one of ten words; four features have room for three of the words."""
    rows = [f"{i % 7},word{i % 10},{i % 2}" for i in range(n)]
    Path(name).write_text("\n".join(["n,text,y", *rows]) + "\n")


@pytest.fixture
def screened(call):
    """Screen some of the rows, and return the counts beyond the limits."""

    def run(n: int, *more: object) -> int:
        write(n)
        state = ["--state", "s.dsv", "--resume", "--accept-changed-input", "--batch-size", 100]
        code, out, err = call("screen", "a.csv", "--target", "y", *state, *more, "--json")
        assert code == 0
        found = json.loads(out)
        values = found["beyond_limits"]["values"]
        assert found["rows"] == n
        assert Checkpoint.load("s.dsv").place.values_ignored == values
        assert (f"Left out because of the limits: {values} values" in err) == (values > 0)
        return values

    return run


def test_limits_stop_the_run_or_leave_out_what_is_new(call, folder):
    rows = [f"{i % 7},word{i},{i % 2 if i < 40 else 2}" for i in range(50)]
    (folder / "a.csv").write_text("\n".join(["n,text,y", *rows]) + "\n")
    command = ["screen", "a.csv", "--target", "y", "--max-features", 31, "--max-classes", 2]
    code, out, err = call(*command)
    assert (code, out) == (2, "")
    assert "--max-features" in err
    assert "--on-limit ignore_new" in err
    assert "--max-classes" in call(*command, "--max-features", 100).err
    code, out, err = call(*command, "--on-limit", "ignore_new", "--json")
    assert code == 0
    found = json.loads(out)
    assert (found["rows"], found["features"]) == (40, 31)
    assert found["beyond_limits"] == {"rows": 10, "features": 0, "values": 20}
    assert err == "Left out because of the limits: 10 rows, 20 values\n"


@pytest.mark.parametrize("n", [200, 250])  # whole batches, and a batch that is gone on with
def test_values_left_out_are_counted_over_all_runs(n, screened):
    assert screened(n, *LIMITED) == 0.7 * n
    assert screened(n, *LIMITED) == 0.7 * n
    assert screened(400, *LIMITED) == 280
    Path("s.dsv").unlink()
    assert screened(400, *LIMITED) == 280


@pytest.mark.parametrize("n", [200, 250])
def test_larger_limit_does_not_restore_ignored_values(n, screened):
    assert screened(n, *LIMITED) == 0.7 * n
    assert screened(400, "--max-features", 100) == 0.7 * n
    assert screened(500) == 0.7 * n


def test_a_changed_limit_holds_for_later_rows(screened):
    assert screened(200, *LIMITED) == 140
    assert screened(300, "--max-features", 6, "--on-limit", "ignore_new") == 140 + 50
    assert screened(400, "--max-features", 2, "--on-limit", "ignore_new") == 190 + 90


def test_stopped_run_reports_ignored_values(call):
    write(250)
    with Path("a.csv").open("a") as file:
        file.write("zzz,word1,1\n")
    command = ["screen", "a.csv", "--target", "y", "--batch-size", 100, "--state", "s.dsv"]
    code, out, err = call(*command, *LIMITED)
    assert (code, out) == (2, "")
    assert (
        ". Left out because of the limits: 140 values. The 200 rows before are saved in s.dsv"
        in err
    )
    code, _, err = call(*command, "--resume", "--on-error", "skip", "--max-features", 100)
    assert code == 0
    assert err.endswith("Left out because of the limits: 140 values\n")


def test_inspect_and_merge_report_ignored_values(call):
    rows = [f"{i % 7},word{i % 10},{i % 3}" for i in range(90)]
    Path("a.csv").write_text("\n".join(["n,text,y", *rows, "bad"]) + "\n")
    command = ["screen", "a.csv", "--target", "y", "--on-error", "skip", "--state", "s.dsv"]
    assert call(*command, *LIMITED, "--max-classes", 2).code == 0
    found = json.loads(call("inspect", "s.dsv", "--json").out)
    assert found["beyond_limits"] == {"rows": 30, "features": 0, "values": 63}
    left_out = found["input"]["rows_left_out"] + found["beyond_limits"]["rows"]
    assert found["input"]["rows_read"] == found["rows"] + left_out == 91
    out = call("inspect", "s.dsv").out
    assert "beyond the limits   30 rows, 63 values left out\n" in out
    assert "read                91 rows, 1 could not be used\n" in out

    code, out, err = call("merge", "s.dsv", "s.dsv", "-o", "m.dsv")
    assert (code, err) == (0, "Left out because of the limits: 60 rows, 126 values\n")
    assert out.startswith("120 rows")
    found = json.loads(call("merge", "m.dsv", "s.dsv", "-o", "m.dsv", "--json").out)
    assert found["beyond_limits"] == {"rows": 90, "features": 0, "values": 63}
    found = json.loads(call("inspect", "m.dsv", "--json").out)
    assert found["beyond_limits"] == {
        "rows": 90,
        "features": 0,
        "values": 0,
    }  # a bank does not count values
    assert "beyond the limits   90 rows left out\n" in call("inspect", "m.dsv").out


def test_limits_that_were_not_reached_are_not_reported(call):
    write(100)
    assert call("screen", "a.csv", "--target", "y", "--state", "s.dsv").err == ""
    assert "limits" not in call("inspect", "s.dsv").out
    assert call("merge", "s.dsv", "-o", "m.dsv").err == ""


def test_a_run_continues_if_late_columns_exceed_the_limit(call):
    """Every batch of svmlight has all columns, but most of them have their first value late."""
    lines = [
        f"{i % 2} "
        + " ".join(f"{(37 * i + 401 * j) % 20_000 + 40_000 * j}:1" for j in range(1, 30))
        for i in range(3000)
    ]
    Path("wide.svm").write_text("\n".join(lines) + "\n")
    command = ["screen", "wide.svm", "--batch-size", 250, "--half-life", "none", "--json"]
    command += ["--max-bytes", 9_000_000]
    assert "at most 9,000,000 bytes (--max-bytes)" in call(*command).err
    code, out, err = call(*command, "--on-limit", "ignore_new", "--state", "s.dsv")
    assert code == 0
    found = json.loads(out)
    values = found["beyond_limits"]["values"]
    assert found["rows"] == 3000
    assert 0 < values < 3000 * 29
    assert f"{values:,} values" in err
    assert f"{values:,} values left out" in call("inspect", "s.dsv").out


@pytest.mark.parametrize("on_limit", ["error", "ignore_new"])
def test_a_learned_memory_is_within_max_bytes(call, on_limit):
    """The default half-life: what is learned from counts as well."""
    numbers = (f"{i * j % 97},{i * j % 89}" for i in range(2900) for j in range(1, 31))
    rows = [",".join(row) + f",{i % 2}" for i, row in enumerate(zip(*[numbers] * 30, strict=True))]
    Path("a.csv").write_text("\n".join([*[",".join([*map(str, range(60)), "y"])], *rows]) + "\n")
    command = ["screen", "a.csv", "--header", "--target", "y", "--on-limit", on_limit, "--json"]
    command += ["--batch-size", 300, "--resume", "--state"]
    code, out, _ = call(*command, "whole.dsv")
    assert code == 0
    ladder = Checkpoint.load("whole.dsv").bank.bank.nbytes
    code, out, err = call(*command, "s.dsv", "--max-bytes", int(1.05 * ladder) + 20_000)
    assert (code, json.loads(out)["rows"]) == (0, 2900), err
    bank = Checkpoint.load("s.dsv").bank
    assert bank.nbytes <= bank.max_bytes < 1.06 * Checkpoint.load("whole.dsv").bank.nbytes
    assert call(*command, "t.dsv", "--max-bytes", int(0.7 * ladder)).code == 2
