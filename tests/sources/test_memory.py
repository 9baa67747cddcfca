"""Arrays, frames and rows in memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from source_helpers import ROLES, assert_same_batches, dense, write

from driftsieve.batch import Batch
from driftsieve.sources import SourceError, as_batches

X = np.arange(30.0).reshape(10, 3)
Y = np.arange(10) % 3
FRAMES = [pd.DataFrame, pl.DataFrame, pa.table]


def test_slices_of_an_array_are_views_of_it() -> None:
    batches = list(as_batches((X, Y), batch_size=4))
    assert [batch.n_rows for batch in batches] == [4, 4, 2]
    assert all(np.shares_memory(batch.X, X) for batch in batches)
    assert np.concatenate([batch.y for batch in batches]).tolist() == Y.tolist()


@pytest.mark.parametrize(
    "make", [np.asarray, sparse.csr_array, sparse.csc_matrix, sparse.coo_array]
)
def test_roles_of_an_array_may_be_arrays_or_columns(make: Any) -> None:
    matrix = np.column_stack([Y, X, Y + 1.0])
    by_position = list(as_batches(make(matrix), target=0, weight=-1, time=X[:, 0], batch_size=3))
    by_array = list(as_batches((make(X), Y), weight=(Y + 1.0).tolist(), time=X[:, 0], batch_size=3))
    assert_same_batches(by_position, by_array)
    assert np.vstack([dense(batch) for batch in by_position]).tolist() == X.tolist()


def test_arrays_whose_labels_are_not_there() -> None:
    with pytest.raises(ValueError, match="Where are the labels"):
        as_batches(X)
    with pytest.raises(ValueError, match=r"source has 10 rows, target has shape \(9,\)"):
        as_batches((X, Y[:9]))
    with pytest.raises(ValueError, match="target='y' names a column, but arrays have no names"):
        as_batches(X, target="y")
    for role in ("target", "time", "weight"):
        with pytest.raises(ValueError, match=f"{role}=3 is no column: there are 3, from 0 on"):
            as_batches(X, **{"target": 0, role: 3})
    with pytest.raises(ValueError, match="given twice"):
        as_batches((X, Y), target=0)
    with pytest.raises(ValueError, match="Expected 2D array"):
        as_batches((X[0], Y))


def test_rows_of_an_array_are_named_in_the_whole_of_it() -> None:
    bad = X.copy()
    bad[7, 1] = np.inf
    batches = as_batches((bad, Y), batch_size=4)
    next(batches)
    with pytest.raises(SourceError, match=r"^row 7: Input X contains infinity: inf, column 1\.$"):
        next(batches)


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
def test_nulls(frame: Any) -> None:
    data = frame({"n": [1, None, 3], "c": ["u", None, "v"], "y": [0, 1, 0]})
    with pytest.raises(SourceError, match=r"row 1: Input X contains NaN, column 0 \('n'\)"):
        list(as_batches(data, target="y"))
    (batch,) = as_batches(data, target="y", missing="ignore")
    np.testing.assert_array_equal(dense(batch), [[1, 1, 0], [np.nan, 0, 0], [3, 0, 1]])


def test_a_null_is_missing_whatever_a_cast_makes_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def cast(series: nw.Series[Any], _: Any) -> nw.Series[Any]:
        return nw.from_native(pd.Series(map(str, series.to_list())), series_only=True)

    monkeypatch.setattr(nw.Series, "cast", cast)  # as it is for pandas before 3, in many versions
    data = pd.DataFrame({"c": ["u", None, "v"], "y": [0, 1, 0]})
    (batch,) = as_batches(data, target="y")
    assert batch.feature_names == ("c=u", "c=v")


@pytest.mark.parametrize("frame", FRAMES)
def test_dates_count_as_seconds(frame: Any) -> None:
    moments = np.array(["1970-01-01T00:01", "1970-01-02T00:00"], dtype="M8[us]").tolist()
    data = {"when": moments, "y": [0, 1]}
    (batch,) = as_batches(frame(data), target="y")
    assert batch.X.tolist() == [[60], [86400]]
    (batch,) = as_batches(frame({**data, "x": [1, 2]}), target="y", time="when")
    assert batch.t is not None
    assert batch.t.tolist() == [60, 86400]
    assert batch.feature_names == ("x",)


@pytest.mark.parametrize("frame", FRAMES)
def test_labels_of_a_frame_may_be_apart(frame: Any) -> None:
    (batch,) = as_batches((frame({"a": [1, 2]}), ["u", "v"]))
    assert batch.y.tolist() == ["u", "v"]
    assert batch.feature_names == ("a",)


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("make", [list, np.array, pd.Series, pl.Series])
def test_weights_and_times_of_a_frame_may_be_apart(frame: Any, make: Any) -> None:
    data = {"a": [1, 2, 3], "y": [0, 1, 0], "w": [0.5, 2, 1], "when": [7.0, 8.0, 9.0]}
    in_columns = as_batches(frame(data), target="y", weight="w", time="when", batch_size=2)
    apart = {"weight": make(data.pop("w")), "time": make(data.pop("when"))}
    assert_same_batches(as_batches(frame(data), target="y", **apart, batch_size=2), in_columns)
    for role in apart:
        with pytest.raises(ValueError, match=rf"the source has 3 rows, {role} has shape \(2,\)"):
            as_batches(frame(data), **{"target": "y", role: make([1, 2])})


def test_times_of_a_frame_that_are_apart_may_be_dates() -> None:
    frame = pd.DataFrame({"a": [1, 2], "y": [0, 1]})
    for zone in (None, "UTC"):
        dates = pd.Series(pd.to_datetime(["1970-01-01T00:01", "1970-01-02"], format="ISO8601"))
        (batch,) = as_batches(frame, target="y", time=dates.dt.tz_localize(zone))
        assert batch.t is not None
        assert batch.t.tolist() == [60, 86400]


@pytest.mark.parametrize("role", ["target", "time", "weight"])
@pytest.mark.parametrize("make", [list, np.array, pd.Series, pl.Series, pa.array])
def test_rows_and_files_take_no_arrays(role: str, make: Any, tmp_path: Path) -> None:
    rows = [{"a": 1.0, "y": 0}, {"a": 2.0, "y": 1}]
    for source in (rows, iter(rows), write(tmp_path / "a.csv", "a,y\n1,0\n2,1\n")):
        with pytest.raises(SourceError, match=f"^{role}= must name a column or key.*, got "):
            as_batches(source, **{"target": "y", role: make([0, 1])})


def test_a_position_may_be_an_integer_of_numpy() -> None:
    matrix = np.column_stack([X, Y])
    expected = list(as_batches((X, Y)))
    assert_same_batches(as_batches(matrix, target=np.int64(-1)), expected)
    frame = pd.DataFrame(matrix, columns=list("abcd"))
    assert next(as_batches(frame, target=np.int64(-1))).y.tolist() == Y.tolist()


@pytest.mark.parametrize(
    "names",
    [[0, 1, 2], [5, 6, 7], [0.5, 1.5, 2.5], [("a", 1), ("a", 2), ("b", 1)], ["u", "v", "w"]],
)
def test_names_of_any_kind_are_those_that_a_bank_takes(names: list[Any]) -> None:
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
    (batch,) = as_batches((frame.astype({names[0]: str}), Y))
    assert batch.feature_names is not None
    assert batch.feature_names[:3] == (str(names[1]), str(names[2]), f"{names[0]}=0.0")


def test_names_that_a_bank_refuses() -> None:
    mixed_names = pd.DataFrame([[1, 2, 0]], columns=[1, "x", "y"])
    with pytest.raises(TypeError, match="all input features have string names"):
        list(as_batches(mixed_names, target="y"))
    alike = pd.DataFrame([[1, 2, 0]], columns=[1, "1", "y"])
    with pytest.raises(SourceError, match=r"^2 columns are called '1'$"):
        list(as_batches(alike, target="y"))
    with pytest.raises(SourceError, match=r"^row 1: the keys 1 and '1' have the same name$"):
        list(as_batches([{1: 2.0, "y": 0}, {1: 1.0, "1": 2.0, "y": 0}], target="y"))


@pytest.mark.parametrize("drop", [[1], ["1"]])
def test_keys_are_dropped_by_name(drop: list[Any]) -> None:
    for key in (1, "1"):
        (batch,) = as_batches([{key: 2.0, "x": 3.0, "y": 0}], target="y", drop=drop)
        assert batch.feature_names == ("x",)


@pytest.mark.parametrize("option", ["drop", "categorical"])
def test_options_that_name_columns_need_some(option: str) -> None:
    for source in ((X, Y), (sparse.csr_array(X), Y)):
        with pytest.raises(SourceError, match=f"^{option}= does not go with "):
            as_batches(source, **{option: [0]})
    pairs = as_batches(zip(X, Y, strict=True), **{option: [0]})
    with pytest.raises(SourceError, match=f"^{option}= does not go with "):
        next(pairs)


def test_columns_can_be_dropped_or_called_categorical() -> None:
    frame = pl.DataFrame({"id": [[1], [2]], "zip": [123, 45], "x": [1.5, 2.5], "y": [0, 1]})
    with pytest.raises(
        SourceError, match=r"column 'id' of type List\(Int64\) cannot be used.*drop"
    ):
        next(as_batches(frame, target="y"))
    (batch,) = as_batches(frame, target="y", drop=["id"], categorical=["zip"])
    assert batch.feature_names == ("x", "zip=123", "zip=45")
    with pytest.raises(SourceError, match="no column 'no': there are 'id', 'zip', 'x', 'y'"):
        as_batches(frame, target="y", drop=["no"])


@pytest.mark.parametrize("make", [list, set, iter, np.array, pd.Index, pd.Series, pl.Series])
def test_columns_come_in_any_iterable(make: Any) -> None:
    frame = pd.DataFrame({"a": [1, 2], "b": [3, 4], "c": [5, 6], "y": [0, 1]})
    (batch,) = as_batches(frame, target="y", drop=make(["a", "b"]))
    assert batch.feature_names == ("c",)
    (batch,) = as_batches(frame, target="y", categorical=make(["a", "b"]))
    assert batch.feature_names == ("c", "a=1", "a=2", "b=3", "b=4")


@pytest.mark.parametrize("one", [0, np.int64(0), "a", np.str_("a")])
def test_one_column_needs_no_list(one: Any) -> None:
    frame = pd.DataFrame({"a": [1, 2], "c": [5, 6], "y": [0, 1]})
    (batch,) = as_batches(frame, target="y", drop=one)
    assert batch.feature_names == ("c",)
    (batch,) = as_batches(frame, target="y", categorical=one)
    assert batch.feature_names == ("c", "a=1", "a=2")


def test_columns_of_a_frame_that_are_absent() -> None:
    frame = pd.DataFrame({"a": [1, 2], "y": [0, 1]})
    with pytest.raises(SourceError, match=r"which column is the label\? .*one of 'a', 'y'"):
        as_batches(frame)
    for role in ("target", "time", "weight"):
        with pytest.raises(SourceError, match="no column 'z': there are 'a', 'y'"):
            as_batches(frame, **{"target": "y", role: "z"})
    with pytest.raises(SourceError, match="no column 2"):
        as_batches(frame, target=2)
    for option in ("drop", "categorical"):
        with pytest.raises(SourceError, match="no column None: there are 'a', 'y'"):
            as_batches(frame, target="y", **{option: [None]})


@pytest.mark.parametrize("role", ["target", "time", "weight"])
def test_a_column_is_not_both_used_and_dropped(role: str, tmp_path: Path) -> None:
    rows = [{"a": 1.0, "y": 0}, {"a": 2.0, "y": 1}]
    files = [("a.csv", "a,y\n1,0\n2,1\n"), ("a.jsonl", '{"a": 1, "y": 0}\n{"a": 2, "y": 1}\n')]
    paths = [write(tmp_path / name, text) for name, text in files]
    for source in (rows, pd.DataFrame(rows), *paths):
        with pytest.raises(SourceError, match=f"'y' cannot be both the {role} and left out by"):
            as_batches(source, **{"target": None, role: "y", "drop": "y"})
    with pytest.raises(SourceError, match=f"'a' cannot be both the {role} and left out by"):
        as_batches(pd.DataFrame(rows), **{"target": "y", role: "a", "drop": 0})


def test_a_pandas_column_of_objects() -> None:
    frame = pd.DataFrame({"a": pd.Series([1, 2.5, None], dtype=object), "y": [0, 1, 0]})
    (batch,) = as_batches(frame, target="y", missing="ignore")
    np.testing.assert_array_equal(batch.X, [[1], [2.5], [np.nan]])
    mixed = pd.DataFrame({"a": pd.Series([1, "x"], dtype=object), "y": [0, 1]})
    with pytest.raises(SourceError, match="column 'a' mixes int and str"):
        next(as_batches(mixed, target="y"))


DICTS = [
    {"a": 1, "colour": "red", "y": "no"},
    {"b": True, "colour": "blue", "y": "yes"},
    {"a": 0, "c": np.float32(2.5), "colour": None, "y": "no"},
    {"y": "yes"},
]


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
    (batch,) = as_batches(rows, target="y", weight="w", time="ts")
    assert batch.sample_weight is not None
    assert batch.t is not None
    assert (batch.sample_weight.tolist(), batch.t.tolist()) == ([2, 0.5], [60, 120])
    assert batch.feature_names == ("a",)


@pytest.mark.parametrize(
    ("row", "cause"),
    [
        ({"a": 1}, "the target 'y' is absent"),
        ({"a": "text", "y": 1}, "'a' held numbers, but here 'text'"),
        ({"c": 5, "y": 1}, "'c' held text, but here 5"),
        ({"a": [1], "y": 1}, "'a' must be a number or text, got list"),
        ({"a": 10**400, "y": 1}, "'a' holds an integer that is too large"),
        ({"a": float("nan"), "y": 1}, "Input X contains NaN, column 0 ('a')"),
        ({"a": 1, "y": "one"}, "labels were numbers, got 'one'"),
        ({"a": 1, "y": [1]}, "labels must be numbers or text, got [1]"),
        ({"a": 1, "y": None}, "Input y contains a missing label: None"),
        ({"a": 1, "y": 0.5}, "Unknown label type: continuous"),
    ],
)
def test_bad_dicts(row: dict[str, Any], cause: str) -> None:
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
        (([1, 2], 0), r"values of shape \(2,\), not \(3,\)"),
        (([1, 2, "x"], 0), "could not convert string to float"),
        (([1, 2, 3], "a"), "labels were numbers, got 'a'"),
        ("abc", "too many values to unpack"),
        (5, "cannot unpack"),
    ],
)
def test_bad_pairs(row: Any, cause: str) -> None:
    rows = [([1, 2, 3], 0), row, ([4, 5, 6], 1)]
    with pytest.raises(SourceError, match=f"row 1: .*{cause}"):
        list(as_batches(rows))
    (batch,) = as_batches(rows, on_error="skip")
    assert dense(batch).tolist() == [[1, 2, 3], [4, 5, 6]]


def test_what_is_no_source() -> None:
    with pytest.raises(TypeError, match="cannot read int"):
        as_batches(5)
    with pytest.raises(TypeError, match="rows must be dicts or"):
        next(as_batches([1, 2, 3]))
    with pytest.raises(SourceError, match="target= does not go with"):
        next(as_batches([([1, 2], 0)], target="y"))


@pytest.mark.parametrize("empty", [[], (X[:0], Y[:0]), pd.DataFrame({"a": [], "y": []})])
def test_nothing_in_memory_is_no_batch(empty: Any) -> None:
    assert list(as_batches(empty, target=None if isinstance(empty, tuple) else "y")) == []


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


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"batch_size": 0}, "batch_size must be at least 1"),
        ({"skip_rows": -1}, "skip_rows must be at least 0"),
        ({"on_error": "drop"}, "on_error must be"),
        ({"format": "xml"}, "format must be one of auto, svmlight"),
        ({"missing": "drop"}, "missing must be"),
    ],
)
def test_bad_arguments(bad: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        as_batches((X, Y), **bad)


def test_keys_that_are_a_kind_of_text_are_text() -> None:
    rows = [dict(zip(np.array(["a", "b"]), row, strict=True)) for row in [[1.0, 2.0], [3.0, 4.0]]]
    batch = next(iter(as_batches(zip(rows, [0, 1], strict=True))))
    assert batch.feature_names == ("a", "b")
