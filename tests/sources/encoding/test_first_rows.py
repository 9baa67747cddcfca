"""Decisions by the first rows of csv files: kinds of columns, missing values, headers."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from source_helpers import dense, error_of, write

from driftsieve.exceptions import SourceError, SourceWarning
from driftsieve.sources import as_batches
from driftsieve.sources.encoding.kinds import SAMPLE, SAMPLE_BYTES

MARKS = [
    *("", " ", "-", "--", ".", "?", "na", "NA", "Na", "n/a", "N/A", "#N/A", "<NA>", "<na>", "nan"),
    *("NaN", "none", "None", "NONE", "null", "NULL", "Null", "(null)", "\\N", "#DIV/0!", "NaT"),
]


@pytest.fixture(params=["with pyarrow", "without pyarrow"])
def _pyarrow(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "without pyarrow":
        monkeypatch.setitem(sys.modules, "pyarrow", None)


def read(path: Any, **options: Any) -> tuple[tuple[str, ...] | None, Any]:
    batches = list(as_batches(path, target="y", **options))
    width = batches[-1].n_features
    rows = [np.pad(dense(b), ((0, 0), (0, width - b.n_features))) for b in batches]
    return batches[-1].feature_names, np.vstack(rows)


@pytest.mark.usefixtures("_pyarrow")
@pytest.mark.parametrize("mark", MARKS)
@pytest.mark.parametrize("batch_size", [1, 4096])
def test_a_mark_of_a_missing_number_leaves_a_column_numeric(
    mark: str, batch_size: int, tmp_path: Path
) -> None:
    path = write(tmp_path / "a.csv", f"x,z,y\n{mark},1,0\n2.5,2,1\n3,{mark},0\n")
    names, X = read(path, missing="ignore", batch_size=batch_size)
    assert names == ("x", "z")
    np.testing.assert_array_equal(X, [[np.nan, 1], [2.5, 2], [3, np.nan]])
    cause = error_of(path, target="y", batch_size=batch_size)
    assert cause.startswith(", line 2: Input X contains NaN, column 0 ('x')")
    for role, message in {
        "target": "Input y contains NaN.",
        "sample_weight": "Column 'x' must hold weights, got a missing value.",
        "time": "Column 'x' must hold times, got a missing value.",
    }.items():
        options: dict[str, Any] = {"target": "y", role: "x", "drop": "z", "batch_size": batch_size}
        assert error_of(path, **options) == f", line 2: {message}"


@pytest.mark.usefixtures("_pyarrow")
def test_text_has_fewer_marks_than_numbers(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "c,y\n-,0\nnone,1\nNa,0\nNA,1\n  ,0\n<NA>,1\nred,0\nblue,1\n")
    names, X = read(path)
    assert names == ("c=-", "c=none", "c=Na", "c=red", "c=blue")
    assert X.sum(axis=1).tolist() == [1, 1, 1, 0, 0, 0, 1, 1]


@pytest.mark.usefixtures("_pyarrow")
@pytest.mark.parametrize("na", ["-9", ["-9", " * * "]])
def test_marks_of_missing_values_can_be_given(na: Any, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "x,c,y\n-9,u,0\n1, -9,1\n2,v,0\n")
    names, X = read(path, na=na, missing="ignore")
    assert names == ("x", "c=u", "c=v")
    np.testing.assert_array_equal(X, [[np.nan, 1, 0], [1, 0, 0], [2, 0, 1]])
    text = write(tmp_path / "b.csv", "x,y\n1,0\n2,-9\n")
    assert error_of(text, target="y", na=na) == ", line 3: Input y contains NaN."


@pytest.mark.usefixtures("_pyarrow")
def test_numbers_may_have_decimal_commas(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "x;w;y\n1,5;0,5;0\n-2,25e1;1;1\n3;NA;0\n")
    options: dict[str, Any] = {
        "delimiter": ";",
        "decimal": ",",
        "sample_weight": "w",
        "on_error": "skip",
    }
    batches = as_batches(path, target="y", **options)
    (batch,) = batches
    assert batch.X.tolist() == [[1.5], [-22.5]]
    assert batch.sample_weight is not None
    assert batch.sample_weight.tolist() == [0.5, 1]
    quoted = write(tmp_path / "b.csv", 'x,y\n"1,5",0\n"2,5",1\n')
    assert read(quoted, decimal=",")[1].tolist() == [[1.5], [2.5]]
    points = write(tmp_path / "c.csv", "x;y\n1,5;0\n1.500;1\n2,5;0\n")
    assert error_of(points, target="y", delimiter=";", decimal=",").startswith(
        ", line 3: Column 'x' must hold numbers, got '1.500'."
    )


@pytest.mark.parametrize(("option", "value"), [("na", "x"), ("decimal", ",")])
def test_options_of_csv_do_not_go_with_other_sources(
    option: str, value: str, tmp_path: Path
) -> None:
    path = write(tmp_path / "a.svm", "1 1:2\n")
    given: dict[str, Any] = {option: value}
    with pytest.raises(ValueError, match=f"{option} must not be given for svmlight files"):
        as_batches(path, **given)
    with pytest.raises(ValueError, match=f"{option} must not be given for sources in memory"):
        as_batches([{"y": 1}], target="y", **given)


def test_options_of_csv_are_checked(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "x,y\n1,0\n")
    wrong: list[dict[str, Any]] = [{"decimal": ";"}, {"na": [1]}, {"columns": {"x": "dates"}}]
    for options in wrong:
        with pytest.raises((ValueError, TypeError), match=f"{next(iter(options))} must be"):
            as_batches(path, target="y", **options)


NOTED = {
    "some numbers": (["red", "blue", "7", "green"], "1 of its first 4 values are numbers"),
    "decimal commas": (["1,5", "2,5"], r"look like numbers, such as '1,5'. Pass decimal=\",\""),
    "thousands": (["1,234.5", "2,000.0"], "such as '1,234.5'. Write them without separators"),
    "money": (["$5", "$6.50"], "such as '\\$5'. Write them without separators and units"),
    "percent": (["5%", "7 %"], "such as '5%'. Write them without separators and units"),
    "commas of thousands": (["1,234", "2,000"], "such as '1,234'. Write them without separators"),
    "quotes": (["'1'", "'2'"], "such as .* Write them without separators and units"),
    "dates": (["2020-01-31", "2020-02-01"], 'it holds dates.* Pass time="c", drop="c"'),
    "German dates": (["31.1.2020 8:00", "1.2.2020 9:30"], "Write them as 2020-01-31 to pass time="),
    "American dates": (["1/31/20", "2/1/20"], 'dates, such as .* or pass drop="c", or categor'),
    "identifiers": (
        [f"order {i:02}h" for i in range(100)],
        r"100 of its first 100 values differ, such as 'order 00h'. Pass drop=\"c\"",
    ),
}


@pytest.mark.parametrize("case", NOTED)
def test_a_column_of_numbers_that_is_read_as_text_is_noted_once(case: str, tmp_path: Path) -> None:
    values, message = NOTED[case]
    rows = "".join(f'"{value}",{i % 2}\n' for i, value in enumerate(values))
    path = write(tmp_path / "a.csv", "c,y\n" + rows)
    with pytest.warns(
        SourceWarning, match=f"{path}: Column 'c' is read as text.*{message}"
    ) as caught:
        names, _ = read(path, batch_size=1)
    assert names == tuple(f"c={value}" for value in values)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read(path, categorical="c")


def test_text_that_repeats_is_not_noted(tmp_path: Path) -> None:
    rows = "".join(f"c{i // 2},{i % 2}\n" for i in range(200))
    assert len(read(write(tmp_path / "a.csv", "c,y\n" + rows))[0] or ()) == 100


def test_values_that_differ_only_in_case_are_noted(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "c,y\nTRUE,Spam\nFalse,ham\nfalse,spam\n")
    with pytest.warns(SourceWarning, match="differ only in case or spaces, such as") as caught:
        assert read(path)[0] == ("c=TRUE", "c=False", "c=false")
    assert [str(w.message).partition("such as ")[2] for w in caught] == [
        "'False' and 'false'. Each is a separate feature.",
        "'Spam' and 'spam'. Each is a separate class.",
    ]


TEXTS = ["12:30", "192.168.0.1", "1.2.3", "A1", "3b", "5-7", "+49 89 1234", "x"]


@pytest.mark.parametrize("text", TEXTS)
def test_other_text_is_not_a_number(text: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", f"c,y\n{text},0\n{text},1\n")
    assert read(path)[0] == (f"c={text}",)


@pytest.mark.parametrize("batch_size", [1, 100, 10_000])
def test_kinds_are_decided_by_the_same_rows_for_every_batch_size(
    batch_size: int, tmp_path: Path
) -> None:
    rows = [f"{'u' if i < SAMPLE // 2 else i},{i % 2}\n" for i in range(SAMPLE + 2000)]
    path = write(tmp_path / "a.csv", "c,y\n" + "".join(rows))
    cause = error_of(path, target="y", batch_size=batch_size)
    assert cause.startswith(", line 2: Column 'c' must hold numbers, got 'u'.")
    rows[SAMPLE // 2] = "u,0\n"  # now fewer than half of the first are numbers
    write(path, "c,y\n" + "".join(rows))
    with pytest.warns(SourceWarning, match="2,047 of its first 4,096 values are numbers"):
        batch = next(as_batches(path, target="y", batch_size=batch_size))
    assert batch.feature_names is not None
    assert batch.feature_names[0] == "c=u"


def test_fewer_long_rows_are_sampled(tmp_path: Path) -> None:
    long = "x" * 10_000
    n = SAMPLE_BYTES // 10_000
    rows = [f"{long},,{i % 2}\n" for i in range(n)] + [f"{long},red,0\n"]
    path = write(tmp_path / "a.csv", "c,d,y\n" + "".join(rows))
    cause = error_of(path, target="y", missing="ignore")
    assert cause.startswith(f", line {n + 2}: Column 'd' must hold numbers, got 'red'.")


def test_kinds_of_an_earlier_read_can_be_given(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "x,c,y\n1,,0\n2,red,1\n")
    first = as_batches(path, target="y")
    assert first.columns == {}
    next(first)
    assert first.columns == {"x": "numbers", "c": "text", "y": "numbers"}
    with path.open("a") as file:
        file.write("3,7,0\n4,8,1\n5,9,0\n")  # the column would be numeric now
    rest = as_batches(path, target="y", skip_rows=first.position, columns=first.columns)
    assert next(rest).feature_names == ("x", "c=red", "c=7", "c=8", "c=9")


def test_column_kinds_of_tables_are_reported(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0], "c": ["u", "v"], "z": [0, 0], "y": [0, 1]})
    frame.to_parquet(tmp_path / "a.parquet")
    frame.to_feather(tmp_path / "a.feather")
    for source in (frame, tmp_path / "a.parquet", tmp_path / "a.feather"):
        batches = as_batches(source, target="y", drop="z")
        list(batches)
        assert batches.columns == {"x": "numbers", "c": "text", "y": "numbers"}
    rows = as_batches([{"x": 1, "y": 0}], target="y")
    list(rows)
    assert rows.columns == {}


LABELS = "".join(f"{i}.5,{i}.25,{i % 2}\n" for i in range(12))


@pytest.mark.parametrize(
    ("header", "target"),
    [("2019,2020,label", -1), ("2019,2020,label", "2"), ("0,1,2", -1), ("1,2,3", "-1")],
)
def test_headers_of_numbers_are_recognised(header: str, target: Any, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", f"{header}\n{LABELS}")
    (batch,) = as_batches(path, target=target)
    assert batch.feature_names == tuple(header.split(",")[:2])
    assert (batch.n_rows, set(batch.y.tolist())) == (12, {0, 1})


def test_the_header_of_a_frame_without_names_is_recognised(tmp_path: Path) -> None:
    digits = np.arange(240.0).reshape(20, 12).round()
    digits[:, -1] = np.arange(20) % 12
    pd.DataFrame(digits).to_csv(tmp_path / "a.csv", index=False)
    (batch,) = as_batches(tmp_path / "a.csv", target=-1)
    assert batch.n_rows == 20


def test_option_that_names_a_column_implies_a_header(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "id,2020,2021\n7,1.5,0\n8,2.5,1\n")
    (batch,) = as_batches(path, target=-1, drop="id")
    assert (batch.feature_names, batch.y.tolist()) == (("2020",), [0, 1])


def test_ambiguous_first_row_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", f"2019,2020,2021\n{LABELS}")
    assert error_of(path, target=-1) == (
        ": The first row must be clearly a header or data, got one that may be either (no other "
        "row has its label '2021'). Pass header=True or header=False."
    )
    assert next(as_batches(path, target=-1, header=True)).n_rows == 12
    assert next(as_batches(path, target=-1, header=False)).n_rows == 13


@pytest.mark.parametrize("first", ["0,1,1", "-,7,0", "0.5,1.5,7", "u,3,1", "0,1,0"])
def test_a_first_row_of_data_is_one(first: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", f"{first}\n{LABELS}")
    options: dict[str, Any] = {"target": -1, "missing": "ignore", "on_error": "skip"}
    batches = as_batches(path, **options)
    next(batches)
    assert batches.rows_read == 13
    assert list(batches.columns) == ["x0", "x1", "x2"]


def test_the_index_that_pandas_writes_first_is_no_feature(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    pd.DataFrame({"x": [1.0, 2.0], "y": [0, 1]}, index=["r1", "r2"]).to_csv(path)
    with pytest.warns(SourceWarning, match="The first column has no name. It is read as row"):
        assert read(path)[0] == ("x",)
    assert read(path, drop=0)[0] == ("x",)
    assert read(path, categorical=0)[0] == ("x", "=r1", "=r2")
    assert next(as_batches(path, target=0)).y.tolist() == ["r1", "r2"]


def test_a_delimiter_at_the_end_of_lines_makes_no_column(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "x,y,\n1,0,\n2,1,\n")
    names, X = read(path)
    assert (names, X.tolist()) == (("x",), [[1], [2]])
    kept = write(tmp_path / "b.csv", "x,y,\n1,0,5\n2,1,6\n")
    assert read(kept)[0] == ("x", "")


@pytest.mark.parametrize(("sign", "shown"), [(";", ";"), ("\t", r"\t"), ("|", "|")])
def test_another_delimiter_is_noticed(sign: str, shown: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", f"x{sign}y\n1{sign}0\n")
    for target in ("y", -1):
        assert (
            error_of(path, target=target)
            == f': A csv file must have at least two columns, got one. Pass delimiter="{shown}".'
        )
    assert next(as_batches(path, target="y", delimiter=sign)).X.tolist() == [[1]]


@pytest.mark.usefixtures("_pyarrow")
@pytest.mark.parametrize("batch_size", [1, 100])
def test_dropped_columns_need_not_be_utf8(batch_size: int, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", b"gr\xf6\xdfe,caf\xe9,x,y\n\xe9,a,1,0\n\xff,b,2,1\n")
    options: dict[str, Any] = {"target": "y", "batch_size": batch_size}
    got = [b.X.tolist() for b in as_batches(path, drop=[0, 1], **options)]
    assert [row for rows in got for row in rows] == [[1], [2]]
    assert error_of(path, drop=0, **options).startswith(
        ", line 1: Text must be UTF-8, got byte 0xf6."
    )
    ascii_names = write(tmp_path / "b.csv", b"a,b,x,y\n\xe9,a,1,0\nu,\xff,2,1\n")
    assert error_of(ascii_names, drop=0, **options).startswith(", line 3: Text must be UTF-8")
    rows = as_batches(ascii_names, drop=0, on_error="skip", **options)
    assert sum(b.n_rows for b in rows) == 1


def times(source: Any, **options: Any) -> tuple[list[float], set[bool]]:
    """The times, and whether they are dates."""
    batches = list(as_batches(source, **options))
    return [float(t) for b in batches for t in np.asarray(b.time)], {b.has_dates for b in batches}


@pytest.mark.usefixtures("_pyarrow")
@pytest.mark.parametrize("batch_size", [1, 100])
def test_times_in_digits_are_dates(batch_size: int, tmp_path: Path) -> None:
    days = write(tmp_path / "a.csv", "t,x,y\n20200131,1,0\n20200201,2,1\n")
    options: dict[str, Any] = {"target": "y", "time": "t", "batch_size": batch_size}
    assert times(days, **options) == ([1580428800, 1580515200], {True})
    moments = write(tmp_path / "b.csv", "t,x,y\n20200131010203,1,0\n20200131010204,2,1\n")
    assert times(moments, **options) == ([1580432523, 1580432524], {True})
    odd = write(tmp_path / "c.csv", "t,x,y\n20200131,1,0\n20200132,2,1\n")
    assert error_of(odd, **options) == ", line 3: Column 't' must hold times, got '20200132'."
    seconds = write(tmp_path / "d.csv", "t,x,y\n20200132,1,0\n20200131,2,1\n")
    assert times(seconds, **options) == ([20200132, 20200131], {False})


@pytest.mark.parametrize("batch_size", [1, 100])
def test_times_in_digits_are_dates_in_other_sources(batch_size: int, tmp_path: Path) -> None:
    options: dict[str, Any] = {"target": "y", "time": "t", "batch_size": batch_size}

    def sources(values: list[Any]) -> list[Any]:
        frame = pd.DataFrame({"t": values, "x": 1.0, "y": 0})
        frame.to_parquet(tmp_path / "a.parquet")
        frame.to_json(tmp_path / "a.jsonl", orient="records", lines=True)
        rows = frame.to_dict("records")
        return [frame, tmp_path / "a.parquet", tmp_path / "a.jsonl", rows]

    for source in sources([20200131, 20200201]):
        assert times(source, **options) == ([1580428800, 1580515200], {True})
    for source in sources([5, 20200131]):
        assert times(source, **options) == ([5, 20200131], {False})
    for source in sources([20200131, 20200132]):
        with pytest.raises(ValueError, match=r"row 1|line 2"):
            times(source, **options)
    with pytest.raises(
        ValueError, match="row 1: Time 't' must be a number, as in the rows before, got '2020-01-"
    ):
        times([{"t": 5, "y": 0}, {"t": "2020-01-31", "y": 1}], **options)


def test_invalid_times_of_tables_are_named(tmp_path: Path) -> None:
    frame = pd.DataFrame({"t": [20200131, 20200132], "w": [1.0, np.nan], "y": [0, 1]})
    frame.to_parquet(tmp_path / "a.parquet")
    for source, start in ((frame, ""), (tmp_path / "a.parquet", f"{tmp_path / 'a.parquet'}, ")):
        batches = as_batches(source, target="y", time="t", drop="w", on_error="skip")
        assert [batch.n_rows for batch in batches] == [1]
        reason = f"{start}row 1: Column 't' must hold times, got 20200132."
        assert batches.skip_reasons == [reason]
        with pytest.raises(ValueError, match=r"Column 'w' must hold weights, got a missing value."):
            list(as_batches(source, target="y", sample_weight="w"))


def test_numbers_as_text_in_objects_are_noted_once() -> None:
    rows = [{"x": "1.5", "c": "u", "y": 0}, {"x": "2.5", "c": "7", "y": 1}]
    with pytest.warns(
        SourceWarning, match="Key 'x' holds numbers as text, such as '1.5'"
    ) as caught:
        batches = list(as_batches(rows * 3, target="y", batch_size=1))
    assert batches[-1].feature_names == ("x=1.5", "c=u", "x=2.5", "c=7")
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(as_batches(rows, target="y", categorical="x"))


@pytest.mark.parametrize("target", ["1992", "-1"])
def test_a_header_of_numbers_is_known_by_the_column_that_an_option_names(tmp_path, target):
    path = tmp_path / "years.csv"
    path.write_text("1990,1991,1992\n" + "".join(f"{i},{-i},{i % 2}\n" for i in range(40)))
    if target == "-1":  # a position: the first row may be both
        with pytest.raises(SourceError, match="header=True or header=False"):
            list(as_batches(path, target=target))
        return
    (batch,) = as_batches(path, target=target)
    assert batch.feature_names == ("1990", "1991")
    assert batch.n_rows == 40
