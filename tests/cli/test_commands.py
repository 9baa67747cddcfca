"""``inspect``, ``report``, ``demo``, and what all commands have in common."""

import csv
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import driftsieve as ds
from driftsieve.cli import demo_stream as demo
from driftsieve.cli.app import COMMANDS, load
from driftsieve.cli.checkpoint import Checkpoint
from driftsieve.history import ScoreHistory

from .helpers import DRIFTSIEVE


def bank_of(stream, *slices, **settings):
    """A bank of some rows of the stream by the Python interface."""
    bank = ds.Bank(**settings)
    for batch in ds.as_batches(stream, target="kind", batch_size=100):
        rows = bank.n_rows
        if any(s.start <= rows < s.stop for s in slices):
            bank.update(batch)
    return bank


def test_inspect_shows_all_about_a_state(stream, call):
    options = ["--target", "kind", "--half-life", 100, "--history-every", 200, "--top", 3]
    assert call("screen", stream, *options, "--state", "s.dsv").code == 0
    bank = Checkpoint.load("s.dsv").bank
    found = json.loads(call("inspect", "s.dsv", "--json").out)
    snapshot = bank.snapshot()
    assert (found["rows"], found["features"], found["now"]) == (1000, 5, 999.0)
    assert found["file_bytes"] == Path("s.dsv").stat().st_size
    assert found["memory_bytes"] == bank.nbytes
    weights = [entry["weight"] for entry in found["classes"]]
    np.testing.assert_array_equal(weights, snapshot.class_weight)
    share = snapshot.rank_error / snapshot.weight.sum(axis=0)
    assert found["rank_error"]["largest"] == pytest.approx(share.max())
    assert found["rank_error"]["exact_features"] == (share == 0).sum()
    assert found["settings"]["half_life"] == 100
    assert found["settings"]["clock"] == "row"
    assert found["input"]["rows_read"] == 1000
    assert found["input"]["files"][0]["name"] == str(stream)
    assert found["input"]["settings"]["target"] == "kind"
    assert found["history"]["records"] == 5
    text = call("inspect", "s.dsv").out
    for part in ("1,000", "ham (", "half_life=100.0", "5 records of mutual_info", str(stream)):
        assert part in text


def test_inspect_a_bank_alone_and_a_history_alone(stream, call):
    Path("b.dsv").write_bytes(bank_of(stream, slice(0, 1000)).to_bytes())
    found = json.loads(call("inspect", "b.dsv", "--json").out)
    assert found["rows"] == 1000
    assert found["settings"]["half_life"] == "Infinity"
    assert "input" not in found
    history = ScoreHistory("t", k=1)
    history.record(10, [1.0, math.inf])
    Path("h.dsh").write_bytes(history.to_bytes())
    found = json.loads(call("inspect", "h.dsh", "--json").out)
    assert found["history"]["records"] == 1
    assert "stability" not in call("inspect", "h.dsh").out  # which takes two records
    assert "rows" not in found
    assert "1 records of t" in call("inspect", "h.dsh").out
    assert call("inspect", "b.dsv").code == 0


def test_inspect_an_empty_bank(call):
    Path("b.dsv").write_bytes(ds.Bank().to_bytes())
    assert json.loads(call("inspect", "b.dsv", "--json").out)["rows"] == 0
    code, _, err = call("report", "b.dsv", "-o", "r.html")
    assert code == 2
    assert "at least 2 classes" in err


def test_report_of_a_bank_and_of_a_history(stream, call):
    options = ["--target", "kind", "--history-every", 100, "--state", "s.dsv", "--top", 3]
    assert call("screen", stream, *options).code == 0
    for name, content in [
        ("b.dsv", Checkpoint.load("s.dsv").bank.to_bytes()),
        ("h.dsh", Checkpoint.load("s.dsv").history.to_bytes()),
    ]:
        Path(name).write_bytes(content)
    reports = {}
    for name in ("s.dsv", "b.dsv", "h.dsh"):
        assert call("report", name, "-o", "r.html").code == 0
        assert call("report", name, "-o", "r.json").code == 0
        reports[name] = json.loads(Path("r.json").read_text())
    assert reports["s.dsv"]["names"] == reports["b.dsv"]["names"]
    assert reports["s.dsv"]["history"] == reports["h.dsh"]["history"]
    assert reports["b.dsv"]["history"] is None
    assert reports["s.dsv"]["parameters"]["target"] == "kind"
    assert reports["h.dsh"]["certificate"] is None
    assert "must hold a bank, got a history" in call("merge", "h.dsh", "-o", "c.dsv").err


@pytest.mark.parametrize("half_life", [None, 300, "auto"])
def test_report_of_a_screener_file_has_its_names_and_memory(half_life, stream, call, folder):
    screener = ds.FeatureScreener(k=2, half_life=half_life)
    for batch in ds.as_batches(stream, target="kind"):
        screener.partial_fit(batch)
    (folder / "s.dss").write_bytes(screener.to_bytes())
    assert call("report", "s.dss", "-o", "r.json") == (0, "Written: r.json\n", "")
    found = json.loads((folder / "r.json").read_text())
    assert sorted(found["names"]) == sorted(screener.feature_names_in_)
    assert (found["memory"] is None) == (half_life != "auto")
    assert call("report", "s.dss", "-o", "r.html").code == 0


