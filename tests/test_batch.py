"""Batch: what passes is carried unchanged, what does not is named."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

import driftsieve as ds
from driftsieve._core import are_canonical
from driftsieve.batch import Batch
from driftsieve.row_error import RowError
from driftsieve.sources import as_batches

X = np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 3.0], [4.0, 5.0, 0.0]])
Y = np.array([0, 1, 1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "view",
    [
        lambda a: a,
        np.asfortranarray,
        lambda a: a[::-1, ::-1],
        lambda a: a[::2, 1:],
        lambda a: np.broadcast_to(a[0], (4, 3)),
    ],
)
def test_a_dense_float_matrix_is_carried_without_a_copy(dtype: Any, view: Any) -> None:
    matrix = view(X.astype(dtype))
    batch = Batch.of(matrix, np.zeros(len(matrix), dtype=int))
    assert batch.X.dtype == dtype
    assert batch.X.strides == matrix.strides
    assert np.shares_memory(batch.X, matrix)


def test_packed_records_are_copied_because_their_strides_cannot_be_addressed() -> None:
    records = np.zeros(3, dtype=[("tag", "u1"), ("x", "f8", (2,))])
    records["x"] = X[:, :2]
    assert not records["x"].flags.aligned
    batch = Batch.of(records["x"], Y)
    assert batch.X.flags.aligned
    np.testing.assert_array_equal(batch.X, X[:, :2])


@pytest.mark.parametrize("dtype", ["int8", "uint64", "bool", "float16", ">f8", ">f4", "longdouble"])
def test_other_numbers_become_float64(dtype: str) -> None:
    batch = Batch.of(X.astype(dtype), Y)
    assert batch.X.dtype == np.float64
    np.testing.assert_array_equal(batch.X, X.astype(dtype).astype(float))


def test_lists_and_empty_batches_are_fine() -> None:
    assert Batch.of([[1, 2], [3, 4]], [0, 1]).X.dtype == np.float64
    empty = Batch.of(np.empty((0, 4)), [], sample_weight=[], t=[])
    assert (empty.n_rows, empty.n_features) == (0, 4)
    assert Batch.of(sparse.csr_array((0, 4)), []).n_features == 4


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "dia", "bsr"])
@pytest.mark.parametrize("cls", ["array", "matrix"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bool"])
def test_every_sparse_format_becomes_canonical_csr(form: str, cls: str, dtype: str) -> None:
    make = getattr(sparse, f"{form}_{cls}")
    batch = Batch.of(make(X.astype(dtype)), Y)
    assert isinstance(batch.X, sparse.csr_array)
    assert batch.X.has_canonical_format
    assert batch.X.dtype == (dtype if dtype.startswith("float") else np.float64)
    np.testing.assert_array_equal(batch.X.toarray(), X.astype(dtype).astype(float))


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float64, np.int8, np.bool_])
def test_duplicates_are_summed_as_scipy_does_and_the_caller_keeps_his_matrix(
    index: Any, dtype: Any
) -> None:
    data = np.array([1, 1, 1, 1], dtype=dtype)
    indices, indptr = np.array([2, 0, 2, 1], dtype=index), np.array([0, 3, 4], dtype=index)
    matrix = sparse.csr_array((data, indices, indptr), shape=(2, 3))
    batch = Batch.of(matrix, [0, 1])
    np.testing.assert_array_equal(batch.X.toarray(), matrix.toarray().astype(float))
    assert batch.X.indices.dtype == index
    assert batch.X.nnz == 3
    assert matrix.nnz == 4
    np.testing.assert_array_equal(matrix.indices, [2, 0, 2, 1])
    np.testing.assert_array_equal(matrix.data, data)


def test_canonical_csr_is_shared() -> None:
    matrix = sparse.csr_matrix(X)
    assert np.shares_memory(Batch.of(matrix, Y).X.data, matrix.data)


@pytest.mark.parametrize("index", [np.int16, np.int32, ">i4"])
def test_indices_and_their_bounds_may_be_of_different_kinds(index: Any) -> None:
    matrix = sparse.csr_array(X)
    matrix.indices, matrix.indptr = matrix.indices.astype(index), matrix.indptr.astype(np.int64)
    batch = Batch.of(matrix, Y)
    assert batch.X.indices.dtype == batch.X.indptr.dtype
    np.testing.assert_array_equal(batch.X.toarray(), X)
    ds.Bank().update(matrix, Y)


def test_corrupt_csr_is_refused() -> None:
    matrix = sparse.csr_array(X)
    matrix.indices[0] = 99
    with pytest.raises(ValueError, match="ind"):
        Batch.of(matrix, Y)


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_canonical_rows_are_those_that_scipy_finds_canonical(index: Any) -> None:
    rng = np.random.default_rng(1)
    found = set()
    for _ in range(2000):
        indptr = np.sort(rng.integers(0, 20, 4)).astype(index)
        indptr[0] = rng.random() < 0.05
        if rng.random() < 0.05:
            indptr[2] += rng.integers(-3, 4)
        rows = [rng.choice(25, max(n, 0), replace=False) for n in np.diff(indptr)]
        indices = np.concatenate([np.sort(row) for row in rows]).astype(index)
        if len(indices) and rng.random() < 0.5:
            indices[rng.integers(len(indices))] = rng.integers(-1, 26)
        try:
            matrix = sparse.csr_array((np.ones(len(indices)), indices, indptr), shape=(3, 25))
            matrix.check_format(full_check=True)
            expected = matrix.has_canonical_format
        except ValueError:
            expected = False
        assert are_canonical(indices, indptr, 25) == expected, (indices, indptr)
        found.add(expected)
    assert found == {True, False}


FRAMES = [pd.DataFrame, pl.DataFrame, pa.table]


@pytest.mark.parametrize("frame", FRAMES)
def test_frames_carry_their_names(frame: Any) -> None:
    data = {"n": [1, 2], "f": [0.5, 1.5], "b": [True, False]}
    batch = Batch.of(frame(data), ["u", "v"])
    assert batch.feature_names == ("n", "f", "b")
    np.testing.assert_array_equal(batch.X, [[1, 0.5, 1], [2, 1.5, 0]])
    assert batch.X.dtype == np.float64


@pytest.mark.parametrize("frame", FRAMES)
def test_float32_frames_stay_float32(frame: Any) -> None:
    column = np.array([0.5, 1.5], dtype=np.float32)
    assert Batch.of(frame({"a": column, "b": column}), [0, 1]).X.dtype == np.float32


def test_a_pandas_frame_of_one_block_is_not_copied() -> None:
    frame = pd.DataFrame(X, columns=list("abc"))
    assert np.shares_memory(Batch.of(frame, Y).X, frame.to_numpy())


NULLS = [
    pd.DataFrame({"i": pd.array([1, None], dtype="Int64"), "b": pd.array([True, None], "boolean")}),
    pl.DataFrame({"i": [1, None], "b": [True, None]}),
    pa.table({"i": [1, None], "b": [True, None]}),
]


@pytest.mark.parametrize("frame", NULLS)
def test_nulls_are_missing_values(frame: Any) -> None:
    with pytest.raises(ValueError, match=r"NaN at row 1, column 0 \('i'\).*missing=\"ignore\""):
        Batch.of(frame, [0, 1])
    np.testing.assert_array_equal(
        Batch.of(frame, [0, 1], missing="ignore").X, [[1, 1], [np.nan, np.nan]]
    )


@pytest.mark.parametrize(
    "kinds",
    [
        "double[pyarrow]",
        "float[pyarrow]",
        {"a": "double[pyarrow]"},
        {"a": "float[pyarrow]", "b": "float32"},
        {"a": "Float64"},
        "Float32",
    ],
)
def test_floats_of_every_kind_that_pandas_has(kinds: Any) -> None:
    frame = pd.DataFrame({"a": [0.5, 1.5], "b": [2.5, -1.0]}).astype(kinds)
    np.testing.assert_array_equal(Batch.of(frame, [0, 1]).X, [[0.5, 2.5], [1.5, -1.0]])
    with_null = frame.mask(frame == 1.5)
    with pytest.raises(ValueError, match=r"NaN at row 1, column 0 \('a'\)"):
        Batch.of(with_null, [0, 1])
    np.testing.assert_array_equal(
        Batch.of(with_null, [0, 1], missing="ignore").X, [[0.5, 2.5], [np.nan, -1.0]]
    )


def arrow_backed(data: Any) -> pd.DataFrame:
    return pd.DataFrame(data).convert_dtypes(dtype_backend="pyarrow")


def wide(data: Any) -> pl.DataFrame:
    return pl.DataFrame(data).cast({"a": pl.Int128})


@pytest.mark.parametrize("frame", [*FRAMES, arrow_backed, wide])
def test_integers_beyond_the_digits_of_double_are_rounded(frame: Any) -> None:
    table = frame({"a": [2**62 + 1, -1], "b": [0.5, 1.5]})
    (read,) = as_batches((table, [0, 1]))
    for batch in (read, Batch.of(table, [0, 1])):
        assert batch.X.tolist() == [[2.0**62, 0.5], [-1.0, 1.5]]


@pytest.mark.parametrize("frame", FRAMES)
def test_a_text_column_is_named(frame: Any) -> None:
    with pytest.raises(TypeError, match=r"Column 'colour' is not numeric.*as_batches"):
        Batch.of(frame({"n": [1, 2], "colour": ["red", "blue"]}), [0, 1])


def test_frames_that_hold_no_plain_columns():
    thin = pd.DataFrame.sparse.from_spmatrix(sparse.csr_matrix(np.eye(2)))
    with pytest.raises(TypeError, match=r"Column 0 is sparse: pass X.sparse.to_coo\(\)"):
        Batch.of(thin, [0, 1])
    with pytest.raises(TypeError, match=r"X is a LazyFrame.*pass X.collect\(\)"):
        Batch.of(pl.DataFrame({"a": [1.0]}).lazy(), [0])


def test_column_names_that_are_no_strings() -> None:
    assert Batch.of(pd.DataFrame(X), Y).feature_names is None
    with pytest.raises(TypeError, match="all input features have string names"):
        Batch.of(pd.DataFrame(X, columns=["a", 1, 2]), Y)
    with pytest.raises(ValueError, match="unique column names"):
        Batch.of(pd.DataFrame(X, columns=["a", "b", "a"]), Y)


def test_feature_names_are_checked() -> None:
    assert Batch.of(X, Y, feature_names=["a", "b", "c"]).feature_names == ("a", "b", "c")
    with pytest.raises(ValueError, match="X has 3 features, but 2 feature_names"):
        Batch.of(X, Y, feature_names=["a", "b"])
    with pytest.raises(ValueError, match="'b' twice"):
        Batch.of(X, Y, feature_names=["a", "b", "b"])
    with pytest.raises(TypeError, match="must be strings, got 3"):
        Batch.of(X, Y, feature_names=["a", "b", 3])  # type: ignore[list-item]


@pytest.mark.parametrize("value", [np.inf, -np.inf])
@pytest.mark.parametrize("missing", ["error", "ignore"])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, sparse.csc_array])
def test_infinity_is_always_an_error(value: float, missing: Any, make: Any) -> None:
    matrix = X.copy()
    matrix[1, 2] = value
    with pytest.raises(ValueError, match=rf"contains infinity: {value} at row 1, column 2\.$"):
        Batch.of(make(matrix), Y, missing=missing)


@pytest.mark.parametrize("make", [np.asarray, np.asfortranarray, sparse.csr_array])
def test_the_first_nan_is_named_or_kept(make: Any) -> None:
    matrix = X.copy()
    matrix[2, 0] = matrix[1, 2] = np.nan
    with pytest.raises(ValueError, match=r"NaN at row 1, column 2 \('z'\)"):
        Batch.of(make(matrix), Y, feature_names=["x", "y", "z"])
    assert np.isnan(Batch.of(make(matrix), Y, missing="ignore").X[2, 0])


@pytest.mark.parametrize(
    ("bad", "error", "message"),
    [
        (X[0], ValueError, "Expected 2D array, got 1D"),
        (X[None], ValueError, "Expected 2D array, got 3D"),
        (sparse.coo_array(X[0]), ValueError, "Expected 2D sparse array, got 1D"),
        (X.astype(object), TypeError, "must hold numbers, got an array of dtype object"),
        (X.astype(complex), ValueError, "Complex data not supported"),
        (sparse.csr_array(X.astype(complex)), ValueError, "Complex data not supported"),
        (X.astype(str), TypeError, "must hold numbers"),
        (X.astype("M8[s]"), TypeError, "must hold numbers"),
        (np.ma.masked_equal(X, 0), TypeError, "masked"),
        ([["a", "b", "c"]] * 3, TypeError, "must hold numbers"),
    ],
)
def test_what_is_no_matrix_of_numbers(bad: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Batch.of(bad, Y)


def test_lengths_must_agree() -> None:
    with pytest.raises(ValueError, match="inconsistent numbers of samples: X has 3 rows, y has 2"):
        Batch.of(X, [0, 1])
    with pytest.raises(ValueError, match="X has 3 rows, sample_weight has 2"):
        Batch.of(X, Y, sample_weight=[1, 1])
    with pytest.raises(ValueError, match="X has 3 rows, t has 4"):
        Batch.of(X, Y, t=[1, 2, 3, 4])


def test_unknown_missing() -> None:
    with pytest.raises(ValueError, match="missing must be"):
        Batch.of(X, Y, missing="drop")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("weight", "error", "message"),
    [
        ([1, -0.5, 1], ValueError, r"must not be negative, got -0\.5 at row 1"),
        ([1, 1, np.nan], ValueError, "sample_weight must be finite, got nan at row 2"),
        ([np.inf, 1, 1], ValueError, "sample_weight must be finite, got inf at row 0"),
        ([[1, 1, 1]], ValueError, r"sample_weight should be a 1d array.*\(1, 3\)"),
        (2.0, ValueError, "sample_weight should be a 1d array"),
        (["a", "b", "c"], TypeError, "sample_weight must hold numbers"),
    ],
)
def test_bad_weights(weight: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Batch.of(X, Y, sample_weight=weight)


def test_weights_may_be_zero_and_become_float64() -> None:
    weight = Batch.of(X, Y, sample_weight=[0, 1, 2]).sample_weight
    assert weight is not None
    assert weight.dtype == np.float64
    np.testing.assert_array_equal(weight, [0, 1, 2])


def test_clock_readings() -> None:
    np.testing.assert_array_equal(Batch.of(X, Y, t=[3, -1, 2]).t, [3, -1, 2])
    days = np.array(["1970-01-02", "1970-01-01", "1969-12-31"], dtype="M8[D]")
    np.testing.assert_array_equal(Batch.of(X, Y, t=days).t, [86400, 0, -86400])
    with pytest.raises(ValueError, match="t must be finite, got nan at row 1"):
        Batch.of(X, Y, t=[1, np.nan, 2])
    with pytest.raises(ValueError, match="t must be finite, got NaT at row 0"):
        Batch.of(X, Y, t=np.array(["NaT", "2020", "2021"], dtype="M8[ns]"))
    with pytest.raises(TypeError, match="t must hold numbers"):
        Batch.of(X, Y, t=["a", "b", "c"])


PARIS = ["1970-01-02 01:00", "1970-01-01 01:00", "1970-07-02 02:00:00.5"]  # and an hour of summer
UTC_SECONDS = [86400, 0, 182 * 86400 + 3600.5]
AWARE = pd.Series(pd.to_datetime(PARIS, format="ISO8601")).dt.tz_localize("Europe/Paris")
NAIVE = AWARE.dt.tz_convert(None)


@pytest.mark.parametrize(
    "t",
    [
        AWARE,
        pd.DatetimeIndex(AWARE),
        AWARE.tolist(),
        AWARE.astype(object),
        AWARE.astype("timestamp[us, tz=Europe/Paris][pyarrow]"),
        pl.from_pandas(AWARE),
        pa.array(AWARE),
        [moment.to_pydatetime() for moment in AWARE],
        NAIVE,
        NAIVE.tolist(),
        [moment.to_pydatetime() for moment in NAIVE],
        np.array([*NAIVE.to_numpy()], dtype=object),
    ],
)
def test_datetimes_become_seconds_since_1970_in_utc(t: Any) -> None:
    np.testing.assert_array_equal(Batch.of(X, Y, t=t).t, UTC_SECONDS)


@pytest.mark.parametrize(
    ("t", "error", "message"),
    [
        (AWARE.where([True, False, True]), ValueError, "t must be finite, got NaT at row 1"),
        ([*AWARE[:2], pd.NaT], ValueError, "t must be finite, got NaT at row 2"),
        ([None, *NAIVE[:2]], ValueError, "t must be finite, got None at row 0"),
        ([1.0, *NAIVE[:2]], TypeError, "t must hold numbers or datetimes, all of one kind"),
    ],
)
def test_bad_datetimes(t: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Batch.of(X, Y, t=t)


@pytest.mark.parametrize("what", ["y", "sample_weight", "t"])
def test_masked_columns_are_refused(what: str) -> None:
    columns = {"y": Y, what: np.ma.array([1, 1, 0], mask=[False, True, False])}
    with pytest.raises(TypeError, match=f"{what} is a masked array: leave out the rows"):
        Batch.of(X, **columns)


@pytest.mark.parametrize(
    ("labels", "kind", "expected"),
    [
        ([3, 1, 2], "i", [3, 1, 2]),
        (np.array([3, 1, 2], dtype=np.uint8), "u", [3, 1, 2]),
        ([True, False, True], "b", [True, False, True]),
        (["a", "bb", "a"], "U", ["a", "bb", "a"]),
        (np.array(["a", "bb", "a"], dtype=object), "U", ["a", "bb", "a"]),
        (np.array(["a", "bb", "a"], dtype=np.dtypes.StringDType()), "U", ["a", "bb", "a"]),
        ([1.0, -1.0, 2.0], "i", [1, -1, 2]),
        ([2**63 + 5, 0, 1], "u", [2**63 + 5, 0, 1]),
        ([2**53 + 1, 0.0, 1], "i", [2**53 + 1, 0, 1]),
        (np.array([1.0, 2, 3], dtype=object), "i", [1, 2, 3]),
        (np.array([1.0, 2, 3], dtype=np.float16), "i", [1, 2, 3]),
        (pd.Series(["a", "b", "a"]), "U", ["a", "b", "a"]),
        (pd.Series(["a", "b", "a"], dtype="category"), "U", ["a", "b", "a"]),
        (pl.Series(["a", "b", "a"]), "U", ["a", "b", "a"]),
        (pa.chunked_array([["a"], ["b", "a"]]), "U", ["a", "b", "a"]),
    ],
)
def test_labels(labels: Any, kind: str, expected: list[Any]) -> None:
    y = Batch.of(X, labels).y
    assert y.dtype.kind == kind
    assert y.tolist() == expected


@pytest.mark.parametrize(
    ("labels", "error", "message"),
    [
        ([0.5, 1, 2], ValueError, r"Unknown label type: continuous.*0\.5 at row 0"),
        ([0, 1e300, 2], ValueError, "Unknown label type"),
        ([0, np.nan, 1], ValueError, "Input y contains NaN at row 1"),
        ([0, 1, -np.inf], ValueError, "Input y contains infinity at row 2"),
        (["a", None, "b"], ValueError, "missing label: None at row 1"),
        ([0, 1, None], ValueError, "missing label: None at row 2"),
        (["a", np.nan, "b"], ValueError, "missing label: nan at row 1"),
        (pd.Series(["a", pd.NA, "b"], dtype=object), ValueError, "missing label: <NA> at row 1"),
        (["a", "b", 1], TypeError, "got 1 of type int at row 2"),
        ([1, "b", 1], TypeError, "got 'b' of type str at row 1"),
        ([b"a", b"b", b"c"], TypeError, "got b'a' of type bytes at row 0"),
        (np.array([b"a", b"b", b"c"]), TypeError, "Labels must be integers, booleans or strings"),
        (np.array([1j, 2, 3]), ValueError, "Complex data not supported"),
        (np.array([1, 2, 3], dtype="M8[s]"), TypeError, "Labels must be integers"),
        ([2**70, 1, 2], ValueError, "No type of integers holds all labels from 1 to 1180591620"),
        ([2**63 + 5, -1, 0], ValueError, "No type of integers holds all labels from -1 to 92233"),
        ([[0], [1], [1]], ValueError, r"y should be a 1d array, got an array of shape \(3, 1\)"),
        (1, ValueError, "y should be a 1d array"),
    ],
)
def test_bad_labels(labels: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Batch.of(X, labels)


def test_a_batch_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Batch.of(X, Y).y = Y  # type: ignore[misc]


def test_the_error_of_a_row_travels_between_processes() -> None:
    with pytest.raises(RowError) as caught:
        Batch.of(X, [0, None, 1])
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (str(copy), copy.row) == ("Input y contains a missing label: None at row 1.", 1)
    assert copy.cause == "Input y contains a missing label: None."
