"""Bad arguments give one line that says so, exit code 2, and nothing else."""

import pytest

import driftsieve as ds
from driftsieve.cli.keeper import Every


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--epsilon", "2"], "driftsieve: --epsilon must be at least 1e-8"),
        (["--decay", "2"], "driftsieve: --decay must be greater than 0 and at most 1"),
        (["--delimiter", "ab"], "driftsieve: --delimiter must be one ASCII character"),
        (["--zero-based"], "driftsieve: --zero-based must not be given for csv files"),
        (["--half-life", "-1"], "--half-life must be greater than 0"),
        (
            ["--half-life", "9", "--decay", ".5"],
            "--decay and --half-life must not both be given, got 0.5 and 9.0.",
        ),
        (["--n-bins", "1"], "--n-bins"),
        (["--n-bins", "9" * 20], "Invalid value for '--n-bins'"),
        (["--threads", "9" * 20], "Invalid value for '--threads'"),
        (["--batch-size", "9" * 20], "Invalid value for '--batch-size'"),
        (["--batch-size", "0"], "--batch-size"),
        (["--top", "many"], "--top"),
        (["--score-func", "magic"], "Invalid value for '--score-func': 'magic' is not one of 't'"),
        (["--format", "xml"], "driftsieve: --format must be one of auto, svmlight"),
        (["--out", "r.xlsx"], "--out must end in .csv or .json or .parquet, got r.xlsx."),
        (["--out", "no/r.csv"], "no/r.csv: The directory"),
        (["--report", "r.pdf"], "--report must end in .html"),
        (["--state", "."], ".: The path must be a regular file"),
        (["--resume"], "--state must be given with"),
        (["--checkpoint-every", "10"], "--state must be given with"),
        (["--force"], "--state must be given with --resume, --force and"),
        (["--accept-changed-input"], "--resume must be given with --accept-changed-input"),
        (
            ["--state", "s.dsv", "--accept-changed-input"],
            "--resume must be given with --accept-changed-input",
        ),
        (
            ["--state", "s.dsv", "--checkpoint-every", "often"],
            "must be a number of rows (100000) or a time",
        ),
        (
            ["--state", "s.dsv", "--checkpoint-every", "0"],
            "must be a number of rows (100000) or a time",
        ),
        (["--state", "s.dsv", "--checkpoint-every", ""], "or a time (30s), got ''"),
        (["--state", "s.dsv", "--checkpoint-every", "1_0_"], "or a time (30s), got '1_0_'"),
        (
            ["--state", "s.dsv", "--checkpoint-every", "9" * 5000],
            "must be a number of rows (100000) or a time",
        ),
        (["--state", "s.dsv", "--resume", "--force"], "must not both be given"),
        (["--no-such-option"], "No such option"),
    ],
)
def test_bad_arguments_are_an_error_before_any_work(arguments, message, call, stream, folder):
    code, out, err = call("screen", stream, "--target", "kind", *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
    assert [path.name for path in folder.iterdir()] == ["stream.csv"]


def test_numbers_of_rows_may_have_underscores():
    assert Every.parse("1_000_000") == Every(rows=1_000_000)
    assert Every.parse(" 1_0 m") == Every(seconds=600)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--clock", "time"), "--time must be the column of the timestamps with --clock time"),
        (("--half-life", "5,5"), "--half-life must have each half-life once, got 5 twice."),
        (("--half-life", "5,9", "--decay", ".5"), "--decay and --half-life must not both be"),
        (("--max-classes", "1"), "Raise --max-classes, or pass --on-limit ignore_new to"),
        (("--max-bytes", "1000"), "1,000 bytes (--max-bytes), got"),
        (("--drop", "kind"), "--target must not be a column of --drop, got 'kind'"),
    ],
)
def test_errors_name_options_instead_of_python_parameters(arguments, message, call, stream):
    code, _, err = call("screen", stream, "--target", "kind", *arguments)
    assert code == 2
    assert message in err


def test_parameters_are_named_as_in_python_outside_of_the_command_line(call, stream):
    call("screen", stream, "--target", "kind", "--epsilon", "2")
    with pytest.raises(ValueError, match=r"^epsilon must be at least 1e-8"):
        ds.Bank(epsilon=2)
    with pytest.raises(ValueError, match=r'^time must be given with clock="time"'):
        ds.Bank(clock="time").update([[1.0]], [0])


def test_quoted_names_in_errors_are_not_translated(call, folder):
    (folder / "na=x, drop=y.csv").write_text("epsilon,n_bins\n1,a\n2,0.5\n")
    code, _, err = call("screen", "na=x, drop=y.csv", "--target", "half_life=3")
    assert code == 2
    assert err.startswith("driftsieve: na=x, drop=y.csv: A column must be one of")
    assert "'epsilon', 'n_bins'" in err
