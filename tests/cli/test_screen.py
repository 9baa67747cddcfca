"""``driftsieve screen``: the ranking it prints and writes is that of the Python interface."""

import csv
import json
import subprocess
from pathlib import Path
from typing import get_args

import numpy as np
import pyarrow.parquet as pq
import pytest

import driftsieve as ds
from driftsieve import report
from driftsieve.cli.checkpoint import Checkpoint
from driftsieve.cli.options import ScoreName
from driftsieve.scores import SCORES, rank

from .helpers import DRIFTSIEVE

ADVICE = "Pass --na for marks of missing values, --categorical for codes."
FEW_ROWS = "classes with few effective rows: 0 (1), 1 (1). Scores say little about them."


def expected(path, score_func="mutual_info", n_bins=5, **settings):
    """(rank, feature, name, score, pvalue) by the Python interface, the best first."""
    bank = ds.Bank(**settings)
    for batch in ds.as_batches(path, target="kind"):
        bank.update(batch)
    snapshot = bank.snapshot(n_bins)
    entry = SCORES[score_func]
    scores = entry.function(snapshot)
    pvalues = entry.pvalues(snapshot).tolist() if entry.pvalues else [None] * len(scores)
    order = np.argsort(rank(scores, entry.larger_is_better)).tolist()
    names = snapshot.feature_names
    return [(i + 1, f, names[f], scores[f].item(), pvalues[f]) for i, f in enumerate(order)]


def test_cli_scores_are_those_of_the_table():
    assert get_args(ScoreName) == tuple(SCORES)


