"""The command line in this process and in one of its own, and streams to screen."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from driftsieve import cli

from .helpers import DRIFTSIEVE, Result, csv_text


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def call(folder: Path, capfd: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    """Run the command line in this process."""

    def run(*arguments: object) -> Result:
        assert Path.cwd() == folder
        capfd.readouterr()
        code = cli.main([str(argument) for argument in arguments])
        return Result(code, *capfd.readouterr())

    return run


@pytest.fixture
def spawn(folder: Path) -> Callable[..., Result]:
    """Run the command line in a process of its own."""

    def run(*arguments: object, **options: object) -> Result:
        command = [DRIFTSIEVE, *map(str, arguments)]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, **options)
        return Result(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def stream(folder: Path) -> Path:
    """1000 rows: strong and colour separate the classes, weak a little, none not at all."""
    path = folder / "stream.csv"
    path.write_text(csv_text(1000))
    return path
