"""The command line: how long it takes to start, and what outputs of a wide screening cost."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.harness import Cost, Goal, Task, Work
from benchmarks.records import write
from benchmarks.svmlight import make_text, real_row, url_row

WIDE = 293_000_000  # bytes
ROWS = "size,sender,spam\n120,shop,1\n80,friend,0\n95,shop,1\n99,friend,0\n"


NEVER = ["--half-life", "none"]  # instead of the default, which learns how long to remember


def works(quick: bool) -> Iterator[Work]:
    with TemporaryDirectory() as folder:
        yield start(Path(folder))
        path = Path(folder) / "rows.csv"
        write(path, 100_000 if quick else 60_000_000)
        yield default(path, "--target", "y")
        path.unlink()
        path = Path(folder) / "wide.svm"
        path.write_bytes(make_text(20_000, real_row) if quick else make_text(WIDE, url_row))
        yield default(path, "--max-features", "4000000")
        yield wide(path, "--half-life none", NEVER, rounds=3)
        yield wide(path, "learned memory", [], rounds=1)  # takes most of a minute


def start(folder: Path) -> Work:
    rows = folder / "four.csv"
    rows.write_text(ROWS, encoding="utf-8")
    tasks = {
        "driftsieve --help": Task(lambda: driftsieve("--help"), 1),
        "screen of four rows": Task(lambda: driftsieve("screen", str(rows), "--target", "spam"), 1),
        "import numpy": Task(lambda: python("-c", "import numpy"), 1),
    }
    goals = (
        Goal("driftsieve --help", "import numpy", at_most=3),
        Goal("screen of four rows", 0.6),
    )
    return Work("start-up", tasks, goals, "s", 1.0)


def default(path: Path, *more: str) -> Work:
    """What learning how long to remember costs, with all defaults beside no forgetting."""
    always = ["screen", str(path), "--threads", "1", *more]
    tasks = {
        "defaults": Task(lambda: driftsieve(*always), 1),
        "--half-life none": Task(lambda: driftsieve(*always, *NEVER), 1),
    }
    kind = "csv" if path.suffix == ".csv" else "wide svmlight"
    goals = (Goal("defaults", "--half-life none"),)
    return Work(f"screen of {kind}, mutual information", tasks, goals, "s", 1.0, most_rounds=3)


def wide(path: Path, name: str, half_life: list[str], rounds: int) -> Work:
    """URL-like rows of 3.2 million columns."""
    every = str(max(1, path.read_bytes().count(b"\n") // 15))
    outputs = {name: str(path.with_name(name)) for name in ("bank.dsv", "page.html", "all.csv")}
    state, report, out = outputs.values()
    options = {
        "T scores": [],
        "with state, report, csv and 15 records": [
            *("--state", state, "--force", "--report", report, "--out", out),
            *("--history-every", every),
        ],
    }

    def task(more: list[str]) -> Task:
        always = ["screen", str(path), "--score-func", "t", "--threads", "1", *half_life]
        return Task(lambda: driftsieve(*always, "--max-features", "4000000", *more), 1)

    tasks = {name: task(more) for name, more in options.items()}
    ours, alone = reversed(options)
    goals = (Goal(ours, alone, at_most=2),)
    return Work(f"wide svmlight, {name}", tasks, goals, "s", 1.0, most_rounds=rounds)


def driftsieve(*arguments: str) -> Cost:
    return python("-m", "driftsieve", *arguments)


def python(*arguments: str) -> Cost:
    """Time and memory of a process."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
    wall, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(wall, cpu)
