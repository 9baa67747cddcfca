"""Rows that are left out have no effect on keys, labels and the number of columns."""

import json

import numpy as np
import pytest
from source_helpers import assert_same_batches, dense, write

from driftsieve.sources import as_batches

GOOD = [{"y": i % 2, "x": float(i), "w": 1.0} for i in range(5)]
USELESS = [
    {"y": 0, "x": "n/a", "w": 1.0, "z": [1]},
    {"y": "?", "x": 0.0, "w": 1.0, "z": [1]},
    {"y": None, "x": "n/a", "w": 1.0},
    {"y": float("nan"), "x": "n/a", "w": 1.0},
    {"y": 0.5, "x": "n/a", "w": 1.0},
    {"y": 0, "x": "n/a", "w": 1.0, "z": float("inf")},
    {"y": 0, "x": "n/a", "w": 1.0, "z": float("nan")},
    {"y": 0, "x": "n/a", "w": 1.0, "z": None},
    {"y": 0, "x": "n/a", "w": -1.0},
    {"y": 0, "x": "n/a", "w": 1e200},
    {"y": 0, "x": "n/a", "w": None},
]


@pytest.mark.parametrize("size", [1, 3, 100])
@pytest.mark.parametrize("row", USELESS)
def test_a_dict_that_is_left_out_leaves_no_trace(row, size, tmp_path):
    options = {"target": "y", "sample_weight": "w", "on_error": "skip"}
    path = write(tmp_path / "a.jsonl", "\n".join(map(json.dumps, [row, *GOOD])))
    for source in ([row, *GOOD], path):
        batches = as_batches(source, **options, batch_size=size)
        read = list(batches)
        assert batches.rows_skipped == 1
        assert read[-1].feature_names == ("x",)
        assert np.concatenate([dense(batch)[:, 0] for batch in read]).tolist() == [0, 1, 2, 3, 4]


def test_validity_of_a_row_may_depend_on_other_rows():
    rows = [{"y": 0, f"k{i}": None, f"k{i + 1}": "u"} for i in range(5)]
    batches = as_batches([*rows, *GOOD], target="y", drop="w", on_error="skip")
    assert_same_batches(batches, as_batches(GOOD, target="y", drop="w"))
    assert batches.rows_skipped == 5


def test_features_of_skipped_rows_are_not_added():
    rows = [{"y": 0, "a": "u" * 300, "b": 1, "c": [1]}, {"y": 0, "d": 1.0, "e": 2.0}]
    limits = {"max_features": 2, "on_limit": "ignore_new"}
    batches = as_batches(rows * 3, target="y", on_error="skip", **limits)
    assert [batch.feature_names for batch in batches] == [("d", "e")]
    assert batches.values_ignored == 0


@pytest.mark.parametrize(
    "row", [([1.0], None), ([1.0], 0.5), ([np.inf], 1), ([np.nan], "?"), ([1.0], [1]), ([[1.0]], 1)]
)
def test_a_pair_that_is_left_out_leaves_no_trace(row):
    good = [([i, i + 1.0], i % 2) for i in range(4)]
    batches = as_batches([row, *good], on_error="skip")
    assert_same_batches(batches, as_batches(good))
    assert batches.rows_skipped == 1


def test_a_csv_row_without_a_label_decides_no_kind(tmp_path):
    rows = "".join(f"{i},{i % 2}\n" for i in range(4))
    path = write(tmp_path / "a.csv", "x,y\nn/a,\n" + rows)
    (batch,) = as_batches(path, target="y", on_error="skip")
    assert (batch.feature_names, batch.X.ravel().tolist()) == (("x",), [0, 1, 2, 3])
    path = write(tmp_path / "b.csv", "x,y\n1,\nn/a,?\n")
    assert list(as_batches(path, target="y", on_error="skip")) == []
