"""Bad input gives one line that names the file, exit code 2, and leaves every output alone."""

import errno
import gzip
import os
from pathlib import Path

import pandas as pd
import pytest

from driftsieve._storage import atomic
from driftsieve.bank import Bank
from driftsieve.cli.checkpoint import Checkpoint

GOOD = "a,b,y\n1,2,0\n3,4,1\n5,6,0\n"


def truncated_gz(path: Path) -> None:
    rows = "".join(f"{i},{i * i % 1009},{i % 2}\n" for i in range(3000))
    path.write_bytes(gzip.compress(b"a,b,y\n" + rows.encode())[:-200])


def huge_line(path: Path) -> None:
    with path.open("wb") as file:
        file.write(GOOD.encode())
        for _ in range(100):
            file.write(b"1," * (1 << 19))


CASES = {
    "missing": ("nowhere.csv", None, "nowhere.csv: No such file."),
    "no match": ("day*.csv", None, "day*.csv: A pattern must match at least one file"),
    "empty": ("a.csv", b"", "a.csv: The file must have rows, got none."),
    "header alone": ("a.csv", b"a,b,y\n", "a.csv: The file must have rows, got none."),
    "directory": (
        "a.csv",
        lambda path: path.mkdir(),
        "a.csv: A source must be a file, got a directory",
    ),
    "unknown suffix": (
        "a.data",
        GOOD.encode(),
        "a.data: --format must be given for a file of this name, got none. Pass one of ",
    ),
    "gz in csv": (
        "a.csv",
        gzip.compress(GOOD.encode()),
        "a.csv: A file must have the format of its suffix, got a gzip",
    ),
    "csv in gz": (
        "a.csv.gz",
        GOOD.encode(),
        "a.csv.gz, near line 1: The file cannot be read: Not a gzipped",
    ),
    "csv in parquet": ("a.parquet", GOOD.encode(), "a.parquet: The file cannot be read"),
    "csv in arrow": ("a.arrow", GOOD.encode(), "a.arrow: The file cannot be read"),
    "csv in jsonl": ("a.jsonl", GOOD.encode(), "a.jsonl, line 1: A line must be valid JSON"),
    "csv in svm": ("a.svm", GOOD.encode(), "a.svm"),
    "binary": ("a.csv", bytes(range(256)), "a.csv: A file must be text, got binary data."),
    "truncated gz": ("a.csv.gz", truncated_gz, "a.csv.gz, near line "),
    "too many columns": (
        "a.csv",
        b"a,b,y\n1,2,0\n1,2,3,1\n",
        "a.csv, line 3: A row must have 3 columns, got 4",
    ),
    "no such label": (
        "a.csv",
        b"a,b,c\n1,2,0\n",
        "a.csv: A column must be one of 'a', 'b', 'c', got 'y'.",
    ),
    "constant label": (
        "a.csv",
        b"a,b,y\n1,2,0\n3,4,0\n",
        "a.csv: There must be at least two labels, got 0 in all 2 rows",
    ),
    "no features": (
        "a.csv",
        b"y\n1\n0\n",
        "a.csv: There must be at least one column besides the label",
    ),
    "mixed types": (
        "a.csv",
        b"a,b,y\n1,2,0\n1,two,1\n",
        "a.csv, line 3: Column 'b' must hold numbers",
    ),
    "invalid UTF-8": ("a.csv", b"a,b,y\n1,\xff\xfe,0\n", "a.csv, line 2: Text must be UTF-8"),
    "100 MB line": ("a.csv", huge_line, "a.csv, line 5: A line must have at most"),
    "text labels in svm": ("a.svm", b"ham 1:2\nspam 1:3\n", "a.svm, line 1"),
    "infinity": ("a.csv", b"a,b,y\n1,inf,0\n", "a.csv, line 2: Input X contains infinity"),
    "continuous label": ("a.csv", b"a,b,y\n1,2,0.5\n", "a.csv, line 2: Unknown label type"),
}


