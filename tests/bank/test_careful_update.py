"""Rows that a bank validates while it takes them in: all of them count, or none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

import driftsieve as ds

N, P = 4000, 37
RNG = np.random.default_rng(5)
X = RNG.normal(size=(N, P))
Y = RNG.integers(0, 2, N)

BANKS = {
    "moments": {"quantiles": False},
    "quantiles": {"moments": False},
    "both": {},
    "fading": {"half_life": 300.0},
    "fading moments": {"half_life": 3.0, "quantiles": False},  # most rows weigh next to nothing
    "two threads": {"n_threads": 2},
    "missing": {"missing": "ignore"},
}


@pytest.fixture(params=BANKS)
def bank(request: pytest.FixtureRequest) -> ds.Bank:
    return ds.Bank(**BANKS[request.param])


@pytest.mark.parametrize("rows_before", [0, 10])
@pytest.mark.parametrize("row", [0, 255, 1700, 3199, 3200, N - 1])
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_one_bad_value_anywhere_changes_nothing(
    bank: ds.Bank, value: float, row: int, rows_before: int
) -> None:
    if rows_before:
        bank.update(X[:rows_before], Y[:rows_before])
    before = bank.to_bytes()
    bad = X.copy()
    bad[row, 20] = value
    if np.isnan(value) and bank.missing == "ignore":
        assert bank.update(bad, Y).n_rows == N + rows_before
        return
    with pytest.raises(ValueError, match=f"at row {row}, column 20"):
        bank.update(bad, Y)
    assert bank.to_bytes() == before
    assert bank.update(X, Y).n_rows == N + rows_before


FLAGS = sparse.random_array((N, 900), density=0.05, random_state=1, format="csr", dtype=np.float64)
FLAGS.data[::9] = np.linspace(2, 3, len(FLAGS.data[::9]))
FLAGS.data[1::3] = 1.0


@pytest.mark.parametrize("rows_before", [0, 10])
@pytest.mark.parametrize("place", [0, 5000, FLAGS.nnz - 1])
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_one_bad_value_of_sparse_rows_changes_nothing(
    bank: ds.Bank, value: float, place: int, rows_before: int
) -> None:
    if rows_before:
        bank.update(FLAGS[:rows_before], Y[:rows_before])
    before = bank.to_bytes()
    bad = FLAGS.copy()
    bad.data[place] = value
    if np.isnan(value) and bank.missing == "ignore":
        assert bank.update(bad, Y).n_rows == N + rows_before
        return
    row, column = np.searchsorted(bad.indptr, place, side="right") - 1, bad.indices[place]
    with pytest.raises(ValueError, match=f"at row {row}, column {column}"):
        bank.update(bad, Y)
    assert bank.to_bytes() == before
    assert bank.update(FLAGS, Y).n_rows == N + rows_before


def shuffled(X: sparse.csr_array) -> sparse.csr_array:
    """Columns of row 300 fall, and one of its entries is there in two parts."""
    begin, end = X.indptr[300:302]
    data, indices, indptr = X.data.copy(), X.indices.copy(), X.indptr.copy()
    indices[begin:end], data[begin:end] = indices[begin:end][::-1], data[begin:end][::-1]
    data[begin] /= 2
    indptr[301:] += 1
    data, indices = (np.insert(part, begin, part[begin]) for part in (data, indices))
    return sparse.csr_array((data, indices, indptr), shape=X.shape)


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_unsorted_indices_give_the_same_state(bank: ds.Bank, index: type) -> None:
    X = shuffled(FLAGS)
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    kept = X.indices.copy()
    whole = ds.Bank.from_bytes(bank.to_bytes()).update(FLAGS, Y)
    assert bank.update(X, Y).to_bytes() == whole.to_bytes()
    np.testing.assert_array_equal(X.indices, kept)


@pytest.mark.parametrize(
    ("part", "place", "value"),
    [
        ("indices", 0, -1),
        ("indices", FLAGS.nnz // 2, 900),
        ("indices", FLAGS.nnz - 1, 2**31 - 1),
        ("indptr", 0, 1),
        ("indptr", 0, -5),
        ("indptr", 2000, FLAGS.nnz + 1),
        ("indptr", 2000, -1),
        ("indptr", N, 2**31 - 1),
        ("indptr", N, 0),
    ],
)
@pytest.mark.parametrize("rows_before", [0, 10])
def test_invalid_sparse_rows_change_nothing(
    bank: ds.Bank, part: str, place: int, value: int, rows_before: int
) -> None:
    if rows_before:
        bank.update(FLAGS[:rows_before], Y[:rows_before])
    before = bank.to_bytes()
    bad = FLAGS.copy()
    getattr(bad, part)[place] = value
    with pytest.raises(ValueError, match="ind"):
        bank.update(bad, Y)
    assert bank.to_bytes() == before


def test_a_row_of_weight_0_must_be_finite(bank: ds.Bank) -> None:
    bad, weight = X.copy(), np.ones(N)
    weight[Y == 1] = 0.0
    row = int(np.argmax(Y))
    bad[row, 3] = np.inf
    with pytest.raises(ValueError, match=f"infinity: inf at row {row}, column 3"):
        bank.update(bad, Y, sample_weight=weight)
    assert bank.n_rows == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_whose_squares_overflow_are_accepted(bank: ds.Bank, dtype: type) -> None:
    large = X.astype(dtype)
    large[1::7, 5] = np.finfo(dtype).max
    large[2::7, 5] = -np.finfo(dtype).max
    in_batches = ds.Bank(
        bank.epsilon, moments=bank.moments, quantiles=bank.quantiles, half_life=bank.half_life
    )
    for i in range(0, N, 100):
        in_batches.update(large[i : i + 100], Y[i : i + 100])
    assert bank.update(large, Y).n_rows == N
    ours, theirs = bank.snapshot(), in_batches.snapshot()
    for name in ("mean", "var", "bin_weights", "edges"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))


def test_ignored_columns_are_validated_too() -> None:
    bad = X.copy()
    bad[7, P - 1] = np.nan
    bank = ds.Bank(max_features=P - 1, on_limit="ignore_new")
    with pytest.raises(ValueError, match=f"NaN at row 7, column {P - 1}"):
        bank.update(bad, Y)
    assert bank.n_rows == 0


@pytest.mark.parametrize(
    ("rows", "labels", "message"),
    [
        (X[:1], None, "y must be given with X"),
        (None, Y[:1], "X must hold numbers"),
        (X[:1], Y[:2], "X has 1 rows, y has 2"),
        (X[:1, :-1], Y[:1], f"X has {P - 1} features"),
        (X[:1] * np.inf, Y[:1], "infinity: -?inf at row 0, column 0"),
        (X[:1] * np.inf, np.array([7]), "infinity: -?inf at row 0, column 0"),
        (np.r_[X[:8], X[:1] * np.inf], Y[:9], "infinity: -?inf at row 8, column 0"),
        (X[:1].astype(np.float32) * np.float32(np.inf), Y[:1], "infinity"),
    ],
)
def test_bad_rows_among_many_single_rows_have_no_effect(
    bank: ds.Bank, rows: object, labels: object, message: str
) -> None:
    for i in range(5):
        bank.update(X[i : i + 1], Y[i : i + 1])
    before = bank.to_bytes()
    with pytest.raises((ValueError, TypeError), match=message):
        bank.update(rows, labels)
    assert bank.to_bytes() == before


LABELS = {
    "integers": Y,
    "large integers": np.array([0, 2**64 - 1], dtype=np.uint64)[Y],
    "booleans": Y == 1,
    "strings": np.array(["ham", "späm"])[Y],
}


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("form", [np.asarray, np.ndarray.tolist])
def test_labels_of_any_kind_one_by_one(bank: ds.Bank, kind: str, form: Any) -> None:
    y = LABELS[kind][:40]
    whole = ds.Bank.from_bytes(bank.to_bytes()).update(X[:40], y)
    for i in range(40):
        bank.update(X[i : i + 1], form(y[i : i + 1]))
    assert bank.to_bytes() == whole.to_bytes()


@pytest.mark.parametrize(
    ("known", "label", "message"),
    [
        ([0, 1], True, "integers, as in earlier rows, got booleans"),
        ([0, 1], "1", "integers, as in earlier rows, got strings"),
        ([False, True], 1, "booleans, as in earlier rows, got integers"),
        (["0", "1"], 1, "strings, as in earlier rows, got integers"),
        ([0, 1], None, "missing label"),
    ],
)
def test_labels_of_another_kind_one_by_one(
    bank: ds.Bank, known: list[Any], label: Any, message: str
) -> None:
    bank.update(X[:2], known)
    bank.update(X[2:3], known[:1])
    before = bank.to_bytes()
    with pytest.raises((ValueError, TypeError), match=message):
        bank.update(X[3:4], [label])
    assert bank.to_bytes() == before


def test_a_new_class_among_single_rows_is_learned(bank: ds.Bank) -> None:
    for i, label in enumerate(["a", "b", "a", "c", "b", "c"]):
        bank.update(X[i : i + 1], [label])
    assert bank.classes.tolist() == ["a", "b", "c"]
    assert bank.snapshot().class_n_eff.shape == (3,)
    assert bank.n_rows == 6


@pytest.mark.parametrize("plain_rows_before", [0, 1])
def test_masked_values_are_never_used_as_values(plain_rows_before: int) -> None:
    bank = ds.Bank(missing="ignore")
    for _ in range(plain_rows_before):  # from then on plain rows have a fast lane
        bank.update(X, Y)
    before = bank.to_bytes()
    with pytest.raises(TypeError, match="masked"):
        bank.update(np.ma.masked_greater(X, 1.0), Y)
    assert bank.to_bytes() == before
