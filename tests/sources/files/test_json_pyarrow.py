"""JSON lines are read equally with and without pyarrow."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from source_helpers import write

from driftsieve.exceptions import SourceError
from driftsieve.sources import as_batches
from driftsieve.sources.encoding.json_lines import LineEncoder
from driftsieve.sources.files import ahead


def found(path: Path, **options: Any) -> Any:
    """All that a caller can see."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        batches = as_batches(path, **options)
        rows: list[Any] = []
        try:
            for batch in batches:
                X = batch.X
                parts = (X.data, X.indices, X.indptr, batch.y, batch.sample_weight, batch.time)
                arrays = [None if a is None else (a.dtype.str, a.tolist()) for a in parts]
                rows.append((repr(arrays), X.shape, batch.feature_names, batch.has_dates))
                rows.append((batches.position, batches.values_ignored))
            error = ""
        except SourceError as problem:
            error = str(problem)
    counts = batches.rows_read, batches.rows_skipped, batches.skip_reasons, batches.values_ignored
    return rows, error, counts, [str(warning.message) for warning in caught]


def assert_alike(path: Path, **options: Any) -> None:
    fast = found(path, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "pyarrow", None)
        assert fast == found(path, **options)


ODD = [
    '{"y": 0, "a": 1}{"y": 1, "a": 2}',
    '{"y": 0,',
    '"a": 1}',
    '{"y": 1, "a": 1, "a": 2}',
    '{"y": 1, "a": 1} ',
    ' {"y": 1, "a": 1}',
    '{"y": 1, "a": NaN}',
    '{"y": 1, "a": Inf}',
    '{"y": 1, "d": Inf}',
    '{"y": 1, "d": [1, {"a": 2}]}',
    '{"y": 1, "a": 1e400}',
    '{"y": 1, "a": 1' + "0" * 400 + "}",
    '{"y": 9007199254740993, "a": 9007199254740993}',
    '{"y": 1.0, "a": -0.0, "b": 1E2}',
    '{"y": 1.5, "a": 1}',
    '{"y": true, "a": true}',
    '{"y": "u", "a": 1}',
    '{"y": 1, "c": "\\ud83d\\ude00"}',
    '{"y": 1, "c": "\\ud83d"}',
    '{"y": 1, "c": "a\\u0000: null"}',
    '{"y": 1, "c": "é"}',
    '{"y": 1, "c": "2020-01-31"}',
    '{"y": 1, "c": "12"}',
    '{"y": 1, "c": ": null, "}',
    '{"y": 1, "t": "2020-01-31", "w": 2}',
    '{"y": 1, "t": 20200131, "w": -2}',
    '{"y": 1, "t": 5, "w": "3"}',
    "{}",
    "[]",
    "",
]
VALUES = st.one_of(
    st.none(),
    st.sampled_from([0, 1, 2, 3.5, -0.0, "u", "v", "x: y", "null", "7", True]),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False),
    st.text(max_size=3),
)
PLAIN = st.fixed_dictionaries(
    {"y": st.integers(0, 2), "a": st.floats(-9, 9) | st.integers(-9, 9)},
    optional={
        "b": st.none() | st.integers(0, 3),
        "c": st.none() | st.sampled_from("uvw"),
        "w": st.integers(0, 3),
        "t": st.integers(0, 99),
        "d": st.integers(0, 9),
    },
)
ANY = st.dictionaries(st.sampled_from([*"yabcdtw", "a:b", "c=u"]), VALUES, max_size=6)