def make(path: Path, content) -> None:
    if callable(content):
        content(path)
    elif content is not None:
        path.write_bytes(content)


def listing(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("case", CASES)
def test_one_line_exit_code_2_and_no_output(case, call, folder):
    name, content, message = CASES[case]
    make(folder / name, content)
    before = listing(folder)
    target = [] if ".svm" in name else ["--target", "y"]
    outputs = ["--out", "r.csv", "--report", "r.html", "--state", "s.dsv"]
    code, out, err = call("screen", name, *target, *outputs)
    assert (code, out) == (2, "")
    assert err.startswith(f"driftsieve: {message}")
    assert err.endswith("\n")
    assert err.count("\n") == 1
    assert len(err) < 600
    kept = {"s.dsv"} if case in ("constant label", "no features") else set()
    assert listing(folder) == before | kept


def test_separate_process_exits_the_same_way(spawn, folder):
    name, content, message = CASES["too many columns"]
    make(folder / name, content)
    code, out, err = spawn("screen", name, "--target", "y", "--out", "r.csv")
    assert (code, out) == (2, "")
    assert err.startswith(f"driftsieve: {message}")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("rows", "advice"),
    [
        ("1,2\n1,2,0\n", "Pass --on-error skip to leave such rows out."),
        ("1,2,\n1,2,0\n", "Pass --on-error skip to leave such rows out."),  # no label
        ("1,,0\n1,2,1\n", "Pass --missing ignore to leave missing values out."),
        (
            "1,2,0.5\n1,2,1\n",
            "Cut a numeric target into a few classes first.",
        ),  # all rows are such rows
    ],
)
def test_error_of_a_row_says_which_option_to_pass(rows, advice, call, folder):
    (folder / "a.csv").write_text(f"a,b,y\n{rows}")
    assert call("screen", "a.csv", "--target", "y").err.endswith(f" {advice}\n")


def test_outputs_of_an_earlier_run_are_left_as_they_were(call, folder):
    (folder / "a.csv").write_text("a,y\n1,0\nx,1\n")
    for name in ("r.csv", "r.html"):
        (folder / name).write_text("old")
    assert call("screen", "a.csv", "--target", "y", "--out", "r.csv", "--report", "r.html")[0] == 2
    assert {(folder / name).read_text() for name in ("r.csv", "r.html")} == {"old"}


def test_rows_before_a_bad_one_are_kept_where_there_is_a_state(call, folder):
    rows = [f"{i},{i % 2}" for i in range(100)]
    (folder / "a.csv").write_text("\n".join(["a,y", *rows, "x,1", *rows]) + "\n")
    arguments = ["screen", "a.csv", "--target", "y", "--batch-size", 30, "--state", "s.dsv"]
    code, _, err = call(*arguments)
    assert code == 2
    assert err.startswith("driftsieve: a.csv, line 102: Column 'a' must hold numbers")
    assert err.endswith("The 90 rows before are saved in s.dsv: pass --resume.\n")
    assert Checkpoint.load("s.dsv").place.position == 90
    code, out, err = call(*arguments, "--resume", "--on-error", "skip")
    assert code == 0
    assert "200 rows" in out
    assert "Left out 1 row " in err
    resumed = Path("s.dsv").read_bytes()
    assert call(*arguments, "--force", "--on-error", "skip").code == 0
    assert Path("s.dsv").read_bytes() == resumed


