"""Rows that come as dictionaries, or as pairs of values and label."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from source_helpers import X, Y, assert_same_batches, dense

from driftsieve.exceptions import SourceError
from driftsieve.sources import as_batches

DICTS = [
    {"a": 1, "colour": "red", "y": "no"},
    {"b": True, "colour": "blue", "y": "yes"},
    {"a": 0, "c": np.float32(2.5), "colour": None, "y": "no"},
    {"y": "yes"},
]


@pytest.mark.parametrize("drop", [[1], ["1"]])
def test_keys_are_dropped_by_name(drop: list[Any]) -> None:
    for key in (1, "1"):
        (batch,) = as_batches([{key: 2.0, "x": 3.0, "y": 0}], target="y", drop=drop)
        assert batch.feature_names == ("x",)


def test_dicts_grow_features_and_an_absent_key_is_zero() -> None:
    first, second = as_batches(DICTS, target="y", batch_size=2)
    assert first.feature_names == ("a", "colour=red", "b", "colour=blue")
    assert dense(first).tolist() == [[1, 1, 0, 0], [0, 0, 1, 1]]
    assert second.feature_names == ("a", "colour=red", "b", "colour=blue", "c")
    assert dense(second).tolist() == [[0, 0, 0, 0, 2.5], [0, 0, 0, 0, 0]]
    assert second.y.tolist() == ["no", "yes"]


def test_pairs_of_dict_and_label_are_the_same() -> None:
    pairs = [({k: v for k, v in d.items() if k != "y"}, d["y"]) for d in DICTS]
    assert_same_batches(
        as_batches(iter(pairs), batch_size=2), as_batches(iter(DICTS), target="y", batch_size=2)
    )


def test_pairs_of_values_and_label_are_dense() -> None:
    pairs = zip(X.tolist(), Y.tolist(), strict=True)
    assert_same_batches(as_batches(pairs, batch_size=4), as_batches((X, Y), batch_size=4))


def test_dicts_with_weight_and_time() -> None:
    rows = [
        {"a": 1, "y": 0, "w": 2, "ts": "1970-01-01T00:01:00Z"},
        {"a": 1, "y": 1, "w": 0.5, "ts": "1970-01-01T00:02:00"},
    ]
    (batch,) = as_batches(rows, target="y", sample_weight="w", time="ts")
    assert batch.sample_weight is not None
    assert batch.time is not None
    assert (batch.sample_weight.tolist(), batch.time.tolist()) == ([2, 0.5], [60, 120])
    assert batch.feature_names == ("a",)


@pytest.mark.parametrize(
    ("row", "cause"),
    [
        ({"a": 1}, "A row must have the target 'y', got none."),
        ({"a": "text", "y": 1}, "Key 'a' must hold a number, as in the rows before, got 'text'."),
        ({"c": 5, "y": 1}, "Key 'c' must hold text, as in the rows before, got 5."),
        ({"a": [1], "y": 1}, "Key 'a' must hold a number or text, got list"),
        ({"a": 10**400, "y": 1}, "Key 'a' must hold a number that fits float64"),
        ({"a": float("nan"), "y": 1}, "Input X contains NaN, column 0 ('a')"),
        ({"a": 1, "y": "one"}, "Labels must be integers, as in earlier rows, got 'one'"),
        ({"a": 1, "y": [1]}, "Labels must be integers, as in earlier rows, got [1]"),
        ({"a": 1, "y": None}, "Input y contains a missing label: None"),
        ({"a": 1, "y": 0.5}, "Unknown label type: continuous"),
    ],
)
def test_bad_dicts_are_named_and_can_be_skipped(row: dict[str, Any], cause: str) -> None:
    rows = [{"a": 1, "c": "u", "y": 0}, row, {"a": 3, "y": 1}]
    with pytest.raises(SourceError) as caught:
        list(as_batches(rows, target="y"))
    assert str(caught.value).startswith(f"row 1: {cause}")
    batches = as_batches(rows, target="y", on_error="skip")
    (batch,) = batches
    assert (batch.y.tolist(), dense(batch)[:, 0].tolist()) == ([0, 1], [1, 3])
    assert (batches.rows_read, batches.rows_delivered, batches.rows_skipped) == (3, 2, 1)
    assert batches.skip_reasons == [str(caught.value)]


@pytest.mark.parametrize(
    ("row", "cause"),
    [
        (([1, 2], 0), r"Rows must have 3 values, got shape \(2,\)"),
        (([1, 2, "x"], 0), "could not convert string to float"),
        (([1, 2, 3], "a"), "Labels must be integers, as in earlier rows, got 'a'"),
        ("abc", "too many values to unpack"),
        (5, "cannot unpack"),
    ],
)
def test_bad_pairs_are_named_and_can_be_skipped(row: Any, cause: str) -> None:
    rows = [([1, 2, 3], 0), row, ([4, 5, 6], 1)]
    with pytest.raises(SourceError, match=f"row 1: .*{cause}"):
        list(as_batches(rows))
    (batch,) = as_batches(rows, on_error="skip")
    assert dense(batch).tolist() == [[1, 2, 3], [4, 5, 6]]


@pytest.mark.parametrize("row", [{"a": 1, "y": 0}, ([1.0], 0)])
def test_none_as_first_row_is_an_error(row: Any) -> None:
    with pytest.raises(TypeError, match=r"Rows must be dicts or .* pairs, got NoneType"):
        list(as_batches([None, row], target="y" if isinstance(row, dict) else None))


def test_rows_are_read_as_they_are_needed() -> None:
    drawn = 0

    def endless() -> Iterator[dict[str, int]]:
        nonlocal drawn
        while True:
            drawn += 1
            yield {"a": drawn, "y": drawn % 2}

    batches = as_batches(endless(), target="y", batch_size=100)
    for k in range(1, 4):
        next(batches)
        assert drawn <= 100 * (k + 1)
        assert batches.position == 100 * k


def test_keys_that_are_a_kind_of_text_are_text() -> None:
    rows = [dict(zip(np.array(["a", "b"]), row, strict=True)) for row in [[1.0, 2.0], [3.0, 4.0]]]
    batch = next(iter(as_batches(zip(rows, [0, 1], strict=True))))
    assert batch.feature_names == ("a", "b")


@pytest.mark.parametrize("batch_size", [1, 2, 3, 10])
@pytest.mark.parametrize(
    ("labels", "cause"),
    [
        ([True, False, 1, False], "booleans, as in earlier rows, got 1 of type int"),
        ([1, 0.0, True, 0], "integers, as in earlier rows, got True of type bool"),
        (["u", "v", True, "u"], "strings, as in earlier rows, got True of type bool"),
        ([np.nan, True, 1.0, False], "booleans, as in earlier rows, got 1.0 of type float"),
    ],
)
def test_labels_are_of_one_kind_for_any_batch_size(
    labels: list[Any], cause: str, batch_size: int
) -> None:
    pairs = [({"a": 1}, label) for label in labels]
    for rows in (pairs, [([1.0], label) for _, label in pairs]):
        batches = as_batches(rows, on_error="skip", batch_size=batch_size)
        kept = [label for batch in batches for label in batch.y.tolist()]
        assert kept == [label for i, label in enumerate(labels) if i != 2 and label == label]
        assert batches.skip_reasons[-1] == f"row 2: Labels must be {cause}"
