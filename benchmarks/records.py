"""csv and JSON lines to scores, compared with libraries that only read them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import driftsieve as ds
from benchmarks.dense import bank
from benchmarks.harness import Goal, Task, Work

N_DIFFERENT = 20_000  # rows, repeated
MB_PER_SECOND_150 = 6.67  # in ns/byte


def works(quick: bool) -> Iterator[Work]:
    n_bytes = 100_000 if quick else 60_000_000
    with TemporaryDirectory() as folder:
        for suffix, of_file in ((".csv", csv), (".jsonl", json_lines)):
            path = Path(folder) / f"rows{suffix}"
            write(path, n_bytes)
            yield of_file(path)
            path.unlink()


def write(path: Path, n_bytes: int) -> None:
    """Rows of 12 real numbers, 5 counts, 2 texts and a label."""
    rng = np.random.default_rng(0)
    n = min(N_DIFFERENT, n_bytes // 100)
    columns: dict[str, list[Any]] = {
        f"x{j}": rng.normal(size=n).round(4).tolist() for j in range(12)
    }
    columns |= {f"n{j}": rng.integers(0, 1000, n).tolist() for j in range(5)}
    columns["colour"] = rng.choice(["red", "green", "blue", "white"], n).tolist()
    columns["city"] = [f"city{i}" for i in rng.integers(0, 200, n)]
    columns["y"] = rng.integers(0, 2, n).tolist()
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    if path.suffix == ".csv":
        head, lines = ",".join(columns) + "\n", [",".join(map(str, r.values())) for r in rows]
    else:
        head, lines = "", [json.dumps(row) for row in rows]
    text = "\n".join(lines) + "\n"
    path.write_text(head + text * (n_bytes // len(text) + 1), encoding="utf-8")


def csv(path: Path) -> Work:
    size = path.stat().st_size
    tasks = {
        **ours(path, size),
        "polars.read_csv": Task(lambda: _polars().read_csv(path), size, "polars"),
        "pandas.read_csv": Task(lambda: _pandas().read_csv(path), size, "pandas"),
        "pyarrow.csv": Task(lambda: _arrow("csv").read_csv(path), size, "pyarrow"),
    }
    goals = (
        Goal("to T scores", "polars.read_csv", at_most=2),
        Goal("to MI scores", "polars.read_csv"),
        Goal("to T scores", "pandas.read_csv"),
        Goal("to T scores", "pyarrow.csv"),
        Goal("to T scores, two threads", "to T scores", wall=True),
    )
    return Work("csv", tasks, goals, "ns/byte")


def json_lines(path: Path) -> Work:
    size = path.stat().st_size
    text = path.read_bytes()
    tasks = {
        **ours(path, size),
        "pyarrow.json": Task(lambda: _arrow("json").read_json(path), size, "pyarrow"),
        "polars.read_ndjson": Task(lambda: _polars().read_ndjson(path), size, "polars"),
        "json.loads": Task(lambda: [json.loads(line) for line in text.splitlines()], size),
    }
    goals = (
        Goal("to T scores, two threads", MB_PER_SECOND_150, wall=True),
        Goal("to MI scores, two threads", MB_PER_SECOND_150, wall=True),
        Goal("to T scores", "pyarrow.json"),
        Goal("to T scores", "polars.read_ndjson"),
        Goal("to T scores", "json.loads"),
    )
    return Work("JSON lines", tasks, goals, "ns/byte")


def ours(path: Path, size: int) -> dict[str, Task]:
    """T and MI, with one thread and with two."""
    tasks = {}
    for name, score, keeps in (("T", "t", "moments"), ("MI", "mutual_info", "quantiles")):
        for n_threads, more in ((1, ""), (2, ", two threads")):

            def run(score: str = score, keeps: str = keeps, n_threads: int = n_threads) -> Any:
                return screen(path, score, keeps, n_threads)

            tasks[f"to {name} scores{more}"] = Task(run, size, "pyarrow", n_threads)
    return tasks


def screen(path: Path, score: str, keeps: str, n_threads: int) -> Any:
    """The scores of all features."""
    import pyarrow as pa

    pa.set_cpu_count(n_threads)
    state = bank(**{name: name == keeps for name in ("moments", "quantiles")}, n_threads=n_threads)
    try:
        for batch in ds.as_batches(path, target="y"):
            state.update(batch)
    finally:
        pa.set_cpu_count(1)
    return ds.scores.SCORES[score].function(state.snapshot())


def _polars() -> Any:
    import polars as pl

    return pl


def _pandas() -> Any:
    import pandas as pd

    return pd


def _arrow(kind: str) -> Any:
    from pyarrow import csv, json

    return {"csv": csv, "json": json}[kind]