def test_rows_of_one_class_are_kept_resumed_and_merged(call, folder):
    for day, label in enumerate(["normal", "fault"]):
        rows = [f"{i + day},{label}" for i in range(50)]
        (folder / f"{day}.csv").write_text("\n".join(["a,y", *rows]) + "\n")
        code, out, err = call(
            "screen", f"{day}.csv", "--target", "y", "--half-life", "none", "--state", f"{day}.dsv"
        )
        assert (code, out) == (2, "")
        assert f"There must be at least two labels, got '{label}' in all 50 rows" in err
        assert err.endswith(f"The 50 rows are saved in {day}.dsv.\n")
    assert call("merge", "0.dsv", "1.dsv", "-o", "both.dsv").code == 0
    both = [
        "0.csv",
        "1.csv",
        "--target",
        "y",
        "--half-life",
        "none",
        "--state",
        "0.dsv",
        "--resume",
    ]
    code, out, _ = call("screen", *both, "--accept-changed-input")
    assert code == 0
    assert "100 rows" in out
    merged = Bank.from_bytes(Path("both.dsv").read_bytes())
    assert merged.n_rows == 100
    assert merged.classes.tolist() == ["fault", "normal"]


def test_error_for_labels_without_weight_names_the_cause(call, folder):
    rows = ["1,a,0", "2,a,0", *(f"{i % 7},b,1" for i in range(3000))]
    (folder / "a.csv").write_text("\n".join(["x,y,w", *rows]))
    arguments = ["screen", "a.csv", "--target", "y"]
    for more, why in [
        (
            ["--half-life", 1],
            "The others have faded: use a longer --half-life or a larger --decay.",
        ),
        (["--decay", 0.5], "The others have faded: use a longer --half-life or a larger --decay."),
        (["--sample-weight", "w"], "Check --sample-weight."),
    ]:
        code, out, err = call(*arguments, *more)
        assert (code, out) == (2, "")
        assert "At least two of the 2 labels must have weight at the end" in err
        assert why in err


def test_rows_before_an_unexpected_error_are_kept_too(call, stream, monkeypatch):
    update = Bank.update

    def broken(self, batch):
        if self.n_rows == 300:
            raise ZeroDivisionError
        return update(self, batch)

    monkeypatch.setattr(Bank, "update", broken)
    code, _, err = call(
        "screen", stream, "--target", "kind", "--batch-size", 100, "--state", "s.dsv"
    )
    assert code == 1
    assert err.endswith("The 300 rows before are saved in s.dsv: pass --resume.\n")
    assert Checkpoint.load("s.dsv").place.position == 300


def test_labels_that_change_their_kind_name_the_rows(call, folder):
    rows = [f'{{"a": {i}, "y": {"true" if i % 2 else "false"}}}' for i in range(10)]
    rows += [f'{{"a": {i}, "y": {i % 2}}}' for i in range(10)]
    (folder / "a.jsonl").write_text("\n".join(rows))
    for size in (10, 15):
        code, _, err = call("screen", "a.jsonl", "--target", "y", "--batch-size", size)
        assert code == 2
        kept = "Labels must be booleans, as in earlier rows"
        assert err.startswith(f"driftsieve: a.jsonl, line 11: {kept}, got 0 of type int. Pass")
    for name, labels in {"a.parquet": [True, False], "b.parquet": [1, 0]}.items():
        pd.DataFrame({"a": [1, 2], "y": labels}).to_parquet(folder / name)
    code, _, err = call("screen", "a.parquet", "b.parquet", "--target", "y")
    assert code == 2
    place = "a.parquet and 1 more, rows 3 to 4"
    assert err.startswith(
        f"driftsieve: {place}: Labels must be booleans, as in earlier rows, got integers"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("screen in.csv --target y --state x --out ./x.csv", None),
        (
            "screen in.csv --target y --state st.csv --out st.csv",
            "--out and --state must be different files",
        ),
        (
            "screen in.csv --target y --state s.json --report ./s.json",
            "--report and --state must be different",
        ),
        (
            "screen in.csv --target y --out r.json --report new.json",
            "--out and --report must be different",
        ),
        (
            "screen in.csv --target y --out in.csv",
            "--out must not be one of the files to read, got in.csv",
        ),
        (
            "screen [hi]*.csv --target y --out link.csv",
            "--out must not be one of the files to read, got link.csv",
        ),
        (
            "screen in.csv --target y --state in.csv --force",
            "--state must not be one of the files to read, got in.csv",
        ),
        ("report a.json -o a.json", "--output must not be one of the files to read, got a.json"),
        ("report a.json -o ../{folder}/a.json", "--output must not be one of the files to read"),
    ],
)
def test_outputs_must_differ_from_inputs_and_each_other(arguments, message, call, folder):
    Path("in.csv").write_text(GOOD)
    Path("link.csv").symlink_to("in.csv")
    Path("new.json").symlink_to("r.json")  # leads nowhere yet
    Path("a.json").write_bytes(Bank().update([[1.0], [2.0]], [0, 1]).to_bytes())
    before = {path: path.read_bytes() for path in folder.iterdir() if path.exists()}
    code, _, err = call(*arguments.format(folder=folder.name).split())
    if message is None:
        assert code == 0
        assert err.startswith("Hint: classes with few effective rows")
        return
    assert code == 2
    assert message in err
    assert err.count("\n") == 1
    assert {path: path.read_bytes() for path in folder.iterdir() if path.exists()} == before