@pytest.mark.parametrize("score", SCORES)
def test_csv_is_the_ranking_of_the_python_interface(call, stream, score):
    code, _, err = call(
        "screen",
        stream,
        "--target",
        "kind",
        "--half-life",
        "none",
        "--score-func",
        score,
        "--out",
        "r.csv",
    )
    assert (code, err) == (0, "")
    with Path("r.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    has_p = SCORES[score].pvalues is not None
    assert header == ["rank", "feature", "name", "score", "pvalue"][: 4 + has_p]
    found = [(int(r), int(f), n, float(s), float(p[0]) if p else None) for r, f, n, s, *p in rows]
    assert found == expected(stream, score)


def test_json_and_parquet_have_the_content_of_csv(call, stream):
    for suffix in ("json", "parquet"):
        assert (
            call(
                "screen", stream, "--target", "kind", "--half-life", "none", "--out", f"r.{suffix}"
            ).code
            == 0
        )
    columns = ("rank", "feature", "name", "score", "pvalue")
    rows = [dict(zip(columns, row, strict=True)) for row in expected(stream)]
    with Path("r.json").open() as file:
        assert json.load(file) == {"score": "mutual_info", "ranking": rows}
    assert pq.read_table("r.parquet").to_pylist() == rows


def test_options_reach_the_bank(call, stream):
    arguments = ["--half-life", 100, "--n-bins", 7, "--epsilon", 0.05, "--out", "r.json"]
    assert call("screen", stream, "--target", "kind", *arguments, "--threads", 1).code == 0
    with Path("r.json").open() as file:
        found = [tuple(row.values()) for row in json.load(file)["ranking"]]
    assert found == expected(stream, n_bins=7, half_life=100, epsilon=0.05)
    assert found != expected(stream, n_bins=7, epsilon=0.05)


def test_an_infinite_score_is_written_in_every_format(call, folder):
    (folder / "a.csv").write_text("a,b,y\n0,1,0\n0,2,0\n1,1,1\n1,2,1\n")
    for suffix in ("csv", "json", "parquet"):
        assert (
            call(
                "screen",
                "a.csv",
                "--target",
                "y",
                "--half-life",
                "none",
                "--score-func",
                "t",
                "--out",
                f"r.{suffix}",
            )[0]
            == 0
        )
    assert (folder / "r.csv").read_text().splitlines()[1].startswith("1,0,a,inf,")
    assert json.loads((folder / "r.json").read_text())["ranking"][0]["score"] == "Infinity"
    assert pq.read_table("r.parquet")["score"][0].as_py() == np.inf


def test_it_prints_plain_columns_into_a_pipe(call, stream):
    code, out, _ = call("screen", stream, "--target", "kind", "--half-life", "none", "--top", 2)
    rows = expected(stream)
    lines = out.splitlines()
    assert code == 0
    assert lines[0].split() == ["rank", "feature", "mutual_info", "p-value"]
    assert lines[1].split() == ["1", rows[0][2], f"{rows[0][3]:.3g}", f"{rows[0][4]:.2g}"]
    assert lines[2].split()[:2] == ["2", rows[1][2]]
    assert lines[3].startswith("1,000 rows, 5 features, 2 classes (ham, spam).")
    assert len(lines) == 4
    assert "\x1b" not in out


def test_json_has_the_ranking_and_the_counts(call, stream):
    code, out, err = call(
        "screen",
        stream,
        "--target",
        "kind",
        "--half-life",
        "none",
        "--top",
        2,
        "--json",
        "--out",
        "r.csv",
    )
    found = json.loads(out)
    assert (code, err) == (0, "")
    assert (found["rows"], found["features"], found["rows_left_out"]) == (1000, 5, 0)
    assert [entry["label"] for entry in found["classes"]] == ["ham", "spam"]
    assert sum(entry["weight"] for entry in found["classes"]) == 1000
    assert [tuple(row.values()) for row in found["ranking"]] == expected(stream)[:2]
    assert (found["out"], found["report"], found["state"]) == ("r.csv", None, None)


def test_nothing_is_printed_with_top_0_but_the_summary(call, stream):
    assert (
        len(
            call(
                "screen", stream, "--target", "kind", "--half-life", "none", "--top", 0
            ).out.splitlines()
        )
        == 1
    )


def test_time_is_the_clock_where_it_is_given(call, folder):
    rng = np.random.default_rng(0)
    lines = [f"{v:.3f},{t},{int(v > 0)}" for t, v in enumerate(rng.normal(size=300))]
    rng.shuffle(lines)
    (folder / "a.csv").write_text("\n".join(["v,when,y", *lines]) + "\n")
    arguments = ["a.csv", "--target", "y", "--time", "when", "--half-life", 50]
    assert call("screen", *arguments, "--state", "a.dsv").code == 0
    bank = Checkpoint.load("a.dsv").bank
    assert (bank.clock, bank.now, bank.n_features) == ("time", 299.0, 1)
    bad = call("screen", *arguments, "--clock", "row")
    assert bad.code == 2
    assert "--drop when" in bad.err
    assert "--time" in call("screen", "a.csv", "--target", "y", "--clock", "time").err


def test_a_tab_may_be_typed_as_two_letters(call, stream, folder):
    (folder / "tabs.csv").write_text(stream.read_text().replace(",", "\t"))
    found = call("screen", "tabs.csv", "--target", "kind", "--delimiter", r"\t")
    assert found == call("screen", stream, "--target", "kind")


def test_weights_drop_and_categorical(call, folder):
    rows = [f"{i},{i % 3},{i % 2},{1 + i % 4}" for i in range(50)]
    (folder / "a.csv").write_text("\n".join(["id,code,y,w", *rows]) + "\n")
    options = ["--sample-weight", "w", "--drop", "id", "--categorical", "code", "--json"]
    found = json.loads(call("screen", "a.csv", "--target", "y", *options).out)
    assert {row["name"] for row in found["ranking"]} == {"code=0", "code=1", "code=2"}
    assert sum(entry["weight"] for entry in found["classes"]) == sum(1 + i % 4 for i in range(50))


def test_standard_input_and_several_files(call, spawn, stream, folder):
    text = stream.read_text()
    header, *lines = text.splitlines(keepends=True)
    (folder / "part1.csv").write_text(header + "".join(lines[:300]))
    (folder / "part2.csv").write_text(header + "".join(lines[300:]))
    whole = call("screen", stream, "--target", "kind")
    piped = spawn("screen", "-", "--format", "csv", "--target", "kind", input=text)
    parts = call("screen", "part*.csv", "--target", "kind")
    assert whole.code == piped.code == parts.code == 0
    assert whole.out == piped.out == parts.out


def test_missing_values_are_an_error_unless_ignored(call, folder):
    (folder / "a.csv").write_text("a,y\n1,0\n,1\n2,0\n3,1\n")
    code, out, err = call("screen", "a.csv", "--target", "y")
    assert (code, out) == (2, "")
    assert "a.csv, line 3" in err
    assert "--missing ignore" in err
    assert call("screen", "a.csv", "--target", "y", "--missing", "ignore").code == 0


def test_rows_left_out_are_counted_and_reported(call, folder):
    (folder / "a.csv").write_text("a,y\n1,0\n2,1,9\n2,1\nx,0\n3,1\n")
    code, out, err = call("screen", "a.csv", "--target", "y", "--on-error", "skip")
    assert code == 0
    assert "3 rows, 1 feature," in out
    assert err.splitlines()[:-1] == [
        "Left out 2 rows that could not be used:",
        "  a.csv, line 3: A row must have 2 columns, got 3.",
        "  a.csv, line 5: Column 'a' must hold numbers, got 'x'. " + ADVICE,
    ]
    found = json.loads(call("screen", "a.csv", "--target", "y", "--on-error", "skip", "--json").out)
    assert found["rows_left_out"] == 2
    assert len(found["reasons"]) == 2


def test_many_skipped_rows_are_reported_in_few_lines(call, folder):
    (folder / "a.csv").write_text("a,y\n1,0\n2,1\n" + "bad\n" * 25)
    err = call("screen", "a.csv", "--target", "y", "--on-error", "skip").err.splitlines()
    assert err[0] == "Left out 25 rows that could not be used:"
    assert len(err) == 13
    assert err[-2:] == ["  and 15 more", "Hint: " + FEW_ROWS]


def test_the_report_has_the_ranking_the_history_and_the_parameters(call, stream):
    arguments = ["--target", "kind", "--half-life", 200, "--history-every", 100]
    for suffix in ("html", "json", "txt"):
        code, _, err = call("screen", stream, *arguments, "--report", f"r.{suffix}")
        assert (code, err) == (0, "")
    with Path("r.json").open() as file:
        content = json.load(file)
    assert content["names"][0] == expected(stream, half_life=200)[0][2]
    assert content["history"]["positions"] == [100.0 * i for i in range(1, 11)]
    assert content["title"] == "stream.csv"
    assert content["parameters"]["half_life"] == 200
    assert content["parameters"]["target"] == "kind"
    with Path("r.html").open(encoding="utf-8") as file:
        assert file.read().startswith("<!doctype html>")
    with Path("r.txt").open(encoding="utf-8") as file:
        assert "by mutual information" in file.read()


def test_a_report_without_history_explains_how_to_record_one(call, stream):
    code, _, err = call("screen", stream, "--target", "kind", "--report", "r.html")
    assert code == 0
    assert "--history-every" in err


def test_the_history_is_that_of_the_bank_after_each_stretch(call, stream):
    arguments = [
        "--target",
        "kind",
        "--half-life",
        "none",
        "--state",
        "s.dsv",
        "--history-every",
        300,
        "--top",
        2,
    ]
    assert call("screen", stream, *arguments).code == 0
    history = Checkpoint.load("s.dsv").history
    assert history.positions.tolist() == [300, 600, 900, 1000]
    assert history.k == 1  # a quarter of five features
    bank = ds.Bank()
    for n, batch in enumerate(ds.as_batches(stream, target="kind", batch_size=300)):
        bank.update(batch)
        scores = ds.scores.mutual_info(bank.snapshot())
        order = np.argsort(history.features)
        known = history.features[order]
        np.testing.assert_array_equal(history.scores[n][order], scores[known])


def test_records_wait_for_a_second_class(call, folder):
    rows = ["1,a"] * 50 + ["1,a", "2,b"] * 50
    (folder / "a.csv").write_text("\n".join(["v,y", *rows]) + "\n")
    arguments = ["a.csv", "--target", "y", "--state", "s.dsv", "--history-every", 20]
    assert call("screen", *arguments).code == 0
    history = Checkpoint.load("s.dsv").history
    assert history.positions.tolist() == [60, 80, 100, 120, 140, 150]


def test_hostile_names_reach_the_terminal_as_text(call, folder):
    hostile = "[bold]\x1b[31m<script>"
    (folder / "a.csv").write_text(f'"{hostile}",y\n1,0\n2,1\n')
    code, out, _ = call("screen", "a.csv", "--target", "y", "--out", "r.csv", "--report", "r.html")
    assert code == 0
    assert "[bold]\\x1b[31m<script>" in out
    with Path("r.csv").open(newline="") as file:
        assert list(csv.reader(file))[1][2] == hostile
    code, _, err = call("screen", "a.csv", "--target", "\x1b[31mnone")
    assert code == 2
    assert "\x1b" not in err


def test_outputs_are_replaced_completely(call, stream, folder):
    (folder / "r.csv").write_text("old")
    inode = (folder / "r.csv").stat().st_ino
    assert call("screen", stream, "--target", "kind", "--out", "r.csv").code == 0
    assert (folder / "r.csv").stat().st_ino != inode
    assert sorted(path.name for path in folder.iterdir()) == ["r.csv", "stream.csv"]


def test_report_is_the_one_of_the_report_module(call, stream):
    assert call("screen", stream, "--target", "kind", "--state", "s.dsv", "--top", 0).code == 0
    assert call("report", "s.dsv", "-o", "r.json", "--score-func", "gini", "--title", "T").code == 0
    snapshot = Checkpoint.load("s.dsv").bank.snapshot()
    content = json.loads(report.to_json(report.build(snapshot, score_func="gini")))
    with Path("r.json").open() as file:
        found = json.load(file)
    assert found["title"] == "T"
    for key in ("names", "scores", "ranks", "pvalues", "certificate", "classes"):
        assert found[key] == content[key]


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_screen_works_with_closed_standard_streams(closed, stream):
    command = f"{DRIFTSIEVE} screen {stream} --target kind --top 1 --state s.dsv --out r.csv"
    done = subprocess.run(f"{command} {closed}", shell=True, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert ("1000" in done.stdout.replace(",", "")) == (">&-" not in closed.split())
    assert Checkpoint.load("s.dsv").bank.n_rows == 1000
    assert len(Path("r.csv").read_text().splitlines()) == 6


def test_a_closed_standard_input_has_no_rows(folder):
    command = f"{DRIFTSIEVE} screen - --format csv --target kind <&-"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=folder)
    assert (done.returncode, done.stderr) == (
        2,
        "driftsieve: -: The file must have rows, got none.\n",
    )


@pytest.mark.parametrize("name", ["~data.csv", "./~data.csv", "~*.csv", "~"])
def test_tilde_is_not_expanded(name, call, stream):
    stream.rename("~" if name == "~" else "~data.csv")
    code, out, _ = call("screen", name, "--target", "kind", "--format", "csv")
    assert code == 0
    assert "1,000 rows" in out
