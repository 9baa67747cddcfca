"""The examples have the results that their pages state."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

from datasets import spam

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "spam_stream.py"


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_updated_screener_beats_a_fixed_one_on_spam(data_dir: Path) -> None:
    example = load(EXAMPLE)
    X, y = spam(data_dir)
    kept = slice(None, 4000)
    fixed, updated = (
        example.accuracy(example.run(X[kept], y[kept], name, k=100))
        for name in ("fixed", "updated, never forgets")
    )
    assert updated > fixed + 0.02


def test_the_example_reports_missing_data() -> None:
    environment = {"PATH": "/usr/bin"}
    run = subprocess.run(
        [sys.executable, str(EXAMPLE)], capture_output=True, text=True, env=environment
    )
    assert run.returncode == 2
    assert "--data FOLDER, or set DRIFTSIEVE_DATA" in run.stderr
