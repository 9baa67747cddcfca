"""Lines of text, in whatever format."""

from __future__ import annotations

import random
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from source_helpers import dense, error_of, write

from driftsieve.sources import as_batches
from driftsieve.sources.files import text


@pytest.mark.parametrize(
    ("name", "good", "options"),
    [
        ("a.svm", "1 1:1\n", {}),
        ("a.csv", "1,1\n", {"target": 0}),
        ("a.jsonl", '{"y": 1, "x": 1}\n', {"target": "y"}),
    ],
)
@pytest.mark.parametrize("ends", [True, False])
def test_endless_line_is_an_error(
    name: str,
    good: str,
    options: dict[str, Any],
    ends: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(text, "MAX_LINE", 1 << 16)
    endless = "1" * 200_000 + ("\n" + good if ends else "")
    path = write(tmp_path / name, good + endless)
    assert error_of(path, **options) == ", line 2: A line must have at most 65536 bytes, got more."
    batches = as_batches(path, on_error="skip", **options)
    assert sum(batch.n_rows for batch in batches) == 1 + ends
    assert (batches.rows_read, batches.rows_skipped) == (2 + ends, 1)


def test_huge_line_is_not_held_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    with path.open("wb") as file:
        file.write(b"x,y\n1,0\n")
        file.truncate(250 << 20)  # a line of zeros that takes no space on disk
    tracemalloc.start()
    try:
        assert (
            error_of(path, target="y")
            == ", line 3: A line must have at most 67108864 bytes, got more."
        )
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 160 << 20


def test_rows_in_any_order_of_good_and_bad_add_up(tmp_path: Path) -> None:
    rng = random.Random(5)
    kinds = {
        "good": "{i},u,{y}",
        "short": "{i}",
        "text": "abc,u,{y}",
        "infinite": "inf,u,{y}",
        "label": "{i},u,",
    }
    chosen = ["good", *rng.choices(list(kinds), k=499)]
    lines = [kinds[kind].format(i=i, y=i % 2) for i, kind in enumerate(chosen)]
    path = write(tmp_path / "a.csv", "x,c,y\n" + "\n".join(lines))
    batches = as_batches(path, target="y", on_error="skip", batch_size=32)
    delivered = 0
    values = []
    for batch in batches:
        delivered += batch.n_rows
        values += dense(batch)[:, 0].tolist()
        assert batches.rows_delivered == delivered
        assert batches.rows_read == delivered + batches.rows_skipped
        assert batches.position % 32 == 0 or batches.position == 500
    assert values == [i for i, kind in enumerate(chosen) if kind == "good"]
    assert batches.rows_read == 500
    assert batches.rows_skipped == 500 - chosen.count("good")
    assert len(batches.skip_reasons) == 10
