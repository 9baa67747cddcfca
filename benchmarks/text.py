"""svmlight text to scores, compared with scikit-learn, which only reads it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import driftsieve as ds
from benchmarks.dense import bank
from benchmarks.harness import Goal, Task, Work
from benchmarks.svmlight import make_text, real_row, url_row
from benchmarks.svmlight import sklearn as read_by_sklearn

FEATURES = 200_000  # in a snapshot at a time, about as many as a screener does


def works(quick: bool) -> Iterator[Work]:
    for name, row in (("URL-like", url_row), ("17 digits", real_row)):
        with TemporaryDirectory() as folder:
            path = Path(folder) / "rows.svm"
            path.write_bytes(make_text(20_000 if quick else 50_000_000, row))
            yield text(name, path)


def text(name: str, path: Path) -> Work:
    size = path.stat().st_size
    tasks = {
        "text to T scores": Task(lambda: screen(path, "t", quantiles=False), size),
        "text to MI scores": Task(lambda: screen(path, "mutual_info", moments=False), size),
        "load_svmlight_file": Task(lambda: read_by_sklearn(path), size),
    }
    goals = tuple(
        Goal(ours, "load_svmlight_file", at_least=5)
        for ours in ("text to T scores", "text to MI scores")
    )
    return Work(f"svmlight, {name}", tasks, goals, "ns/byte")


def screen(path: Path, score: str, **options: bool) -> list[Any]:
    """The scores of all features, block by block."""
    state = bank(**options)
    for batch in ds.as_batches(path):
        state.update(batch)
    return [
        ds.scores.SCORES[score].function(state.snapshot(features=slice(begin, begin + FEATURES)))
        for begin in range(0, state.n_features, FEATURES)
    ]
