"""Arrays and sparse matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from source_helpers import X, Y, assert_same_batches, dense

from driftsieve.sources import SourceError, as_batches


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


@pytest.mark.parametrize("make", [np.asarray, pd.DataFrame])
def test_masks_are_not_forgotten(make: Any) -> None:
    masked = np.ma.array(Y, mask=Y == 1)
    for role in ("target", "weight", "time"):
        with pytest.raises(TypeError, match=f"{role} is a masked array: leave out the rows"):
            as_batches(make(X), **{"target": Y, role: masked})


def test_a_masked_matrix_is_refused() -> None:
    masked = np.ma.array(X, mask=X > 1)
    with pytest.raises(TypeError, match=r"X is a masked array: pass X\.filled\(np\.nan\)"):
        as_batches((masked, Y))
    with pytest.raises(SourceError, match="row 0: X is a masked array"):
        next(as_batches(zip(masked, Y, strict=True)))


def test_a_missing_label_is_a_bad_row_wherever_it_is() -> None:
    for row in (0, 1):
        labels = np.array(["a", "b"] * 5, dtype=object)
        labels[row] = np.nan
        batches = as_batches((X, labels), on_error="skip")
        assert [batch.n_rows for batch in batches] == [9]


@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_labels_of_several_kinds_are_refused_beside_a_missing_one_too(on_error: Any) -> None:
    labels = np.array(["a", None, 1], dtype=object)
    with pytest.raises(SourceError):
        list(as_batches((X[:3], labels), on_error=on_error))
