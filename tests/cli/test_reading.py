"""How ``screen`` reads csv: marks, decimals, half-lives with units, files that are named twice."""

import json
from pathlib import Path

import numpy as np
import pytest

from driftsieve.cli.checkpoint import Checkpoint

pytestmark = pytest.mark.usefixtures("folder")

ROWS = [f"{i % 7},{i % 3},{i % 2}" for i in range(60)]


def write(name, rows, header="a,b,y"):
    Path(name).write_text("\n".join([header, *rows]) + "\n")


def test_inspect_shows_how_columns_were_read(call):
    write("a.csv", [f"{i},{'uv'[i % 2]},{i % 2}" for i in range(40)])
    assert call("screen", "a.csv", "--target", "y", "--state", "s.dsv", "--top", 0).code == 0
    lines = call("inspect", "s.dsv").out.splitlines()
    assert [line.split(maxsplit=3)[2:] for line in lines if line.startswith("read as")] == [
        ["numbers", "a, y"],
        ["text", "b"],
    ]
    found = json.loads(call("inspect", "s.dsv", "--json").out)
    assert found["input"]["columns"] == {"a": "numbers", "b": "text", "y": "numbers"}


def test_numeric_column_read_as_text_is_reported_in_one_line(call):
    write("a.csv", [f'"{i},5",1,{i % 2}' for i in range(40)])
    code, _, err = call("screen", "a.csv", "--target", "y", "--top", 0)
    assert code == 0
    assert err == (
        "a.csv: Column 'a' is read as text, one feature for each value, although "
        "values look like numbers, such as '0,5'. Pass --decimal ',', or --categorical a if it "
        "holds codes.\n"
    )
    for option in (["--decimal", ","], ["--categorical", "a"], ["--drop", "a"]):
        assert call("screen", "a.csv", "--target", "y", "--top", 0, *option).err == ""


def test_marks_and_decimals_are_part_of_the_settings(call):
    rows = ["-9,1,0", "-9,2,1", *ROWS]
    write("a.csv", rows)
    options = ["screen", "a.csv", "--target", "y", "--state", "s.dsv", "--top", 0]
    options += ["--missing", "ignore"]
    assert call(*options, "--na", "-9").code == 0
    bank = Checkpoint.load("s.dsv").bank
    assert bank.snapshot().class_weight.tolist() == [31, 31]
    write("a.csv", [*rows, "1,1,0"])
    more = ["--resume", "--accept-changed-input"]
    code, _, err = call(*options, *more)
    assert (code, "--na must be -9, as in the run to resume, got none" in err) == (2, True)
    assert call(*options, *more, "--na", "-9").code == 0
    code, _, err = call(*options, *more, "--na", "-9", "--decimal", ",")
    assert (code, "--decimal must be none, as in the run to resume, got ," in err) == (2, True)


def test_a_file_that_has_grown_is_read_as_before(call):
    write("a.csv", [f"{i},{c},{i % 2}" for i, c in enumerate(["red", "blue", "red", "7"])])
    options = ["screen", "a.csv", "--target", "y", "--state", "s.dsv", "--top", 0]
    assert call(*options).code == 0
    with Path("a.csv").open("a") as file:
        file.write("".join(f"{i},{i},{i % 2}\n" for i in range(20)))
    assert call(*options, "--resume", "--accept-changed-input").code == 0
    assert "b=19" in Checkpoint.load("s.dsv").bank.feature_names


