"""Data frames of pandas, polars and Arrow."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from source_helpers import ROLES, X, Y, assert_same_batches, dense

from driftsieve.batch import Batch
from driftsieve.exceptions import SourceError, SourceWarning
from driftsieve.sources import as_batches

FRAMES = [pd.DataFrame, pl.DataFrame, pa.table]


@pytest.mark.parametrize("frame", FRAMES)
def test_frames_give_numeric_columns_and_indicators(
    frame: Any, mixed: dict[str, list[Any]], mixed_batches: list[Batch]
) -> None:
    assert_same_batches(as_batches(frame(mixed), batch_size=16, **ROLES), mixed_batches)


def test_categorical_types_are_like_text(
    mixed: dict[str, list[Any]], mixed_batches: list[Batch]
) -> None:
    pandas = pd.DataFrame(mixed).astype({"colour": "category", "kind": "category"})
    polars = pl.DataFrame(mixed).cast({"colour": pl.Categorical, "kind": pl.Enum(["a", "b", "c"])})
    for frame in (pandas, polars, pa.Table.from_pandas(pandas)):
        assert_same_batches(as_batches(frame, batch_size=16, **ROLES), mixed_batches)


@pytest.mark.parametrize("frame", FRAMES)
def test_frames_without_text_are_dense(frame: Any) -> None:
    data = {"a": np.float32([1, 2, 3]), "b": np.float32([4, 5, 6]), "y": [True, False, True]}
    (batch,) = as_batches(frame(data), target=-1)
    assert isinstance(batch.X, np.ndarray)
    assert batch.X.dtype == np.float32
    assert batch.X.tolist() == [[1, 4], [2, 5], [3, 6]]
    assert batch.feature_names == ("a", "b")
    assert batch.y.tolist() == [True, False, True]


@pytest.mark.parametrize("frame", FRAMES)
def test_nulls_are_missing_values(frame: Any) -> None:
    data = frame({"n": [1, None, 3], "c": ["u", None, "v"], "y": [0, 1, 0]})
    with pytest.raises(SourceError, match=r"row 1: Input X contains NaN, column 0 \('n'\)"):
        list(as_batches(data, target="y"))
    (batch,) = as_batches(data, target="y", missing="ignore")
    np.testing.assert_array_equal(dense(batch), [[1, 1, 0], [np.nan, 0, 0], [3, 0, 1]])


def test_a_null_is_missing_in_every_arrow_type(monkeypatch: pytest.MonkeyPatch) -> None:
    def cast(series: nw.Series[Any], _: Any) -> nw.Series[Any]:
        return nw.from_native(pd.Series(map(str, series.to_list())), series_only=True)

    monkeypatch.setattr(nw.Series, "cast", cast)  # as it is for pandas before 3, in many versions
    data = pd.DataFrame({"c": pd.Categorical(["u", None, "v"]), "y": [0, 1, 0]})
    (batch,) = as_batches(data, target="y")
    assert batch.feature_names == ("c=u", "c=v")


@pytest.mark.parametrize("frame", FRAMES)
def test_dates_count_as_seconds(frame: Any) -> None:
    moments = np.array(["1970-01-01T00:01", "1970-01-02T00:00"], dtype="M8[us]").tolist()
    data = {"when": moments, "y": [0, 1]}
    (batch,) = as_batches(frame(data), target="y")
    assert batch.X.tolist() == [[60], [86400]]
    (batch,) = as_batches(frame({**data, "x": [1, 2]}), target="y", time="when")
    assert batch.time is not None
    assert batch.time.tolist() == [60, 86400]
    assert batch.feature_names == ("x",)


@pytest.mark.parametrize("frame", FRAMES)
def test_labels_of_a_frame_can_be_a_separate_array(frame: Any) -> None:
    (batch,) = as_batches((frame({"a": [1, 2]}), ["u", "v"]))
    assert batch.y.tolist() == ["u", "v"]
    assert batch.feature_names == ("a",)


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("make", [list, np.array, pd.Series, pl.Series])
def test_weights_and_times_of_a_frame_can_be_separate_arrays(frame: Any, make: Any) -> None:
    data = {"a": [1, 2, 3], "y": [0, 1, 0], "w": [0.5, 2, 1], "when": [7.0, 8.0, 9.0]}
    in_columns = as_batches(frame(data), target="y", sample_weight="w", time="when", batch_size=2)
    apart = {"sample_weight": make(data.pop("w")), "time": make(data.pop("when"))}
    assert_same_batches(as_batches(frame(data), target="y", **apart, batch_size=2), in_columns)
    for role in apart:
        with pytest.raises(ValueError, match=rf"the source has 3 rows, {role} has shape \(2,\)"):
            as_batches(frame(data), **{"target": "y", role: make([1, 2])})


def test_separate_times_of_a_frame_can_be_dates() -> None:
    frame = pd.DataFrame({"a": [1, 2], "y": [0, 1]})
    for zone in (None, "UTC"):
        dates = pd.Series(pd.to_datetime(["1970-01-01T00:01", "1970-01-02"], format="ISO8601"))
        (batch,) = as_batches(frame, target="y", time=dates.dt.tz_localize(zone))
        assert batch.time is not None
        assert batch.time.tolist() == [60, 86400]


@pytest.mark.parametrize(
    "names",
    [[0, 1, 2], [5, 6, 7], [0.5, 1.5, 2.5], [("a", 1), ("a", 2), ("b", 1)], ["u", "v", "w"]],
)
def test_names_of_any_type_are_the_same_as_in_a_bank(names: list[Any]) -> None:
    frame = pd.DataFrame(X, columns=pd.Index(names))
    expected = Batch.of(frame, Y)
    (batch,) = as_batches((frame, Y))
    assert_same_batches([batch], [expected])
    (batch,) = as_batches(frame, target=names[0])
    assert batch.y.tolist() == X[:, 0].tolist()
    (batch,) = as_batches((frame, Y), drop=[names[1]])
    assert_same_batches([batch], [Batch.of(frame[[names[0], names[2]]], Y)])
    all_names = pd.Index([*names, "y"], tupleize_cols=False)
    labelled = pd.DataFrame(np.column_stack([X, Y]), columns=all_names)
    assert_same_batches(as_batches(labelled, target="y"), [expected])
    (batch,) = as_batches((frame.astype({names[0]: "category"}), Y))
    assert batch.feature_names is not None
    assert batch.feature_names[:3] == (str(names[1]), str(names[2]), f"{names[0]}=0.0")


def test_names_that_a_bank_refuses() -> None:
    mixed_names = pd.DataFrame([[1, 2, 0]], columns=[1, "x", "y"])
    with pytest.raises(TypeError, match="all input features have string names"):
        list(as_batches(mixed_names, target="y"))
    alike = pd.DataFrame([[1, 2, 0]], columns=[1, "1", "y"])
    with pytest.raises(
        SourceError, match=r"^Column names must differ, got '1' 2 times\. Rename one of them\.$"
    ):
        list(as_batches(alike, target="y"))
    with pytest.raises(
        SourceError, match=r"^row 1: Keys must differ as text, got 1 and '1'\.\nPass"
    ):
        list(as_batches([{1: 2.0, "y": 0}, {1: 1.0, "1": 2.0, "y": 0}], target="y"))


def test_columns_of_a_frame_that_are_absent() -> None:
    frame = pd.DataFrame({"a": [1, 2], "y": [0, 1]})
    with pytest.raises(
        SourceError, match=r"target must be the column of the labels.* The columns are 'a', 'y'"
    ):
        as_batches(frame)
    for role in ("target", "time", "sample_weight"):
        with pytest.raises(SourceError, match=r"A column must be one of 'a', 'y', got 'z'."):
            as_batches(frame, **{"target": "y", role: "z"})
    with pytest.raises(SourceError, match="must be one of 'a', 'y', got 2"):
        as_batches(frame, target=2)
    for option in ("drop", "categorical"):
        with pytest.raises(SourceError, match="A column must be one of 'a', 'y', got None"):
            as_batches(frame, target="y", **{option: [None]})


def test_error_suggests_the_column_with_a_similar_name() -> None:
    frame = pd.DataFrame({"amount": [0.5], "is_fraud": [1]})
    with pytest.raises(SourceError, match=r"got 'isfraud'. Did you mean 'is_fraud'\?$"):
        as_batches(frame, target="isfraud")
    with pytest.raises(SourceError, match=r"Did you mean 'amount'\?$"):
        as_batches(frame, target=" AMOUNT")
    with pytest.raises(SourceError, match=r"Name each column separately\.$"):
        as_batches(frame, target="is_fraud", drop="amount, is_fraud")


def test_sparse_column_of_a_frame_is_named_in_the_error() -> None:
    columns = {"c": ["u", "v"], "s": pd.arrays.SparseArray([0.0, 1.0]), "y": [0, 1]}
    frame = pd.DataFrame(columns)
    with pytest.raises(
        SourceError,
        match=r"Column 's' must be dense, got a sparse one. Pass X\.astype\({'s': float}\)",
    ):
        next(as_batches(frame, target="y"))
    (batch,) = as_batches(frame.astype({"s": float}), target="y")
    assert batch.feature_names == ("s", "c=u", "c=v")


def test_a_pandas_column_of_objects() -> None:
    frame = pd.DataFrame({"a": pd.Series([1, 2.5, None], dtype=object), "y": [0, 1, 0]})
    (batch,) = as_batches(frame, target="y", missing="ignore")
    np.testing.assert_array_equal(batch.X, [[1], [2.5], [np.nan]])
    mixed = pd.DataFrame({"a": pd.Series([1, "x"], dtype=object), "y": [0, 1]})
    with pytest.raises(
        SourceError, match="Column 'a' must hold values of one type, got int and str"
    ):
        next(as_batches(mixed, target="y"))


@pytest.mark.parametrize("make", [*FRAMES, "parquet"])
def test_text_columns_of_numbers_are_noted_once(make: Any, tmp_path: Path) -> None:
    c, d = ["1.5", None, "2", "1e3"], ["1", "x", "2", "3"]
    data = {"c": c * 3, "d": d * 3, "y": [0, 1, 0, 1] * 3}
    frame = pa.table(data) if make == "parquet" else make(data)
    if make == "parquet":
        pq.write_table(frame, tmp_path / "a.parquet")
        frame = tmp_path / "a.parquet"
    with pytest.warns(SourceWarning, match=r"'c' holds numbers as text, such as '1\.5'") as caught:
        list(as_batches(frame, target="y", batch_size=2))
    assert len(caught) == 1
    coded = pd.DataFrame(data).astype({"c": "category"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(as_batches(frame, target="y", categorical="c"))
        list(as_batches(frame, target="y", drop="c"))
        list(as_batches(coded, target="y"))
