"""Arrays and sparse matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from source_helpers import X, Y, assert_same_batches, dense

from driftsieve.exceptions import SourceError
from driftsieve.sources import as_batches


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
    by_position = list(
        as_batches(make(matrix), target=0, sample_weight=-1, time=X[:, 0], batch_size=3)
    )
    by_array = list(
        as_batches((make(X), Y), sample_weight=(Y + 1.0).tolist(), time=X[:, 0], batch_size=3)
    )
    assert_same_batches(by_position, by_array)
    assert np.vstack([dense(batch) for batch in by_position]).tolist() == X.tolist()


def test_array_with_wrong_labels_is_an_error() -> None:
    with pytest.raises(ValueError, match="target must be the labels or their column"):
        as_batches(X)
    with pytest.raises(ValueError, match=r"source has 10 rows, target has shape \(9,\)"):
        as_batches((X, Y[:9]))
    with pytest.raises(
        ValueError, match="target must be a position or an array for rows in an array"
    ):
        as_batches(X, target="y")
    for role in ("target", "time", "sample_weight"):
        with pytest.raises(ValueError, match=f"{role} must be one of 3 columns, got 3"):
            as_batches(X, **{"target": 0, role: 3})
    with pytest.raises(ValueError, match="Labels must be given once"):
        as_batches((X, Y), target=0)
    with pytest.raises(ValueError, match="Expected 2D array"):
        as_batches((X[0], Y))


def test_rows_of_an_array_are_named_in_the_whole_of_it() -> None:
    bad = X.copy()
    bad[7, 1] = np.inf
    batches = as_batches((bad, Y), batch_size=4)
    next(batches)
    with pytest.raises(
        SourceError, match=r"^row 7: Input X contains infinity: inf, column 1\.\nPass"
    ):
        next(batches)


@pytest.mark.parametrize("make", [np.asarray, pd.DataFrame])
def test_masked_arrays_are_an_error(make: Any) -> None:
    masked = np.ma.array(Y, mask=Y == 1)
    for role in ("target", "sample_weight", "time"):
        with pytest.raises(
            TypeError, match=f"{role} must not be a masked array. Leave out the masked rows"
        ):
            as_batches(make(X), **{"target": Y, role: masked})


def test_a_masked_matrix_is_refused() -> None:
    masked = np.ma.array(X, mask=X > 1)
    with pytest.raises(TypeError, match=r"X must not be a masked array. Pass X.filled\(np\.nan\)"):
        as_batches((masked, Y))
    with pytest.raises(SourceError, match="row 0: X must not be a masked array"):
        next(as_batches(zip(masked, Y, strict=True)))


def test_a_missing_label_is_a_bad_row_at_any_position() -> None:
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