@pytest.mark.parametrize(
    ("times", "half_life", "seconds"),
    [("days", "30d", 2_592_000), ("days", "12h", 43_200), ("seconds", "90s", 90), ("rows", "5", 5)],
)
def test_half_life_is_kept_in_ticks_and_checked_at_a_resume(call, times, half_life, seconds):
    day = np.datetime64("2024-01-01") + np.arange(60)
    column = {"days": day, "seconds": np.arange(60), "rows": None}[times]
    given = np.zeros(60) if column is None else column
    write("a.csv", [f"{row},{t}" for row, t in zip(ROWS, given, strict=True)], "a,b,y,t")
    options = ["screen", "a.csv", "--target", "y", "--state", "s.dsv", "--top", 0]
    options += ["--drop", "t"] if column is None else ["--time", "t"]
    assert call(*options, "--half-life", half_life).code == 0
    assert Checkpoint.load("s.dsv").bank.half_life == seconds
    equal = f"{seconds}s" if column is not None else f"{seconds}.0"
    assert call(*options, "--half-life", equal, "--resume").code == 0
    code, _, err = call(*options, "--half-life", half_life.replace("5", "6") + "0", "--resume")
    assert code == 2
    assert err.count("\n") == 1


def test_numeric_half_life_with_dates_is_an_error(call):
    write("a.csv", [f"{row},2024-01-{i % 28 + 1:02}" for i, row in enumerate(ROWS)], "a,b,y,t")
    options = ["screen", "a.csv", "--target", "y", "--time", "t", "--state", "s.dsv"]
    for fading in (["--half-life", "1000"], ["--decay", "0.5"]):
        code, out, err = call(*options, *fading)
        assert (code, out) == (2, "")
        assert "--half-life must be a duration where times are dates" in err
        assert "Pass --half-life 30d" in err
        assert not Path("s.dsv").exists()
    code, _, err = call(*options, "--half-life", "3 fortnights")
    assert code == 2
    assert err.startswith("driftsieve: --half-life must be a number or a duration, got '3 fort")
    code, _, err = call("screen", "a.csv", "--target", "y", "--half-life", "30d")
    assert (code, err.count("\n")) == (2, 1)
    assert err.startswith(
        "driftsieve: --half-life must be a number of rows without --time, got 30d"
    )


def test_file_named_twice_is_reported_once(call):
    write("a.csv", ROWS)
    code, out, err = call("screen", "a.csv", "*.csv", "--target", "y", "--top", 0)
    assert (code, err) == (0, "a.csv is given twice. It is read once.\n")
    assert out.startswith("60 rows")


def test_ambiguous_header_error_names_the_options(call):
    write("a.csv", ROWS, "2019,2020,2021")
    code, _, err = call("screen", "a.csv", "--target", "-1")
    assert code == 2
    assert err.endswith("Pass --header or --no-header.\n")
    assert call("screen", "a.csv", "--target", "-1", "--header", "--top", 0).out.startswith("60 r")


@pytest.mark.parametrize(("threads", "code"), [("-1", 0), ("-2", 0), ("0", 2), ("2000", 2)])
def test_threads_must_be_a_valid_number(call, threads, code):
    write("a.csv", ROWS)
    result = call("screen", "a.csv", "--target", "y", "--top", 0, "--threads", threads)
    assert result.code == code
    assert result.err.count("\n") == (code != 0)


def test_names_of_svmlight_features_come_from_a_file(call, folder):
    (folder / "a.svm").write_text("1 1:1 3:2\n0 2:3\n1 1:2\n0 3:1\n" * 5)
    (folder / "names.txt").write_text("spam\nham\neggs and more\n")

    def names(*options):
        code, out, err = call("screen", "a.svm", "--json", *options)
        assert code == 0, err
        return {row["feature"]: row["name"] for row in json.loads(out)["ranking"]}

    assert names() == {0: "x1", 1: "x2", 2: "x3"}
    assert names("--names", "names.txt") == {0: "spam", 1: "ham", 2: "eggs and more"}
    code, _, err = call("screen", "a.svm", "--names", "no.txt")
    assert (code, err) == (2, "driftsieve: no.txt: No such file or directory\n")
    (folder / "names.txt").write_text("spam\nham\n")
    code, _, err = call("screen", "a.svm", "--names", "names.txt")
    assert (code, err) == (
        2,
        (
            "driftsieve: a.svm, line 1: --names must have a name for each index, got index 3 and 2 "
            "names. Pass a longer list of names.\n"
        ),
    )
