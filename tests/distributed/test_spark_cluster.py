"""Spark with separate executors."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from engine_rows import assert_scores, rows

PROGRAM = Path(__file__).with_name("lossy_cluster.py")


@pytest.mark.usefixtures("spark_home")
def test_a_killed_executor_changes_nothing(tmp_path: Path) -> None:
    pytest.importorskip("psutil", reason="psutil is not installed")
    flag = tmp_path / "killed"
    run = subprocess.run(
        [sys.executable, PROGRAM, flag],
        env={**os.environ, "SPARK_WORKER_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-4000:]
    assert flag.exists()
    found = json.loads(run.stdout.splitlines()[-1])
    assert_scores(found, rows(0), "mutual_info", epsilon=0.001)
