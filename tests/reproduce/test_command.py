"""`driftsieve reproduce`: its names, its files and its complaints."""

import csv
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from driftsieve.cli import main
from driftsieve.reproduce import command, experiments, fetch
from driftsieve.reproduce.datasets import MissingDataError, folder_of
from driftsieve.reproduce.experiments import EXPERIMENTS, Experiment
from driftsieve.reproduce.fetch import SOURCES, Source
from driftsieve.reproduce.result import Claim, ExperimentRun, Result

app = typer.Typer()
app.command()(command.reproduce)
runner = CliRunner()


def tiny(run: ExperimentRun) -> Result:
    table = [{"x": x, "y": x**2 + run.quick} for x in range(3)]
    return Result(
        {"": table},
        {"plot": lambda alt: alt.Chart(alt.Data(values=table)).mark_point().encode(x="x:Q")},
        [Claim("It grows.", "It does.", True), Claim("It falls.", "No.", False)],
    )


def test_list_names_all_experiments_and_data_sets() -> None:
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


def needs_data(run: ExperimentRun) -> Result:
    folder_of(run.data)
    raise MissingDataError("The data set iris is not there.")


@pytest.fixture
def three(monkeypatch: pytest.MonkeyPatch) -> None:
    """Experiments of which one needs data."""
    monkeypatch.delenv("DRIFTSIEVE_DATA", raising=False)
    works = {"one": tiny, "two": needs_data, "three": tiny}
    trials = {name: Experiment("A trial", work) for name, work in works.items()}
    monkeypatch.setattr(experiments, "EXPERIMENTS", trials)


@pytest.mark.usefixtures("three")
def test_all_without_data_are_those_that_need_none(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", "all", "--out", str(tmp_path)]) == 0
    assert {path.stem.split("-")[0] for path in tmp_path.iterdir()} == {"one", "three"}
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith("two is left out: --data must be the folder of the real data sets")


@pytest.mark.usefixtures("three")
def test_all_with_data_continues_and_reports_skipped_experiments(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", "all", "--data", str(tmp_path), "--out", str(tmp_path)]) == 2
    assert (tmp_path / "three.csv").exists()
    assert capfd.readouterr().err.splitlines() == [
        "two is left out: The data set iris is not there.",
        "driftsieve: Left out because of missing data: two.",
    ]


@pytest.mark.usefixtures("three")
def test_all_with_a_missing_folder_fails_immediately(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["reproduce", "all", "--data", str(tmp_path / "none"), "--out", str(out)]) == 2
    assert "The data folder must exist" in capfd.readouterr().err
    assert not out.exists()


def test_fetching_all_continues_after_a_failure(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = "http://127.0.0.1:9"
    sources = {name: Source(name, f"{closed}/{name}.bin") for name in ("one", "two", "three")}
    monkeypatch.setattr(fetch, "SOURCES", sources)
    for name in ("one", "three"):  # there already
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.bin").touch()
    assert main(["reproduce", "--fetch", "all", "--data", str(tmp_path)]) == 2
    out, err = capfd.readouterr()
    assert out.split() == [str(tmp_path / "one"), str(tmp_path / "three")]
    first, last = err.splitlines()
    assert first.startswith("two: http://127.0.0.1:9/two.bin must be reachable")
    assert last.startswith("driftsieve: 1 of 3 data sets could not be fetched: two. Run this again")
    assert main(["reproduce", "--fetch", "two", "--data", str(tmp_path)]) == 2
    assert len(capfd.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "NAME must be one of table1, "),
        (["figure9"], "got 'figure9'"),
        (["--fetch", "iris", "--data", "."], "--fetch must be one of gisette, "),
        (["--fetch", "madelon"], "--data must be given with --fetch, got none"),
        (["table1"], "--data must be the folder of the real data sets"),
    ],
)
def test_errors_list_the_available_values(
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
