"""Runs of Spark streams: their files, their rankings, and queries that are killed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine_rows import Rows

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")

PROGRAM = Path(__file__).with_name("killed_stream.py")
NOW = {"availableNow": True}


def write(folder: Path, data: Rows, cuts: list[int], first: int = 0) -> None:
    """A file of rows between cuts each, from the first on, in the order of their names."""
    folder.mkdir(exist_ok=True)
    n = len(data.y)
    columns = dict(zip("abc", data.X[:, :3].T, strict=True))
    table = pa.table({**columns, "y": data.y, "t": data.time, "n": np.arange(n)})
    for i, (begin, end) in enumerate(pairwise(cuts), first):
        # the order of rows in a file means nothing: they are numbered by n
        shuffled = np.random.default_rng(i).permutation(end - begin)
        part = folder / f".{i}.part"
        pq.write_table(table.slice(begin, end - begin).take(shuffled), part)
        os.utime(part, (1000 + i, 1000 + i))
        part.rename(folder / f"{i}.parquet")


def tables(out: Path) -> dict[str, Any]:
    """The table in each folder of an output."""
    return {
        folder.name: pq.read_table(sorted(folder.glob("*.parquet"))[0]).to_pydict()
        for folder in sorted(out.iterdir())
    }


def rankings(out: Path) -> dict[str, Any]:
    return tables(out / "ranking")


def kill_twice(home: Path, data: Rows, cuts: list[int], row: int, kind: str) -> None:
    """Run a query that is killed in the second micro-batch, started again, and killed after the
    third, when it waits for the fourth.
    """
    write(home / "in", data, cuts[:4])

    def begin() -> subprocess.Popen[bytes]:
        with (home / "log").open("w") as log:
            return subprocess.Popen(
                [sys.executable, PROGRAM, home / "in", home, str(row), kind],
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    commits = home / "check" / "spark" / "commits"
    killed_by_task = begin()
    assert killed_by_task.wait() == -signal.SIGKILL, (home / "log").read_text()[-4000:]
    assert (home / "killed").exists()
    assert (commits / "0").exists()
    assert not (commits / "1").exists()
    process = begin()
    while not (commits / "2").exists():
        assert process.poll() is None, (home / "log").read_text()[-4000:]
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGKILL)  # the driver, and the JVM with all its threads
    process.wait()
    write(home / "in", data, cuts[3:], first=3)


def uncommitted(killed: Path, out: Path) -> None:
    """Copy a killed query. In Spark's checkpoint, micro-batch 2 is not done."""
    shutil.copytree(killed / "check", out / "check")
    shutil.copytree(killed / "ranking", out / "ranking")
    commits = out / "check" / "spark" / "commits"
    (commits / "2").unlink()
    (commits / ".2.crc").unlink(missing_ok=True)
    shutil.rmtree(out / "ranking" / "batch=2")


def half_written(out: Path) -> None:
    """Drop a block from the state of micro-batch 2."""
    slot = out / "check" / "state" / "0"
    (whole,) = slot.glob("*.parquet")
    blocks = pq.read_table(whole)
    assert blocks.num_rows > 1
    shutil.rmtree(slot)
    slot.mkdir()
    pq.write_table(blocks.slice(0, blocks.num_rows - 1), slot / "part.parquet")
