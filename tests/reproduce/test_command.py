"""`driftsieve reproduce`: its names, its files and its complaints."""

import csv
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from driftsieve.cli import main
from driftsieve.reproduce import command
from driftsieve.reproduce.experiments import EXPERIMENTS, Experiment
from driftsieve.reproduce.fetch import SOURCES
from driftsieve.reproduce.result import Claim, Result, Run

app = typer.Typer()
app.command()(command.reproduce)
runner = CliRunner()


def tiny(run: Run) -> Result:
    table = [{"x": x, "y": x**2 + run.quick} for x in range(3)]
    return Result(
        {"": table},
        {"plot": lambda alt: alt.Chart(alt.Data(values=table)).mark_point().encode(x="x:Q")},
        [Claim("It grows.", "It does.", True), Claim("It falls.", "No.", False)],
    )


def test_list_names_all() -> None:
    result = runner.invoke(app, ["--list"])
    assert result.exit_code == 0
    *names, sets = result.output.splitlines()
    assert [line.split()[0] for line in names] == list(EXPERIMENTS)
    assert sets.split()[1:] == ", ".join(SOURCES).split()


def test_writes_tables_figures_and_verdicts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(EXPERIMENTS, "tiny", Experiment("A trial", tiny))
    result = runner.invoke(app, ["tiny", "--quick", "--out", str(tmp_path / "new")])
    assert result.exit_code == 0, result.output
    assert "holds: It grows. It does." in result.output
    assert "does not hold: It falls. No." in result.output
    with (tmp_path / "new/tiny.csv").open(newline="") as file:
        assert list(csv.reader(file)) == [["x", "y"], ["0", "1"], ["1", "2"], ["2", "5"]]
    assert (tmp_path / "new/tiny.md").read_text().splitlines()[2] == "| 0 | 1 |"
    assert (tmp_path / "new/tiny-plot.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "new/tiny-plot.svg").read_text().startswith("<svg")
    assert "| It falls. | No. | does not hold |" in (tmp_path / "new/tiny-claims.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "NAME is one of table1, "),
        (["figure9"], "got 'figure9'"),
        (["--fetch", "iris", "--data", "."], "--fetch is one of gisette, "),
        (["--fetch", "madelon"], "--fetch needs a folder: --data or DRIFTSIEVE_DATA"),
        (["table1"], "This one needs the real data sets"),
    ],
)
def test_complaints_say_what_there_is(
    arguments: list[str],
    words: str,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As one line of the command line that everyone calls."""
    monkeypatch.delenv("DRIFTSIEVE_DATA", raising=False)
    assert main(["reproduce", *arguments]) == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert words in line