@given(
    lines=st.lists(
        PLAIN.map(json.dumps) | ANY.map(json.dumps) | st.sampled_from(ODD), min_size=1, max_size=8
    ),
    end=st.sampled_from(["\n", "\r\n"]),
    batch_size=st.sampled_from([1, 2, 3, 100]),
    options=st.fixed_dictionaries(
        {
            "on_error": st.sampled_from(["skip", "raise"]),
            "missing": st.sampled_from(["ignore", "error"]),
        },
        optional={
            "categorical": st.sampled_from([("b",), ("y",)]),
            "drop": st.just(("d",)),
            "sample_weight": st.just("w"),
            "time": st.just("t"),
            "max_features": st.sampled_from([1, 2, 3]),
            "on_limit": st.just("ignore_new"),
            "skip_rows": st.integers(0, 3),
        },
    ),
)
def test_no_row_is_read_otherwise_with_pyarrow(
    lines: list[str],
    end: str,
    batch_size: int,
    options: dict[str, Any],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    path = write(tmp_path_factory.getbasetemp() / "any.jsonl", end.join(lines))
    assert_alike(path, target="y", batch_size=batch_size, **options)


@given(
    rows=st.lists(PLAIN, min_size=1, max_size=12),
    missing=st.sampled_from(["ignore", "error"]),
    batch_size=st.sampled_from([2, 5, 100]),
)
@example(
    rows=[{"y": 0, "a": 1, "b": 1}, {"y": 1, "a": 2, "b": None}], missing="ignore", batch_size=100
)
@example(
    rows=[{"y": 0, "a": 1, "b": 1}, {"y": 1, "a": 2}, {"y": 1, "a": 2, "b": None}],
    missing="ignore",
    batch_size=100,
)
def test_plain_rows_are_read_equally(
    rows: list[Any], missing: str, batch_size: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = write(tmp_path_factory.getbasetemp() / "plain.jsonl", "\n".join(map(json.dumps, rows)))
    assert_alike(path, target="y", missing=missing, batch_size=batch_size, on_error="skip")


def flat(n: int) -> list[str]:
    rng = np.random.default_rng(0)
    rows = [
        {"b": i % 3, "c": f"c{int(rng.integers(9))}", "a": float(rng.normal()), "y": "uv"[i % 2]}
        for i in range(n)
    ]
    return [json.dumps(dict(sorted(row.items(), key=lambda _: rng.random()))) for row in rows]


@pytest.mark.parametrize(
    ("old", "new", "n_slow"),
    [
        ("", "", 0),
        ("}", ', "n": null}', 1),  # the first chunk has keys that are absent and others of null
        ('"b": 0', '"b": null', 1),
        (', "b": 0', "", 0),
        ('"u"', "true", 3),  # labels of two kinds
    ],
)
def test_flat_rows_are_not_read_one_by_one(
    old: str, new: str, n_slow: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = ['{"b": 5, "c": "c0", "a": 2.5, "z": 4, "y": "u"}', *flat(99)]
    path = write(tmp_path / "a.jsonl", "\n".join(line.replace(old, new) for line in lines))
    options: dict[str, Any] = {"target": "y", "missing": "ignore", "batch_size": 40}
    options["on_error"] = "skip"
    assert_alike(path, **options)
    calls: list[int] = []
    encode = LineEncoder.encode
    monkeypatch.setattr(
        LineEncoder, "encode", lambda self, items: calls.append(1) or encode(self, items)
    )
    assert len(list(as_batches(path, **options))) == 3
    assert len(calls) == n_slow


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv"])
@pytest.mark.parametrize("bad", [None, 30, 95])
def test_reading_ahead_changes_nothing(
    name: str, bad: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name == "a.csv":
        lines = [f"{i % 3},{i / 7},{'uv'[i % 2]}" for i in range(100)]
        lines[0] = "b,a,y"
    else:
        lines = flat(100)
    if bad is not None:
        lines[bad] = "["
    path = write(tmp_path / name, "\n".join(lines))

    def read() -> tuple[list[Any], str]:
        batches = as_batches(path, target="y", batch_size=7)
        rows: list[Any] = []
        try:
            for batch in batches:
                rows += [(batch.X.shape, batch.y.tolist(), batches.position)]
        except SourceError as problem:
            return rows, str(problem)
        return rows, ""

    expected = read()
    monkeypatch.setattr(ahead, "_LARGE", 0)
    monkeypatch.setattr("pyarrow.cpu_count", lambda: 3)
    assert read() == expected
    assert bool(expected[1]) == (bad is not None)
    n_rows = 100 if bad is None else bad - (name == "a.csv")
    assert len(expected[0]) == (-(-n_rows // 7) if bad is None else n_rows // 7)


def test_reading_ahead_stops_when_it_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ahead, "_LARGE", 0)
    monkeypatch.setattr("pyarrow.cpu_count", lambda: 3)
    batches = as_batches(
        write(tmp_path / "a.jsonl", "\n".join(flat(100))), target="y", batch_size=5
    )
    next(batches)
    batches.close()
    assert list(batches) == []