def test_an_output_does_not_get_the_descriptor_of_standard_input(spawn, folder):
    (folder / "in.csv").write_text(GOOD)
    with (folder / "in.csv").open() as rows:
        arguments = ["-", "--format", "csv", "--target", "y", "--out", "in.csv"]
        code, _, err = spawn("screen", *arguments, stdin=rows)
    assert (code, (folder / "in.csv").read_text()) == (2, GOOD)
    assert "--out must not be one of the files to read, got in.csv" in err


@pytest.mark.parametrize("command", ["inspect", "report", "merge"])
def test_files_without_a_state_are_an_error(command, call, stream, folder):
    more = {"inspect": [], "report": ["-o", "r.html"], "merge": ["-o", "c.dsv"]}[command]
    (folder / "empty.dsv").touch()
    for name, message in [
        ("nowhere.dsv", "nowhere.dsv: No such file or directory"),
        (".", ".: Is a directory"),
        (
            stream.name,
            "stream.csv: These bytes must be a Driftsieve state, got another format.",
        ),
        ("empty.dsv", "empty.dsv: These bytes must be a Driftsieve state"),
    ]:
        code, out, err = call(command, name, *more)
        assert (code, out) == (2, "")
        assert err.startswith(f"driftsieve: {message}")
        assert err.count("\n") == 1
    assert listing(folder) == {"stream.csv", "empty.dsv"}


def test_hints_name_the_options_of_the_command(call, folder):
    (folder / "a.svm").write_text("1 0:1\n0 1:2\n1 2:3\n")
    assert "Pass --zero-based if indices start at 0" in call("screen", "a.svm").err
    assert (
        "Pass --zero-based if indices start at 0"
        in call("screen", "a.svm", "--on-error", "skip").err
    )
    (folder / "a.csv").write_text("a,y\n1,0\n,1\n2,1\n")
    for more in ([], ["--on-error", "skip"]):
        assert "Pass --missing ignore to" in call("screen", "a.csv", "--target", "y", *more).err
    options = ["--target", "y", "--sample-weight", "a", "--missing", "ignore"]
    (folder / "a.csv").write_text("a,y,x\n1,0,1\n-1,1,1\n2,1,1\n")
    assert "line 3: --sample-weight must not be negative" in call("screen", "a.csv", *options).err
    (folder / "a.jsonl").write_text('{"y": 0, "c": "u"}\n{"y": 1, "c": "v"}\n')
    err = call("screen", "a.jsonl", "--target", "y", "--max-features", 1).err
    assert "The number of features must be at most --max-features 1, got one more" in err
    assert "out with --drop, raise --max-features, or pass --on-limit" in err
    for more in (["--no-header"], ["--header"]):
        assert "--header must not be given for svmlight" in call("screen", "a.svm", *more).err


