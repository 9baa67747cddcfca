"""Killed with SIGKILL at any instant and resumed, a run ends with the same bits."""

import gzip
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from driftsieve.cli.checkpoint import Checkpoint

from .helpers import csv_text

ROWS, BATCH = 360, 30
POINTS = 50
SERVER = Path(__file__).with_name("fork_server.py")


def csv_input(folder: Path) -> list[str]:
    """Text columns, of which categories appear late; two files."""
    header, *lines = csv_text(ROWS).splitlines(keepends=True)
    lines[250:] = [line.replace("blue", "green") for line in lines[250:]]
    (folder / "part1.csv").write_text(header + "".join(lines[:170]))
    (folder / "part2.csv").write_text(header + "".join(lines[170:]))
    return ["part?.csv", "--target", "kind", "--half-life", "200", "--history-every", "70"]


def svmlight_input(folder: Path) -> list[str]:
    """Wider and wider rows, some of them bad, compressed."""
    rng = np.random.default_rng(1)
    lines = []
    for i in range(ROWS):
        indices = np.unique(rng.integers(1, 10 + i, 8))
        values = rng.integers(1, 4, indices.size) + i % 2
        entries = " ".join(f"{j}:{v}" for j, v in zip(indices, values, strict=True))
        lines.append(f"{i % 2} {entries}" if i % 97 else f"{i % 2} 3:oops")
    with gzip.open(folder / "a.svm.gz", "wt") as file:
        file.write("\n".join(lines))
    return ["a.svm.gz", "--decay", "0.99", "--on-error", "skip", "--score-func", "chi2"]


def jsonl_input(folder: Path) -> list[str]:
    """Times out of order, keys that come and go, missing values."""
    rng = np.random.default_rng(2)
    with (folder / "a.jsonl").open("w") as file:
        for i in range(ROWS):
            row = {"y": "ab"[i % 2], "ts": int(i + rng.integers(-50, 50)), f"k{i % 7}": i % 5}
            row["x"] = None if i % 11 == 0 else float(rng.normal() + i % 2)
            file.write(json.dumps(row) + "\n")
    arguments = ["a.jsonl", "--target", "y", "--time", "ts", "--half-life", "300"]
    return [*arguments, "--missing", "ignore", "--history-every", "100", "--score-func", "t"]


def parquet_input(folder: Path) -> list[str]:
    """A tick of the clock for each batch: where batches are cut shows."""
    X = np.random.default_rng(3).normal(size=(ROWS, 4))
    table = {f"f{j}": X[:, j] for j in range(4)} | {"y": X[:, 0] + X[:, 1] > 0}
    pq.write_table(pa.table(table), folder / "a.parquet", row_group_size=250)
    return ["a.parquet", "--target", "y", "--decay", "0.9", "--clock", "batch"]


INPUTS = [csv_input, svmlight_input, jsonl_input, parquet_input]


class Server:
    """Processes that run the command line, killed after a while if wanted."""

    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(SERVER)], cwd=folder, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},  # a fork takes no threads along
        )  # fmt: skip

    def run(self, arguments: list[str], kill: tuple[str, int, float] | None = None) -> int:
        """The exit code; ``kill`` is for the fork server."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        order = {"arguments": ["screen", *arguments], "kill": kill}
        print(json.dumps(order), file=self.process.stdin, flush=True)
        return int(self.process.stdout.readline())

    def close(self) -> None:
        self.process.communicate()


@pytest.mark.parametrize("make", INPUTS, ids=lambda make: make.__name__)
def test_killed_at_random_points_it_ends_with_the_same_bits(make, folder):
    more = ["--state", "s.dsv", "--out", "r.csv", "--checkpoint-every", str(BATCH)]
    arguments = [*make(folder), "--batch-size", str(BATCH), "--threads", "1", *more]
    state, ranking = folder / "s.dsv", folder / "r.csv"
    draw = random.Random(make.__name__)

    def point() -> tuple[str, int, float]:
        return "s.dsv", draw.randrange(ROWS // BATCH + 1), draw.uniform(0, 0.03)

    server = Server(folder)
    try:
        assert server.run(arguments) == 0
        expected = state.read_bytes(), ranking.read_bytes()
        n_killed = 0
        for _ in range(-(-POINTS // len(INPUTS))):
            state.unlink()
            ranking.unlink()
            n_killed += server.run(arguments, point()) == -9
            if state.exists():
                Checkpoint.load(state)  # it is whole
            if draw.random() < 0.3:  # and again, at some later moment
                server.run([*arguments, "--resume"], point())
            assert server.run([*arguments, "--resume"]) == 0
            assert (state.read_bytes(), ranking.read_bytes()) == expected
            assert not list(folder.glob(".*"))  # files of the killed process are removed
        assert n_killed > POINTS // len(INPUTS) // 4  # on a busy machine many finish
    finally:
        server.close()
