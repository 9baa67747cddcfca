"""Merging banks that do not have the same columns: what one never had is missing, or was 0."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import driftsieve as ds
from driftsieve.batch import Batch

N = 4000  # some blocks and some open rows in each half
RNG = np.random.default_rng(5)
ROWS = pd.DataFrame(
    RNG.integers(-3, 4, size=(N, 4)).astype(float), columns=["both", "first", "second", "late"]
)
Y = RNG.integers(0, 3, N)
ROWS["both"] += Y
HALVES = np.arange(N) < 2300, np.arange(N) >= 2300
COLUMNS = ["both", "first"], ["second", "both", "late"]
SETTINGS: list[dict[str, Any]] = [
    {},
    {"quantiles": False},
    {"moments": False},
    {"half_life": 700.0, "clock": "time"},
]


def batch(rows: Any, columns: list[str], form: str, bank: ds.Bank) -> Batch:
    X = ROWS.loc[rows, columns].to_numpy()
    weight = 1.0 + (np.arange(N)[rows] % 3)
    t = np.arange(N)[rows] if bank.clock == "time" else None
    return Batch.of(
        sparse.csr_array(X) if form == "sparse" else X,
        Y[rows],
        sample_weight=weight,
        time=t,
        missing="ignore",
        feature_names=columns,
    )


def merged(forms: tuple[str, str], **settings: Any) -> ds.Bank:
    banks = [ds.Bank(missing="ignore", **settings) for _ in forms]
    for bank, rows, columns, form in zip(banks, HALVES, COLUMNS, forms, strict=True):
        bank.update(batch(rows, columns, form, bank))
    return banks[0].merge(banks[1])


def whole(fills: tuple[float, float], **settings: Any) -> ds.Bank:
    """One bank of all rows, the columns that a half does not have filled."""
    bank = ds.Bank(missing="ignore", **settings)
    names = ["both", "first", "second", "late"]
    filled = ROWS.copy()
    for rows, columns, fill in zip(HALVES, COLUMNS, fills, strict=True):
        filled.loc[rows, [name for name in names if name not in columns]] = fill
    t = np.arange(N) if bank.clock == "time" else None
    return bank.update(filled, Y, 1.0 + (np.arange(N) % 3), t)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize(
    ("forms", "fills"),
    [
        (("dense", "dense"), (np.nan, np.nan)),
        (("dense", "sparse"), (np.nan, 0.0)),
        (("sparse", "dense"), (0.0, np.nan)),
        (("sparse", "sparse"), (0.0, 0.0)),
    ],
)
def test_a_column_is_missing_in_a_dense_bank_without_it_and_0_in_a_sparse_one(
    forms, fills, settings
):
    bank, expected = merged(forms, **settings), whole(fills, **settings)
    assert bank.feature_names == ("both", "first", "second", "late")
    found, snap = bank.snapshot(), expected.snapshot()
    for name in ("class_weight", "weight", "mean", "var", "bin_weights", "edges"):
        value = getattr(snap, name)
        if value is not None:
            assert_allclose(getattr(found, name), value, rtol=1e-9, atol=1e-9, err_msg=name)
    again = ds.Bank.from_bytes(bank.to_bytes())
    assert_array_equal(again.snapshot().weight, found.weight)
    names = ["both", "first", "second", "late"]
    t = [N, N + 1] if bank.clock == "time" else None
    for each in (bank, expected):  # goes on with all columns
        each.update(pd.DataFrame(np.ones((2, 4)), columns=names), [0, 1], time=t)
    assert_allclose(bank.snapshot().weight, expected.snapshot().weight, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("score", ["t", "fisher", "mutual_info", "chi2"])
def test_noise_that_only_one_bank_has_is_still_noise(score):
    """Each bank has mostly one class, so that zeros for its missing columns would separate them."""
    rng = np.random.default_rng(0)
    banks = []
    for name, share in (("a", 0.1), ("b", 0.9)):
        X = pd.DataFrame(rng.normal(5.0, 1.0, size=(2000, 1)), columns=[name])
        banks.append(ds.Bank(missing="ignore").update(X, rng.random(2000) < share))
    pvalues = ds.scores.SCORES[score].pvalues(banks[0].merge(banks[1]).snapshot())
    assert (pvalues > 0.001).all()


@pytest.mark.parametrize("forms", [("dense", "dense"), ("dense", "sparse"), ("sparse", "dense")])
def test_a_dense_bank_without_a_column_does_not_merge_if_missing_values_are_errors(forms):
    banks = [ds.Bank() for _ in forms]
    for bank, rows, columns, form in zip(banks, HALVES, COLUMNS, forms, strict=True):
        bank.update(batch(rows, columns, form, bank))
    before = [bank.to_bytes() for bank in banks]
    message = "'second', 'late' in this bank" if forms[0] == "dense" else "'first' in the other"
    with pytest.raises(
        ValueError, match=f"must have the same columns .*got rows without {message}"
    ):
        banks[0].merge(banks[1])
    assert [bank.to_bytes() for bank in banks] == before


def test_a_sparse_bank_without_a_column_merges_with_a_dense_one():
    dense = ds.Bank().update(ROWS[["both", "first"]], Y)
    narrow = ds.Bank()
    narrow.update(batch(HALVES[0], ["first"], "sparse", narrow))
    for one, other in ((dense, narrow), (narrow, dense)):
        snap = ds.Bank.from_bytes(one.to_bytes()).merge(other).snapshot()
        assert_allclose(snap.weight, snap.class_weight[:, None] * np.ones(2))


def test_a_screener_merges_as_its_bank_does():
    def screener(columns, **settings):
        rows = HALVES[columns == COLUMNS[1]]
        return ds.FeatureScreener("t", k=1, **settings).fit(ROWS.loc[rows, columns], Y[rows])

    with pytest.raises(ValueError, match="must have the same columns"):
        screener(COLUMNS[0]).merge(screener(COLUMNS[1]))
    found = screener(COLUMNS[0], missing="ignore").merge(screener(COLUMNS[1], missing="ignore"))
    weight = found.bank_.snapshot().weight.sum(axis=0)
    assert weight.tolist() == [N, HALVES[0].sum(), HALVES[1].sum(), HALVES[1].sum()]
    assert found.get_feature_names_out().tolist() == ["both"]


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_a_bank_without_rows_merges_with_any(form):
    empty = pd.DataFrame({"other": np.empty(0), "both": np.empty(0)})
    for none in (ds.Bank(), ds.Bank().update(empty, [])):
        full = ds.Bank()
        full.update(batch(HALVES[0], COLUMNS[0], form, full))
        before = full.to_bytes()
        assert full.merge(none).to_bytes() == before
        none.merge(full)
        assert none.feature_names == tuple(COLUMNS[0])
        assert_array_equal(none.snapshot().weight, full.snapshot().weight)
        none.update(batch(HALVES[1], COLUMNS[0], form, none))
        assert none.n_rows == N


def test_two_banks_without_rows_keep_the_columns_of_the_first():
    banks = [ds.Bank().update(pd.DataFrame({name: np.empty(0)}), []) for name in "ab"]
    assert banks[0].merge(banks[1]).feature_names == ("a",)
    assert ds.Bank().merge(banks[1]).feature_names == ("b",)