def test_hints_leave_names_of_files_and_columns_alone(call, folder):
    (folder / "decay").write_text("max_bytes,epsilon,y\n1,1,0\n,1,1\n2,1,1\n")
    arguments = ["screen", "decay", "--format", "csv", "--target"]
    for more in ([], ["--on-error", "skip"]):
        err = call(*arguments, "y", *more).err
        assert "decay, line 3: Input X contains NaN, column 0 ('max_bytes')." in err
        assert "--decay" not in err
    assert (
        "A column must be one of 'max_bytes', 'epsilon', 'y', got 'time=x'."
        in call(*arguments, "time=x").err
    )


def test_full_disk_error_does_not_name_the_input(call, stream, folder, monkeypatch):
    fsync, written = os.fsync, []

    def full(handle):
        written.append(handle)
        if len(written) > room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return fsync(handle)

    room, problem = 0, "No space left on device"
    monkeypatch.setattr(atomic.os, "fsync", full)
    code, out, err = call("screen", stream, "--target", "kind", "--out", "r.csv")
    assert (code, out, err) == (1, "", f"driftsieve: r.csv: {problem}\n")
    assert listing(folder) == {"stream.csv"}

    arguments = ["screen", stream, "--target", "kind", "--state", "s.dsv", "--out", "r.csv"]
    arguments += ["--checkpoint-every", 500, "--batch-size", 250]
    err = f"driftsieve: s.dsv: {problem}. The state has {{}} rows screened.\n"
    assert call(*arguments) == (1, "", err.format("none of the 500"))
    room, written = 2, []  # a file and its name
    assert call(*arguments) == (1, "", err.format("500 of the 1,000"))
    assert Checkpoint.load("s.dsv").bank.n_rows == 500
    room, written = 4, []
    assert call(*arguments, "--resume") == (
        1, "", f"driftsieve: r.csv: {problem}. The 1,000 rows are saved in s.dsv.\n"
    )  # fmt: skip


def test_an_error_reports_that_rows_were_left_out_before(call, folder):
    rows = [f"{i},0" for i in range(10)]
    (folder / "a.csv").write_text("\n".join(["a,y", *rows, "1,yes", "2,yes"]))
    skip = ["screen", "a.csv", "--target", "y", "--on-error", "skip"]
    first = (
        "a.csv, line 12: Column 'y' must hold numbers, got 'yes'. Pass --na for marks of missing "
    )
    first += "values, --categorical for codes."
    code, out, err = call(*skip)
    assert (code, out) == (2, "")
    assert "There must be at least two labels, got 0 in all 10 rows" in err
    assert err.endswith(f". 2 rows could not be used, the first: {first}\n")
    assert call(*skip, "--state", "s.dsv").err.endswith(
        f"{first} The 10 rows are saved in s.dsv.\n"
    )

    (folder / "b.csv").write_text("a,z\n1,0\n")
    more = ["screen", "a.csv", "b.csv", *skip[2:], "--state", "t.dsv"]
    assert call(*more).err == (
        "driftsieve: b.csv: Rows must have column 'y', as the rows before. 2 rows could not be "
        f"used, the first: {first} The 10 rows before are saved in t.dsv: pass --resume.\n"
    )


def test_internal_error_is_one_line(call, stream, monkeypatch):
    monkeypatch.setattr("driftsieve.cli.screen.Run", lambda *_, **__: {}["oops"])
    code, out, err = call("screen", stream, "--target", "kind")
    assert (code, out) == (1, "")
    assert "Internal error" in err
    assert err.count("\n") == 1
    monkeypatch.setenv("DRIFTSIEVE_DEBUG", "1")
    assert "Traceback" in call("screen", stream, "--target", "kind").err


def test_missing_pyarrow_is_an_error_before_any_work(call, stream, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    code, _, err = call("screen", stream, "--target", "kind", "--out", "r.parquet")
    assert code == 2
    assert 'pip install "driftsieve[files]"' in err
