"""``python -m driftsieve`` is the command line."""

import subprocess
import sys

import driftsieve


def test_the_package_runs_as_the_command_line() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "driftsieve", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout == f"driftsieve {driftsieve.__version__}\n"
    bad = subprocess.run(
        [sys.executable, "-m", "driftsieve", "screen"], capture_output=True, check=False
    )
    assert bad.returncode == 2
