"""The committed type stub of the extension is the one generated from the built module."""

import subprocess
import sys
from pathlib import Path

import driftsieve


def test_committed_stub_is_up_to_date(tmp_path: Path) -> None:
    fresh = tmp_path / "_core.pyi"
    command = [sys.executable, "-m", "nanobind.stubgen", "-q", "-m", "driftsieve._core"]
    subprocess.run([*command, "-o", str(fresh)], check=True)
    committed = Path(driftsieve.__file__).with_name("_core.pyi")
    assert committed.read_text() == fresh.read_text(), "run `make stub` and commit the result"
