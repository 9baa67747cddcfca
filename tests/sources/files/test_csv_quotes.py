"""Quotes in csv files: fields over several lines, and quotes that are never closed."""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from source_helpers import error_of, write

from driftsieve.sources import as_batches
from driftsieve.sources.files import csv_records as records
from driftsieve.sources.files import text
from driftsieve.sources.files.paths import File


@pytest.fixture(params=["with pyarrow", "without pyarrow"])
def _pyarrow(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "without pyarrow":
        monkeypatch.setitem(sys.modules, "pyarrow", None)


@pytest.mark.usefixtures("_pyarrow")
@pytest.mark.parametrize("batch_size", [1, 10])
def test_quotes_within_fields_hide_no_open_field(batch_size: int, tmp_path: Path) -> None:
    rows = '1,5" pipe,"x\ny",0\n2,5",5"x""x,1\n3,"a"" ""b","\n"" ,""\n",1\n4,"p"q,"\nr",0\n'
    path = write(tmp_path / "a.csv", "a,b,c,y\n" + rows)
    expected = list(csv.reader(io.StringIO(path.read_text(), newline="")))[1:]
    (batch,) = as_batches(path, target="y", categorical=["b", "c"])
    names = [f"{column}={row[j]}" for row in expected for j, column in ((1, "b"), (2, "c"))]
    assert batch.feature_names == ("a", *dict.fromkeys(names))
    parts = list(as_batches(path, target="y", batch_size=batch_size))
    assert np.concatenate([part.y for part in parts]).tolist() == [int(row[3]) for row in expected]
    assert parts[-1].feature_names == batch.feature_names


STRAY = {
    "never closed": '"v,1\n',
    "closed by the next stray quote": '"v,1\nw,0\n"u,1\n',
    "closed before another field": '"v,1\nw,0\n"u",1\n',
    "closed in a row of other columns": '"v,1\nw,0\nu",1,2\n',
    "doubled": '"v,1\nw,0\n"",1\n',
    "opened again and again": '"v,1\nu","\nu","\nu","\nu","\n',
}


@pytest.mark.usefixtures("_pyarrow")
@pytest.mark.parametrize("batch_size", [1, 2, 10])
@pytest.mark.parametrize("content", STRAY.values(), ids=STRAY)
def test_stray_quote_affects_only_its_own_line(
    content: str, batch_size: int, tmp_path: Path
) -> None:
    rows = ["u,0\n", *content.splitlines(keepends=True), "w,0\n", '"v\n\nv",1\n', "x,1\n"]
    path = write(tmp_path / "a.csv", "c,y\n" + "".join(rows))
    assert ", line 3: " in error_of(path, target="y", batch_size=batch_size)
    batches = as_batches(path, target="y", batch_size=batch_size, on_error="skip")
    got = [label for batch in batches for label in batch.y.tolist()]
    labels = labels_alone(rows)
    assert got == [label for label in labels if label is not None]
    assert (batches.rows_read, batches.rows_skipped) == (len(rows), labels.count(None))
    for position in range(batches.rows_read):
        rest = as_batches(
            path, target="y", batch_size=batch_size, on_error="skip", skip_rows=position
        )
        assert sum(len(batch.y) for batch in rest) == len(rows[position:]) - labels[
            position:
        ].count(None)


def labels_alone(rows: list[str]) -> list[int | None]:
    """The label of each row read on its own, None for one that is no row."""
    labels: list[int | None] = []
    for row in rows:
        try:
            (cells,) = csv.reader(io.StringIO(row, newline=""), strict=True)
        except csv.Error:
            cells = []
        labels.append(int(cells[1]) if len(cells) == 2 and cells[1] in ("0", "1") else None)
    return labels


def test_rows_after_a_stray_quote_are_counted_far_beyond_the_longest_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text, "MAX_LINE", 1000)
    monkeypatch.setattr(records, "MAX_LINE", 1000)
    long = "x" * 1001
    rows = ["u,0\n"] * 10 + ['"v,1\n'] + ["w,1\n"] * 600 + ['"v,0\n', "u,1\n", f"{long},0\n", "w,0"]
    path = write(tmp_path / "a.csv", "c,y\n" + "".join(rows))
    batches = as_batches(path, target="y", on_error="skip")
    assert sum(batch.n_rows for batch in batches) == 612
    assert batches.skip_reasons == [
        f"{path}, line 12: A quoted field must be closed, got no closing quote.",
        f"{path}, line 613: A quoted field must be closed, got no closing quote.",
        f"{path}, line 615: A line must have at most 1000 bytes, got more.",
    ]


@given(content=st.text('a,"\n', max_size=30))
def test_open_quotes_are_found_as_by_the_csv_module(
    content: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    line = content.partition("\n")[0] + "\n"
    asked = []

    def lines() -> Any:
        yield line
        asked.append(True)
        yield '"\n'

    next(csv.reader(lines()))
    path = write(tmp_path_factory.getbasetemp() / "any.csv", line + '"\n')
    with text.open_text(File(str(path))) as source:
        found = list(records.Records(source, ","))
    whole = (line + '"\n').encode()
    assert ((1, whole) in found) == bool(asked)