def test_report_has_the_names_of_files_without_their_folders(stream, call, folder):
    (folder / "deep").mkdir()
    path = stream.rename(folder / "deep" / "mail.csv")
    options = ["--target", "kind", "--report", "r.html", "--state", "s.dsv"]
    assert call("screen", path, *options).code == 0
    assert call("report", "s.dsv", "-o", "again.html").code == 0
    for name in ("r.html", "again.html"):
        page = (folder / name).read_text()
        assert "mail.csv" in page
        assert "deep" not in page


def test_bank_without_quantiles_reports_no_exact_features(stream, call):
    Path("b.dsv").write_bytes(bank_of(stream, slice(0, 1000), quantiles=False).to_bytes())
    out = call("merge", "b.dsv", "-o", "m.dsv").out
    assert out.splitlines()[0].endswith("2 classes (ham, spam). No quantiles are kept.")
    for command in (["inspect", "b.dsv"], ["merge", "b.dsv", "-o", "m.dsv"]):
        assert json.loads(call(*command, "--json").out)["rank_error"] is None
    out = call("inspect", "b.dsv").out
    assert "quantiles=False" in out
    assert "exact" not in out
    assert "rank error" not in out


@pytest.mark.parametrize(
    ("settings", "refused", "others", "needs"),
    [
        ({"quantiles": False}, "mutual_info", "t or fisher", "quantiles"),
        ({"moments": False}, "t", "mutual_info or chi2 or gini", "moments"),
    ],
)
def test_report_names_the_scores_that_a_bank_has(
    settings, refused, others, needs, stream, call, folder
):
    Path("b.dsv").write_bytes(bank_of(stream, slice(0, 1000), **settings).to_bytes())
    code, out, err = call("report", "b.dsv", "-o", "r.txt", "--score-func", refused)
    message = f"--score-func must be {others} for b.dsv, got {refused}, which needs {needs}."
    assert (code, out, err) == (2, "", f"driftsieve: {message}\n")
    assert not (folder / "r.txt").exists()
    assert call("report", "b.dsv", "-o", "r.txt", "--score-func", others.split()[0]).code == 0


def test_demo_runs_and_saves_its_stream(call):
    code, out, err = call("demo")
    assert (code, err) == (0, "")
    assert "20,000 rows in one pass" in out
    assert call("demo", "--save", "d.csv").code == 0
    with Path("d.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header == [*demo.FEATURES, "state"]
    assert len(rows) == 20_000
    X, y = next(demo.drifting_stream())
    np.testing.assert_allclose(np.array([row[:-1] for row in rows[:500]], float), X, atol=0.051)
    assert [row[-1] for row in rows[:500]] == y.tolist()


def test_demo_saves_csv_and_nothing_else(call, folder):
    code, out, err = call("demo", "--save", "x.parquet")
    assert (code, out) == (2, "")
    assert err == "driftsieve: --save must end in .csv, got x.parquet.\n"
    assert list(folder.iterdir()) == []


def test_version_and_help_are_printed(call):
    assert call("--version").out == f"driftsieve {ds.__version__}\n"
    for command in ("screen", "merge", "inspect", "report", "demo"):
        code, out, _ = call(command, "--help")
        assert code == 0
        assert "Usage: driftsieve " + command in out
    code, out, err = call()
    assert (code, err) == (2, "")
    assert "screen" in out


def test_every_option_is_documented():
    page = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()
    for command in map(load, COMMANDS):
        assert f"driftsieve {command.name}" in page
        for parameter in command.params:
            for option in parameter.opts:
                if option.startswith("--"):
                    assert f"`{option}" in page, f"{command.name} {option}"


def test_the_list_of_commands_has_the_first_line_of_each():
    for name, line in COMMANDS.items():
        first = load(name).help.partition("\n\n")[0]
        assert " ".join(first.split()) == line


def test_help_imports_no_command():
    program = (
        "import sys\n"
        "from driftsieve.cli import main\n"
        "main(['--help'])\n"
        "assert not {'numpy', 'scipy', 'narwhals'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.DEVNULL)


def test_a_screening_of_a_few_rows_imports_no_more_than_it_needs(folder):
    rows = "12,shop,1\n8,friend,0\n9,shop,1\n7,friend,0\n"
    (folder / "four.csv").write_text(f"size,sender,spam\n{rows}")
    program = (
        "import sys\n"
        "from driftsieve.cli import main\n"
        "main(['screen', 'four.csv', '--target', 'spam'])\n"
        "heavy = {'scipy.optimize', 'scipy.stats', 'sklearn', 'pandas', 'pyarrow'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.DEVNULL)


def test_a_wrong_command_is_one_line(call):
    code, out, err = call("scren")
    assert (code, out) == (2, "")
    assert err.startswith("driftsieve: No such command 'scren'.")
    assert err.count("\n") == 1


def test_closed_output_pipe_ends_it_quietly(stream):
    process = os.popen(f"{DRIFTSIEVE} screen {stream} --target kind --json | head -1")
    assert process.read() == "{\n"
    assert process.close() is None


@pytest.mark.parametrize(
    ("words", "completion"),
    [
        ("driftsieve in", "inspect"),
        ("driftsieve screen --half", "--half-life"),
        ("driftsieve screen --score-func mut", "mutual_info"),
        ("driftsieve screen --format par", "parquet"),
    ],
)
def test_shells_complete(words, completion, call, monkeypatch):
    monkeypatch.setenv("_DRIFTSIEVE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    code, out, _ = call()
    assert code == 0
    assert completion in out.split()
