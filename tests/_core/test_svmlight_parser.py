"""The svmlight parser of the core, compared with scikit-learn and Python's float."""

import gzip
import io
import math
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from svmlight_rows import fault, make_parser, parse


def assert_as_sklearn(text: bytes, zero_based: bool = False) -> None:
    X, y = load_svmlight_file(io.BytesIO(text), zero_based=zero_based)
    labels, indptr, indices, data, _, bad = parse(text, zero_based=zero_based)
    assert not bad
    np.testing.assert_array_equal(labels, y)
    np.testing.assert_array_equal(indptr, X.indptr)
    np.testing.assert_array_equal(indices, X.indices)
    np.testing.assert_array_equal(data.view(np.int64), X.data.view(np.int64))  # to the last bit


@pytest.mark.parametrize("zero_based", [False, True])
def test_random_matrix_as_sklearn(zero_based: bool) -> None:
    rng = np.random.default_rng(0)
    X = sp.random_array((300, 5000), density=0.01, format="csr", rng=rng)
    X.data = rng.normal(size=X.nnz) * 10.0 ** rng.integers(-12, 12, X.nnz)
    y = rng.integers(-1, 2, 300)
    file = io.BytesIO()
    dump_svmlight_file(X, y, file, zero_based=zero_based, comment="two lines\nof comment")
    assert_as_sklearn(file.getvalue(), zero_based)


@pytest.mark.parametrize("day", range(6))
def test_url_is_parsed_as_by_scikit_learn(data_dir: Path, day: int) -> None:
    text = gzip.decompress((data_dir / "url" / f"Day{day}_mini.svm.gz").read_bytes())
    assert_as_sklearn(text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(b"1 1:2 3:4\n-1 2:5\n", id="plain"),
        pytest.param(b"1 1:2 3:4\n-1 2:5", id="no last newline"),
        pytest.param(b"1 1:2\r\n\r\n-1 2:5\r\n", id="CRLF"),
        pytest.param(b"\t1\t1:2  \t 3:4 \n  -1 2:5\t\n", id="tabs and blanks"),
        pytest.param(b"\n\n1 1:2\n   \n\t\n-1 2:5\n\n", id="blank lines"),
        pytest.param(b"# head\n1 1:2 # tail 3:4\n  # x\n2#y\n3 1:7#z\n", id="comments"),
        pytest.param(b"1 qid:7 1:2\n2 qid:123456789 3:4\n3 qid:1\n", id="qid"),
        pytest.param(b"+1 1:1\n-1 1:1\n1.0 1:1\n-2.5e-1 1:1\n.5 1:+1\n0 1:-0.0\n", id="numbers"),
        pytest.param(b"1\n2 \n3\n", id="labels alone"),
        pytest.param(b"1 0000000000000000000000007:1\n", id="leading zeros"),
        pytest.param(b"1 1:1e-400 2:5e-324 3:1.7976931348623157e308\n", id="range of float64"),
        pytest.param(b"1 1:1\x0b2:2\x0c3:3\r4:4\n", id="odd white space"),
    ],
)
def test_unusual_lines_are_read_as_by_scikit_learn(text: bytes) -> None:
    assert_as_sklearn(text)


@pytest.mark.parametrize("text", [b"", b"\n", b"# nothing\n", b"  ", b"#"])
def test_text_without_rows_gives_empty_arrays(text: bytes) -> None:
    labels, indptr, indices, data, lines, bad = parse(text)
    assert (labels.size, indices.size, data.size, lines.size, bad) == (0, 0, 0, 0, {})
    assert indptr.tolist() == [0]


def test_unsorted_and_repeated_indices_are_kept() -> None:
    _, indptr, indices, data, _, _ = parse(b"1 9:1 2:2 9:3\n")
    assert (indptr.tolist(), indices.tolist(), data.tolist()) == ([0, 3], [8, 1, 8], [1, 2, 3])


def test_nan_values_are_parsed() -> None:
    assert np.isnan(parse(b"1 1:nan 2:-NAN 3:0\n")[3]).tolist() == [True, True, False]


def test_arrays_have_fixed_types_and_line_numbers_count_all_lines() -> None:
    parser = make_parser()
    parser.feed(b"# a\n1 1:1\n\n2 7:1\n3")
    assert parser.rows == 2
    parser.finish()
    assert parser.rows == 3
    *arrays, bad = parser.take(10)
    assert [array.dtype.str for array in arrays] == ["<f8", "<i4", "<i4", "<f8", "<i8"]
    assert all(array.flags.writeable for array in arrays)
    assert arrays[4].tolist() == [2, 4, 5]
    assert bad == {}


def test_scipy_uses_the_arrays_without_a_copy() -> None:
    _, indptr, indices, data, _, _ = parse(b"1 1:1 3:2\n1\n0 2:1\n")
    X = sp.csr_array((data, indices, indptr), shape=(3, 3))
    assert X.toarray().tolist() == [[1, 0, 2], [0, 0, 0], [0, 1, 0]]
    for mine, theirs in ((indptr, X.indptr), (indices, X.indices), (data, X.data)):
        assert np.shares_memory(mine, theirs)


def test_indices_widen_when_they_must() -> None:
    assert parse(b"1 2147483647:1\n")[2].dtype == np.int32
    _, indptr, indices, _, _, _ = parse(b"1 1:1\n1 2147483648:1\n1 9223372036854775807:1\n")
    assert indices.dtype == indptr.dtype == np.int64
    assert indices.tolist() == [0, 2**31 - 1, 2**63 - 2]
    assert parse(b"1 9223372036854775806:1\n", zero_based=True)[2].tolist() == [2**63 - 2]
    assert "must fit 64 bits" in fault(b"1 9223372036854775807:1\n", zero_based=True)


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(["r", "e", ".17g", ".6g"]))
def test_doubles_as_python_reads_them(value: float, how: str) -> None:
    text = repr(value) if how == "r" else format(value, how)
    if math.isinf(float(text)):  # rounded up beyond the largest
        return
    labels, _, _, data, _, _ = parse(f"{text} 1:{text}\n".encode())
    assert labels[0].hex() == data[0].hex() == float(text).hex()


DECIMAL = r"[+-]?([0-9]{1,25}(\.[0-9]{0,25})?|\.[0-9]{1,25})(e[+-]?[0-9]{1,3})?"


@given(st.from_regex(DECIMAL, fullmatch=True))
def test_decimals_as_python_reads_them(text: str) -> None:
    expected = float(text)
    if math.isinf(expected):
        assert "must be finite in float64" in fault(f"1 1:{text}\n".encode())
    else:
        assert parse(f"1 1:{text}\n".encode())[3][0].hex() == expected.hex()
