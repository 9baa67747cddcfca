"""svmlight files."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file
from source_helpers import dense, error_of, write

import driftsieve as ds
from driftsieve.exceptions import SourceError
from driftsieve.sources import as_batches
from driftsieve.sources.files import text


@pytest.fixture
def sparse_data() -> tuple[Any, Any]:
    rng = np.random.default_rng(3)
    X = sparse.csr_array(np.where(rng.random((40, 60)) < 0.1, rng.random((40, 60)), 0.0))
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


def test_comments_signs_and_repeated_indices_are_read(tmp_path: Path) -> None:
    lines = "# made by hand\n\n+1 qid:3 2:0.5 1:-1e3 # note\n-1\n  0 3:1 3:1  \n#\n"
    (batch,) = as_batches(write(tmp_path / "a.svm", lines))
    assert batch.y.tolist() == [1, -1, 0]
    assert dense(batch).tolist() == [[-1000, 0.5, 0], [0, 0, 0], [0, 0, 2]]
    assert batch.feature_names == ("x1", "x2", "x3")


def test_features_are_called_by_the_indices_of_the_file(tmp_path: Path) -> None:
    path = write(tmp_path / "a.svm", "1 1:1 5:2\n0 2:3\n1 1:2 7:1\n0 5:1\n")
    bank = ds.Bank()
    for batch in as_batches(path, batch_size=2):
        bank.update(batch)
    names = [f"x{i}" for i in range(1, 8)]
    assert list(bank.feature_names or ()) == names
    assert ds.Bank.from_bytes(bank.to_bytes()).feature_names == bank.feature_names
    assert bank.snapshot(features=slice(4, 6)).feature_names == ("x5", "x6")
    merged = ds.Bank().update(next(as_batches(path, batch_size=2))).merge(bank)
    assert merged.feature_names == tuple(names)
    screener = ds.FeatureScreener("fisher", k=7)
    for batch in as_batches(path, batch_size=4):
        screener.partial_fit(batch)
    assert screener.get_feature_names_out().tolist() == names
    (zero_based,) = as_batches(path, zero_based=True)
    assert zero_based.feature_names is None  # column 5 is x5


def test_a_million_indices_need_no_million_names(tmp_path: Path) -> None:
    path = write(tmp_path / "a.svm", "1 1:1 2000000:2\n0 2:3\n")
    bank = ds.Bank(moments=False)
    tracemalloc.start()
    for batch in as_batches(path):
        bank.update(batch)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert bank.n_features == 2_000_000
    assert most < 8e6
    assert len(bank.to_bytes()) < 9e6  # 4 bytes for each column, none for names


def test_names_must_cover_all_indices(tmp_path: Path) -> None:
    path = write(tmp_path / "a.svm", "1 1:1 3:2\n0 2:3\n1 4:1\n0\n")
    (batch,) = as_batches(path, names=["a", "b", "c", "d", "e"])
    assert batch.feature_names == ("a", "b", "c", "d", "e")
    assert batch.n_features == 5
    assert error_of(path, names=["a", "b", "c"]) == (
        ", line 3: names must have a name for each index, got index 4 and 3 names. "
        "Pass a longer list of names."
    )
    batches = as_batches(path, names=["a", "b", "c"], on_error="skip", batch_size=2)
    assert [batch.X.toarray().tolist() for batch in batches] == [[[1, 0, 2], [0, 3, 0]], [[0] * 3]]
    assert batches.rows_skipped == 1
    assert error_of(path, names=list("abcd"), zero_based=True) == (
        ", line 3: names must have a name for each index, got index 4 and 4 names. "
        "Pass a longer list of names."
    )
    with pytest.raises(ValueError, match="feature_names must differ, got 'a' twice"):
        as_batches(path, names=["a", "a"])
    with pytest.raises(SourceError, match="names must not be given for csv files"):
        as_batches(write(tmp_path / "a.csv", "a,y\n1,0\n"), target="y", names=["a"])


@pytest.mark.parametrize("late", [0, 10])
def test_first_svmlight_index_is_not_guessed(late: int, tmp_path: Path) -> None:
    path = write(tmp_path / "a.svm", "1 1:1\n" * late + "0 0:1 2:3\n")
    (batch,) = as_batches(path, zero_based=True)
    assert dense(batch)[-1].tolist() == [1, 0, 3]
    assert error_of(path) == (
        f", line {late + 1}: The index must be at least 1, got '0:1'. Pass zero_based=True if "
        "indices start at 0 in this data."
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
    assert parts.skip_reasons == [
        f"{path}, line 1235: The label must be a finite number, got 'bad'."
    ]


def test_missing_and_infinite_values(tmp_path: Path) -> None:
    assert error_of(write(tmp_path / "nan.svm", "0 1:2\n1 1:1 2:nan\n")).startswith(", line 2: ")
    path = write(tmp_path / "a.svm", "1 1:1 2:nan\n0 1:2\n1 1:inf\n")
    assert error_of(path, missing="ignore") == (
        ", line 3: The value must be finite in float64, got '1:inf'."
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
def test_bad_svmlight_rows_are_named_and_can_be_skipped(
    line: str, batch_size: int, tmp_path: Path
) -> None:
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
        f"{path}, line {line}: Labels of svmlight files must be below 2**53 to be exact, got "
        f"about {sign}9007199254740992."
        for line, sign in ((3, ""), (4, "-"))
    ]


@pytest.mark.parametrize("role", ["target", "time", "sample_weight", "drop", "categorical"])
def test_svmlight_has_no_columns(role: str, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=f"{role} must not be given for svmlight"):
        as_batches(write(tmp_path / "a.svm", "1 1:1\n"), **{role: "y"})
