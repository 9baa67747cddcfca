"""svmlight files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file
from source_helpers import dense, error_of, write

from driftsieve.sources import SourceError, as_batches


@pytest.fixture
def sparse_data() -> tuple[Any, Any]:
    rng = np.random.default_rng(3)
    X = sparse.random_array((40, 60), density=0.1, format="csr", rng=rng)
    return X, rng.choice([-1, 1], 40)


@pytest.mark.parametrize("zero_based", [True, False])
def test_svmlight_as_scikit_learn_reads_it(
    zero_based: bool, tmp_path: Path, sparse_data: tuple[Any, Any]
) -> None:
    X, y = sparse_data
    X = X.tolil()
    X[0, 0] = 1  # so that the first rows tell where indices start
    X = X.tocsr()
    path = tmp_path / "a.svm"
    dump_svmlight_file(X, y, str(path), zero_based=zero_based, comment="made\nby a test")
    expected, labels = load_svmlight_file(str(path), zero_based=zero_based)
    batches = list(as_batches(path, batch_size=7))
    assert [batch.n_rows for batch in batches] == [7] * 5 + [5]
    widths = [batch.n_features for batch in batches]
    assert widths == sorted(widths)
    got = np.zeros(expected.shape)
    for k, batch in enumerate(batches):
        got[7 * k : 7 * k + 7, : batch.n_features] = dense(batch)
    np.testing.assert_array_equal(got, expected.toarray())
    assert np.concatenate([batch.y for batch in batches]).tolist() == labels.astype(int).tolist()


def test_svmlight_details(tmp_path: Path) -> None:
    lines = "# made by hand\n\n+1 qid:3 2:0.5 1:-1e3 # note\n-1\n  0 3:1 3:1  \n#\n"
    (batch,) = as_batches(write(tmp_path / "a.svm", lines))
    assert batch.y.tolist() == [1, -1, 0]
    assert dense(batch).tolist() == [[-1000, 0.5, 0], [0, 0, 0], [0, 0, 2]]
    assert batch.feature_names is None


@pytest.mark.parametrize(
    "line",
    ["1 2", "1 x:1", "1 2:x", "1 2:", "1 :2", "1 -1:2", "x 1:2", "1,2 1:2", "1 0:1", "1 2.5:1"],
)
@pytest.mark.parametrize("batch_size", [1, 2, 10])
def test_bad_svmlight_rows(line: str, batch_size: int, tmp_path: Path) -> None:
    path = write(tmp_path / "a.svm", f"# header\n1 1:1\n{line}\n-1 2:5\n")
    assert error_of(path, batch_size=batch_size, zero_based=False).startswith(", line 3: ")
    batches = as_batches(path, batch_size=batch_size, zero_based=False, on_error="skip")
    assert [label for batch in batches for label in batch.y] == [1, -1]
    assert (batches.rows_read, batches.rows_skipped) == (3, 1)


def test_svmlight_binary_garbage_is_named(tmp_path: Path) -> None:
    assert error_of(write(tmp_path / "a.svm", b"1 1:1\n\xff\xfe\x00 1:2\n")).startswith(
        ", line 2: "
    )


@pytest.mark.parametrize("role", ["target", "time", "weight"])
def test_svmlight_has_no_columns(role: str, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=f"{role}= does not go with svmlight"):
        as_batches(write(tmp_path / "a.svm", "1 1:1\n"), **{role: "y"})
