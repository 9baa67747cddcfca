"""Banks that earlier versions stored are read and scored for ever."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import driftsieve as ds
from exact_ranks import rank_errors
from golden import make


def golden(name: str) -> ds.Bank:
    return ds.Bank.from_bytes(make.FOLDER.joinpath(name).read_bytes())


@pytest.mark.parametrize("name", make.BANKS)
def test_a_stored_bank_is_read_and_stored_again_bit_for_bit(name: str) -> None:
    data = make.FOLDER.joinpath(name).read_bytes()
    assert ds.Bank.from_bytes(data).to_bytes() == data


def test_the_dense_bank() -> None:
    bank = golden("bank_v2_dense.dsv")
    X, y, weight, _ = make.rows(3400)
    X[::13, 1] = np.nan
    weight[:3300] = 1.0
    y = np.searchsorted(["eggs", "ham", "spam"], y)
    exact = ds.offline.snapshot(X, y, sample_weight=weight, missing="ignore")
    found = bank.freeze()
    assert (bank.epsilon, bank.missing, bank.clock, bank.n_rows) == (0.05, "ignore", "sample", 3400)
    assert_array_equal(found.weight, exact.weight)
    assert_allclose(ds.scores.fisher_score(found), ds.scores.fisher_score(exact), rtol=1e-9)
    assert_array_equal(found.bin_weights[[1, 3]], exact.bin_weights[[1, 3]])
    for errors in rank_errors(bank, X, y, weight):
        errors.check(0.05)


def test_the_faded_sparse_bank() -> None:
    bank = golden("bank_v2_sparse.dsv")
    X, y, weight, t = make.rows()
    weight *= ds.offline.clock_weights(t, clock="time", half_life=400.0)
    exact = ds.offline.snapshot(sparse.csr_array(X), y, sample_weight=weight)
    found = bank.freeze()
    assert bank.feature_names == ("size", "few", "rare", "flag")
    assert bank.classes.tolist() == ["eggs", "ham", "spam"]
    assert (bank.half_life, bank.now) == (400.0, t.max())
    assert_allclose(found.class_weight, exact.class_weight, rtol=1e-9)
    for score in (ds.scores.t_score, ds.scores.fisher_score):
        assert_allclose(score(found), score(exact), rtol=1e-9)
    assert_allclose(found.bin_weights[[1, 3]], exact.bin_weights[[1, 3]], rtol=1e-9, atol=1e-9)
    for errors in rank_errors(bank, X, y, weight):
        errors.check(0.05)


def test_the_bank_of_many_classes() -> None:
    bank = golden("bank_v2_classes.dsv")
    X, y = make.class_rows()
    exact = ds.offline.snapshot(X, y)
    found = bank.freeze()
    assert_array_equal(found.class_weight, exact.class_weight)
    assert_array_equal(found.bin_weights.sum(axis=1), exact.bin_weights.sum(axis=1))
    assert_allclose(ds.scores.fisher_score(found), ds.scores.fisher_score(exact), rtol=1e-9)
    for errors in rank_errors(bank, X, y, np.ones(len(y))):
        errors.check(0.05)


def test_version_1_which_was_never_released_is_refused_by_name() -> None:
    data = bytearray(make.FOLDER.joinpath("bank_v2_dense.dsv").read_bytes())
    data[8:12] = struct.pack("<I", 1)
    with pytest.raises(ValueError, match=r"state of version 1, .*: make the state anew"):
        ds.Bank.from_bytes(bytes(data))
