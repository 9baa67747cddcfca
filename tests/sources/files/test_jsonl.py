"""JSON lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.linear_model import SGDClassifier
from source_helpers import ROLES, assert_same_batches, dense, error_of, write

from driftsieve.exceptions import SourceError
from driftsieve.sources import as_batches


def test_json_lines_are_dicts(tmp_path: Path, mixed: dict[str, list[Any]]) -> None:
    frame = pd.DataFrame(mixed)
    frame.to_json(tmp_path / "a.jsonl", orient="records", lines=True, double_precision=15)
    pl.DataFrame(mixed).write_ndjson(tmp_path / "b.ndjson")
    rows = frame.to_dict("records")
    expected = list(as_batches(rows, batch_size=16, **ROLES))
    assert_same_batches(as_batches(tmp_path / "b.ndjson", batch_size=16, **ROLES), expected)
    rounded = list(as_batches(tmp_path / "a.jsonl", batch_size=16, **ROLES))
    for got, batch in zip(rounded, expected, strict=True):
        np.testing.assert_allclose(dense(got), dense(batch), rtol=1e-13)


def test_json_features_appear_over_time(tmp_path: Path) -> None:
    rows = [{"y": 0, "a": 1}, {"y": 1, "b": True, "c": "u"}, {"y": 1, "a": None}]
    path = write(tmp_path / "a.jsonl", "\n\n".join(map(json.dumps, rows)))
    batches = list(as_batches(path, target="y", batch_size=1, missing="ignore"))
    assert [batch.feature_names for batch in batches] == [("a",)] + [("a", "b", "c=u")] * 2
    np.testing.assert_array_equal(dense(batches[2]), [[np.nan, 0, 0]])


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        (b"{", "A line must be valid JSON: Expecting property name"),
        (b"[1, 2]", "A line must be a JSON object, got '[1, 2]'."),
        (b'"text"', "A line must be a JSON object, got 'text'."),
        (b'{"a": 1}', "A row must have the target 'y', got none."),
        (b'{"y": 9007199254740993.0}', "Labels of 2**53 and more must be integers"),
        (b'{"y": 1, "a": {"b": 1}}', "Key 'a' must hold a number or text, got dict"),
        (
            b'{"y": 1, "a": "text"}',
            "Key 'a' must hold a number, as in the rows before, got 'text'.",
        ),
        (b'{"y": 1, "a": Infinity}', "Input X contains infinity: inf, column 0 ('a')."),
        (b'{"y": 1, "a": 1' + b"0" * 400 + b"}", "Key 'a' must hold a number that fits float64"),
        (b'{"y": 1, "a": "\xff"}', "Text must be UTF-8, got byte 0xff."),
        (b'{"y": 1, "\\ud800": 2}', "A line must be valid Unicode, got '\\ud800'."),
        (b"[" * 100_000, "A line must be valid JSON"),
    ],
)
def test_bad_json_rows_are_named_and_can_be_skipped(
    line: bytes, cause: str, tmp_path: Path
) -> None:
    path = write(tmp_path / "a.jsonl", b'{"y": 0, "a": 1}\n' + line + b'\n{"y": 1, "a": 3}\n')
    assert error_of(path, target="y").startswith(f", line 2: {cause}")
    batches = as_batches(path, target="y", on_error="skip")
    (batch,) = batches
    assert (dense(batch).tolist(), batch.y.tolist()) == ([[1], [3]], [0, 1])
    assert (batches.rows_read, batches.rows_skipped) == (3, 1)


@pytest.mark.parametrize(
    ("role", "value", "cause"),
    [
        ("sample_weight", None, "Weight 'r' must be a number, got 'None'."),
        ("sample_weight", [1], "Weight 'r' must be a number, got '[1]'."),
        ("sample_weight", "much", "Weight 'r' must be a number, got 'much'."),
        ("time", None, "Time 'r' must be a number or an ISO date, got 'None'."),
        ("time", "1/2/99", "Time 'r' must be a number or an ISO date, got '1/2/99'."),
        ("time", 10**400, "Time 'r' must be a number or an ISO date, got '1000"),
    ],
)
def test_invalid_weights_and_times_are_bad_rows(role: str, value: Any, cause: str) -> None:
    rows = [{"a": 1, "y": 0, "r": 2}, {"a": 1, "y": 1, "r": value}]
    with pytest.raises(SourceError) as error:
        list(as_batches(rows, target="y", **{role: "r"}))
    assert str(error.value).startswith(f"row 1: {cause}")


@pytest.mark.parametrize("batch_size", [1, 2, 3, 10])
def test_the_first_value_of_a_key_decides_after_any_nulls(batch_size: int) -> None:
    values: list[tuple[Any, Any]] = [(None, None), (None, None), ("u", 5), (None, None), ("v", 6)]
    rows = [{"c": c, "x": x, "y": i % 2} for i, (c, x) in enumerate(values)]
    batches = list(as_batches(rows, target="y", missing="ignore", batch_size=batch_size))
    names = batches[-1].feature_names
    assert names is not None
    got: list[dict[str, float]] = []
    for batch in batches:
        assert batch.feature_names == names[: batch.n_features]
        got += [dict(zip(names, row, strict=False)) for row in dense(batch).tolist()]
    np.testing.assert_array_equal([row["x"] for row in got], [np.nan, np.nan, 5, np.nan, 6])
    assert [row.get("c=u", 0) for row in got] == [0, 0, 1, 0, 0]
    assert [row.get("c=v", 0) for row in got] == [0, 0, 0, 0, 1]


def test_null_before_the_first_text_is_a_missing_category(tmp_path: Path) -> None:
    lines = ['{"c": null, "y": 0}', '{"c": "u", "y": 1}', '{"c": 3, "y": 1}']
    path = write(tmp_path / "a.jsonl", "\n".join(lines))
    assert (
        error_of(path, target="y")
        == ", line 3: Key 'c' must hold text, as in the rows before, got 3."
    )
    (batch,) = as_batches(path, target="y", on_error="skip")
    assert (batch.feature_names, dense(batch).tolist()) == (("c=u",), [[0], [1]])


def test_categorical_keys_hold_codes_of_any_type(tmp_path: Path) -> None:
    values = [10115, "10115", 2.5, True, None, False]
    lines = [json.dumps({"zip": value, "y": i % 2}) for i, value in enumerate(values)]
    path = write(tmp_path / "a.jsonl", "\n".join(lines))
    names = ("zip=10115", "zip=2.5", "zip=true", "zip=false")
    for source in (path, [json.loads(line) for line in lines]):
        (batch,) = as_batches(source, target="y", categorical=["zip"])
        assert batch.feature_names == names
        assert batch.X.sum(axis=0).tolist() == [2, 1, 1, 1]
    (batch,) = as_batches(path, target="y", categorical=["zip", "y"])
    assert batch.y.tolist() == ["0", "1"] * 3


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv"])
def test_indices_have_32_bits_if_possible(name: str, tmp_path: Path) -> None:
    content = {"a.jsonl": '{"c": "u", "y": 0}\n{"c": "v", "y": 1}\n', "a.csv": "c,y\nu,0\nv,1\n"}
    (batch,) = as_batches(write(tmp_path / name, content[name]), target="y")
    assert isinstance(batch.X, sparse.csr_array)
    assert batch.X.indices.dtype == batch.X.indptr.dtype == np.int32
    SGDClassifier().partial_fit(batch.X, batch.y, classes=[0, 1])


def test_json_needs_a_target(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="target must be the key of the labels"):
        as_batches(write(tmp_path / "a.jsonl", "{}\n"))
