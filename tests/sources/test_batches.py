"""Going on where an earlier read stopped, and bounded memory."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pytest
from source_helpers import ROLES, assert_same_batches, write

from driftsieve.exceptions import SourceError
from driftsieve.sources import as_batches


def rows_of(data: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(data, values, strict=True)) for values in zip(*data.values(), strict=True)]


def svm_lines(data: dict[str, list[Any]]) -> str:
    lines = (
        f"{int(label == 'spam')} 1:{x} {i + 2}:1\n"
        for i, (x, label) in enumerate(zip(data["x"], data["label"], strict=True))
    )
    return "".join(lines)


def two_halves(data: dict[str, list[Any]], folder: Path, save: Any, suffix: str) -> list[Path]:
    paths = [folder / f"1{suffix}", folder / f"2{suffix}"]
    for path, rows in zip(paths, (slice(0, 23), slice(23, None)), strict=True):
        save({name: values[rows] for name, values in data.items()}, path)
    return paths


SAVE = {
    ".csv": lambda data, path: pd.DataFrame(data).to_csv(path, index=False),
    ".parquet": lambda data, path: pl.DataFrame(data).write_parquet(path),
    ".arrow": lambda data, path: pa.feather.write_feather(pa.table(data), path, chunksize=5),
    ".jsonl": lambda data, path: write(path, "\n".join(map(json.dumps, rows_of(data)))),
    ".svm": lambda data, path: write(path, svm_lines(data)),
}


@pytest.fixture(params=[*SAVE, "frame", "rows", "array"])
def source(request: pytest.FixtureRequest, tmp_path: Path, mixed: Any) -> Any:
    """Some fifty rows, and the options to read them with."""
    if request.param in SAVE:
        paths = two_halves(mixed, tmp_path, SAVE[request.param], request.param)
        return paths, {} if request.param == ".svm" else ROLES
    if request.param == "array":
        return np.column_stack([mixed["n"], mixed["x"]]), {"target": 0}
    return (pd.DataFrame(mixed) if request.param == "frame" else rows_of(mixed)), ROLES


@pytest.mark.parametrize("batch_size", [3, 16, 100])
def test_resumed_read_gives_the_remaining_rows(source: Any, batch_size: int) -> None:
    rows, options = source
    whole = as_batches(rows, batch_size=batch_size, **options)
    batches, positions = [], [0]
    for batch in whole:
        batches.append(batch)
        positions.append(whole.position)
    assert positions[-1] == 50
    for k in range(0, len(positions), 1 + len(positions) // 8):
        rest = as_batches(rows, batch_size=batch_size, skip_rows=positions[k], **options)
        assert_same_batches(rest, batches[k:])
        assert rest.position == 50
        assert rest.rows_read == rest.rows_delivered == 50 - positions[k]


def test_skipping_to_the_middle_of_a_batch_delivers_its_rest(source: Any) -> None:
    rows, options = source
    whole = list(as_batches(rows, batch_size=10, **options))
    rest = list(as_batches(rows, batch_size=10, skip_rows=7, **options))
    assert rest[0].y.tolist() == whole[0].y.tolist()[7:]
    assert rest[0].feature_names == whole[0].feature_names
    assert_same_batches(rest[1:], whole[1:])


def test_skipping_more_rows_than_there_are(source: Any) -> None:
    rows, options = source
    assert list(as_batches(rows, skip_rows=50, **options)) == []
    with pytest.raises(SourceError, match="skip_rows must be at most 50, got 51"):
        list(as_batches(rows, skip_rows=51, **options))


def test_resume_after_bad_rows_were_skipped(tmp_path: Path) -> None:
    lines = [f"{i},{'u' * (1 + i % 5)},{i % 2}" for i in range(60)]
    for i in (3, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 41):
        lines[i] = "bad"
    path = write(tmp_path / "a.csv", "x,c,y\n" + "\n".join(lines) + "\n")
    options: dict[str, Any] = {"target": "y", "on_error": "skip", "batch_size": 10}
    whole = as_batches(path, **options)
    seen = [(whole.position, whole.rows_skipped, batch) for batch in whole]
    assert [(position, skipped) for position, skipped, _ in seen] == [
        (10, 1),
        (20, 1),
        (40, 11),  # the third batch would be empty
        (50, 12),
        (60, 12),
    ]
    for k, (position, skipped, _) in enumerate(seen):
        rest = as_batches(path, skip_rows=position, **options)
        assert_same_batches(rest, [batch for _, _, batch in seen[k + 1 :]])
        assert rest.rows_skipped == 12 - skipped
        assert rest.position == 60


def test_bad_rows_before_the_start_are_not_reported_again(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "x,y\n1,0\nbad\ninf,1\n2,1\n")
    (batch,) = as_batches(path, target="y", skip_rows=3)
    assert batch.X.tolist() == [[2]]


def generated(n: int) -> Iterator[dict[str, Any]]:
    rng = np.random.default_rng(1)
    for i in range(n):
        yield {"y": i % 2, **{f"x{j}": v for j, v in enumerate(rng.normal(size=20).tolist())}}


def write_rows(path: Path, n: int) -> Path:
    with path.open("w") as file:
        for i, row in enumerate(generated(n)):
            if path.suffix == ".jsonl":
                print(json.dumps(row), file=file)
            elif path.suffix == ".csv":
                if i == 0:
                    print(*row, sep=",", file=file)
                print(*row.values(), sep=",", file=file)
            else:
                pairs = (f"{j}:{v}" for j, v in enumerate(row.values(), 1))
                print(row["y"], *pairs, file=file)
    return path


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.svm"])
def test_memory_does_not_grow_with_the_file(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "driftsieve.sources.files.csv.SAMPLE", 100
    )  # rows that are held at the start

    def peak(n: int) -> int:
        path = write_rows(tmp_path / name, n)
        options = {} if name == "a.svm" else {"target": "y"}
        tracemalloc.start()
        try:
            for _ in as_batches(path, batch_size=50, **options):
                pass
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(100)  # imports
    assert peak(1000) < 1.2 * peak(200)


def test_files_are_closed_when_reading_stops_early(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "a.csv", 100)
    batches = as_batches(path, target="y", batch_size=10)
    next(batches)
    batches.close()
    assert list(batches) == []
    next(as_batches(path, target="y", batch_size=10))  # a forgotten one is closed too
