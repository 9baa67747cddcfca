"""Bad arguments give one line that says so, exit code 2, and nothing else."""

import pytest

from driftsieve.cli.keeper import Every


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--epsilon", "2"], "driftsieve: --epsilon must be between 0 and 0.5"),
        (["--alpha", "2"], "driftsieve: --alpha must be greater than 0 and at most 1"),
        (["--delimiter", "ab"], "driftsieve: --delimiter must be one ASCII character"),
        (["--zero-based"], "driftsieve: --zero-based does not go with csv files"),
        (["--half-life", "-1"], "--half-life must be greater than 0"),
        (
            ["--half-life", "9", "--alpha", ".5"],
            "Give --alpha or --half-life, not both: --alpha is 0.5 and",
        ),
        (["--bins", "1"], "--bins"),
        (["--bins", "9" * 20], "Invalid value for '--bins'"),
        (["--threads", "9" * 20], "Invalid value for '--threads'"),
        (["--batch-size", "9" * 20], "Invalid value for '--batch-size'"),
        (["--batch-size", "0"], "--batch-size"),
        (["--top", "many"], "--top"),
        (["--score", "magic"], "--score"),
        (["--format", "xml"], "driftsieve: --format must be one of auto, svmlight"),
        (["--out", "r.xlsx"], "--out r.xlsx: the name must end in .csv or .json or .parquet"),
        (["--out", "no/r.csv"], "no/r.csv: there is no directory"),
        (["--report", "r.pdf"], "--report r.pdf: the name must end in .html"),
        (["--state", "."], ".: is not a file"),
        (["--resume"], "need --state"),
        (["--checkpoint-every", "10"], "need --state"),
        (["--force"], "--force and --checkpoint-every need --state"),
        (["--accept-changed-input"], "--accept-changed-input goes with --resume"),
        (["--state", "s.dsv", "--accept-changed-input"], "goes with --resume"),
        (["--state", "s.dsv", "--checkpoint-every", "often"], "takes rows (100000) or a time"),
        (["--state", "s.dsv", "--checkpoint-every", "0"], "takes rows (100000) or a time"),
        (["--state", "s.dsv", "--checkpoint-every", ""], "or a time (30s), got ''"),
        (["--state", "s.dsv", "--checkpoint-every", "1_0_"], "or a time (30s), got '1_0_'"),
        (["--state", "s.dsv", "--checkpoint-every", "9" * 5000], "takes rows (100000) or a time"),
        (["--state", "s.dsv", "--resume", "--force"], "give one of them"),
        (["--no-such-option"], "No such option"),
    ],
)
def test_bad_arguments_are_told_before_any_work(arguments, message, call, stream, folder):
    code, out, err = call("screen", stream, "--target", "kind", *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
    assert [path.name for path in folder.iterdir()] == ["stream.csv"]


def test_numbers_of_rows_may_have_underscores():
    assert Every.parse("1_000_000") == Every(rows=1_000_000)
    assert Every.parse(" 1_0 m") == Every(seconds=600)
