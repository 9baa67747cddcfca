import subprocess
import sys

import driftsieve
from driftsieve import _core


def test_package_and_extension_have_the_same_version() -> None:
    assert driftsieve.__version__ == _core.version


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
