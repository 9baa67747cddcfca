"""svmlight files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file
from source_helpers import dense, error_of, write

from driftsieve.sources import SourceError, as_batches, text


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
    path = tmp_path / "a.svm"
    dump_svmlight_file(X, y, str(path), zero_based=zero_based, comment="made\nby a test")
    expected, labels = load_svmlight_file(str(path), zero_based=zero_based)
    batches = list(as_batches(path, batch_size=7, zero_based=zero_based))
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


@pytest.mark.parametrize("late", [0, 10])
def test_where_indices_start_is_never_guessed(late: int, tmp_path: Path) -> None:
    path = write(tmp_path / "a.svm", "1 1:1\n" * late + "0 0:1 2:3\n")
    (batch,) = as_batches(path, zero_based=True)
    assert dense(batch)[-1].tolist() == [1, 0, 3]
    assert error_of(path) == (
        f", line {late + 1}: index 0 in '0:1', but indices start at 1; pass zero_based=True if "
        "they start at 0 in this data"
    )
    with pytest.raises(TypeError, match="zero_based must be True or False, got 'auto'"):
        as_batches(path, zero_based="auto")  # type: ignore[arg-type]


@pytest.mark.parametrize("batch_size", [1, 1000, 4096])
def test_batches_do_not_depend_on_pieces(
    batch_size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [f"{i % 3} {i + 1}:{i / 7!r} # {'x' * (i % 50)}" for i in range(3000)]
    lines[1234] = "bad"
    path = write(tmp_path / "a.svm", "\n".join(lines))
    whole = as_batches(path, batch_size=batch_size, on_error="skip")
    expected = [(batch.X.toarray().tobytes(), batch.y.tolist(), whole.position) for batch in whole]
    monkeypatch.setattr(text, "BLOCK", 777)
    parts = as_batches(path, batch_size=batch_size, on_error="skip")
    assert expected == [(b.X.toarray().tobytes(), b.y.tolist(), parts.position) for b in parts]
    assert parts.skip_reasons == [f"{path}, line 1235: the label 'bad' is not a finite number"]


def test_missing_and_infinite_values(tmp_path: Path) -> None:
    assert error_of(write(tmp_path / "nan.svm", "0 1:2\n1 1:1 2:nan\n")).startswith(", line 2: ")
    path = write(tmp_path / "a.svm", "1 1:1 2:nan\n0 1:2\n1 1:inf\n")
    assert error_of(path, missing="ignore") == (
        ", line 3: the value in '1:inf' is infinite or too large for float64"
    )
    batches = as_batches(path, missing="ignore", on_error="skip")
    (batch,) = batches
    np.testing.assert_array_equal(dense(batch), [[1, np.nan], [2, 0]])
    assert batches.rows_skipped == 1


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


def test_labels_that_double_cannot_tell_apart_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.svm", f"{2**53 - 1} 1:1\nx\n{2**53 + 1} 1:2\n{-(2**53)}\n1 1:3\n")
    batches = as_batches(path, on_error="skip")
    (batch,) = batches
    assert batch.y.tolist() == [2**53 - 1, 1]
    assert dense(batch).tolist() == [[1], [3]]
    assert batches.skip_reasons[1:] == [
        f"{path}, line {line}: labels of svmlight files must be below 2**53 to be exact, got "
        f"about {sign}9007199254740992"
        for line, sign in ((3, ""), (4, "-"))
    ]


@pytest.mark.parametrize("role", ["target", "time", "weight", "drop", "categorical"])
def test_svmlight_has_no_columns(role: str, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=f"{role}= does not go with svmlight"):
        as_batches(write(tmp_path / "a.svm", "1 1:1\n"), **{role: "y"})
