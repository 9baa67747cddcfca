"""The svmlight parser of the core, against scikit-learn, Python's float and hostile bytes."""

import gzip
import io
import math
import mmap
import threading
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from driftsieve._core import SvmlightParser

Rows = tuple[Any, Any, Any, Any]


def make_parser(**options: Any) -> SvmlightParser:
    defaults = {"zero_based": False, "allow_nan": False, "skip_bad": False, "max_line": 1 << 20}
    return SvmlightParser(**(defaults | options))


def parse(*pieces: bytes, **options: Any) -> Rows:
    parser = make_parser(**options)
    for piece in pieces:
        parser.feed(piece)
    parser.finish()
    return parser.take(parser.rows)


def to_csr(rows: Rows, n_features: int) -> sp.csr_array:
    labels, indptr, indices, data = rows
    return sp.csr_array((data, indices, indptr), shape=(len(labels), n_features))


def assert_same_rows(a: Rows, b: Rows) -> None:
    for x, y in zip(a, b, strict=True):
        np.testing.assert_array_equal(x, y)


def assert_as_sklearn(text: bytes, zero_based: bool = False) -> None:
    X, y = load_svmlight_file(io.BytesIO(text), zero_based=zero_based)
    labels, indptr, indices, data = parse(text, zero_based=zero_based)
    np.testing.assert_array_equal(labels, y)
    np.testing.assert_array_equal(indptr, X.indptr)
    np.testing.assert_array_equal(indices, X.indices)
    np.testing.assert_array_equal(data.view(np.int64), X.data.view(np.int64))  # to the last bit


# --- what is read -------------------------------------------------------------------------------


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
def test_url_as_sklearn(data_dir: Path, day: int) -> None:
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
def test_quirks_as_sklearn(text: bytes) -> None:
    assert_as_sklearn(text)


@pytest.mark.parametrize("text", [b"", b"\n", b"# nothing\n", b"  ", b"#"])
def test_no_rows(text: bytes) -> None:
    labels, indptr, indices, data = parse(text)
    assert (labels.size, indices.size, data.size) == (0, 0, 0)
    assert indptr.tolist() == [0]


def test_unsorted_and_repeated_indices_are_kept() -> None:
    _, indptr, indices, data = parse(b"1 9:1 2:2 9:3\n")
    assert (indptr.tolist(), indices.tolist(), data.tolist()) == ([0, 3], [8, 1, 8], [1, 2, 3])


def test_types_and_counts() -> None:
    parser = make_parser()
    parser.feed(b"# a\n1 1:1\n2 7:1\n3")
    assert (parser.rows, parser.lines, parser.n_features) == (2, 3, 7)
    parser.finish()
    assert (parser.rows, parser.lines, parser.lines_skipped, parser.faults) == (3, 4, 0, [])
    rows = parser.take(10)
    assert [array.dtype.str for array in rows] == ["<f8", "<i8", "<i4", "<f8"]
    assert all(array.flags.writeable for array in rows)


def test_indices_widen_when_they_must() -> None:
    assert parse(b"1 2147483647:1\n")[2].dtype == np.int32
    _, _, indices, _ = parse(b"1 1:1\n1 2147483648:1\n1 9223372036854775807:1\n")
    assert indices.dtype == np.int64
    assert indices.tolist() == [0, 2**31 - 1, 2**63 - 2]
    parser = make_parser(zero_based=True)
    parser.feed(b"1 9223372036854775806:1\n")
    assert parser.n_features == 2**63 - 1
    with pytest.raises(ValueError, match=r"^line 2: the index in '9223372036854775807:1' is too"):
        parser.feed(b"1 9223372036854775807:1\n")


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(["r", "e", ".17g", ".6g"]))
def test_doubles_as_python_reads_them(value: float, how: str) -> None:
    text = repr(value) if how == "r" else format(value, how)
    if math.isinf(float(text)):  # rounded up beyond the largest
        return
    labels, _, _, data = parse(f"{text} 1:{text}\n".encode())
    assert labels[0].hex() == data[0].hex() == float(text).hex()


DECIMAL = r"[+-]?([0-9]{1,25}(\.[0-9]{0,25})?|\.[0-9]{1,25})(e[+-]?[0-9]{1,3})?"


@given(st.from_regex(DECIMAL, fullmatch=True))
def test_decimals_as_python_reads_them(text: str) -> None:
    expected = float(text)
    if math.isinf(expected):
        with pytest.raises(ValueError, match="infinite or too large for float64"):
            parse(f"1 1:{text}\n".encode())
    else:
        assert parse(f"1 1:{text}\n".encode())[3][0].hex() == expected.hex()


# --- pieces -------------------------------------------------------------------------------------

LINES = st.lists(
    st.sampled_from(
        [
            b"1 1:2 3:4.5\n",
            b"-1 qid:3 7:1 9:1 # tail\r\n",
            b"# comment\n",
            b"\n",
            b"0.25 2147483649:0.1234567890123456789\n",
            b"1,2 3:4\n",
            b"1 x\n",
            b"2 " + b"123456:1 " * 30 + b"\n",
            b"3 5:5",
        ]
    ),
    max_size=12,
).map(b"".join)


@given(text=LINES, cuts=st.lists(st.integers(0, 2000)), takes=st.lists(st.integers(0, 3)))
def test_any_cut_gives_the_same_rows(text: bytes, cuts: list[int], takes: list[int]) -> None:
    options = {"skip_bad": True, "max_line": 250}
    whole = make_parser(**options)
    whole.feed(text)
    whole.finish()
    parts = make_parser(**options)
    taken = []
    edges = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    for i, (start, stop) in enumerate(pairwise(edges)):
        parts.feed(text[start:stop])
        if i < len(takes):
            taken.append(parts.take(takes[i]))
    parts.finish()
    taken.append(parts.take(parts.rows))
    assert (whole.lines, whole.faults) == (parts.lines, parts.faults)
    n = whole.n_features
    assert n == parts.n_features
    rows = whole.take(whole.rows)
    np.testing.assert_array_equal(rows[0], np.concatenate([t[0] for t in taken]))
    np.testing.assert_array_equal(np.diff(rows[1]), np.concatenate([np.diff(t[1]) for t in taken]))
    for k in (2, 3):
        np.testing.assert_array_equal(rows[k], np.concatenate([t[k] for t in taken]))


def test_lines_longer_than_a_block() -> None:
    pairs = 100_000
    line = b"1 " + b" ".join(b"%d:1" % i for i in range(1, pairs + 1)) + b"\n"
    once = parse(line * 2, max_line=len(line))
    assert once[1].tolist() == [0, pairs, 2 * pairs]
    np.testing.assert_array_equal(once[2], np.tile(np.arange(pairs), 2))
    assert_same_rows(once, parse(line + line[:123_456], line[123_456:], max_line=len(line)))


def test_arrays_outlive_the_parser_and_each_other() -> None:
    parser = make_parser()
    taken = []
    for i in range(1, 2001):
        parser.feed(b"%d %d:%d %d:1\n" % (i, i, i, i + 1))
        if i % 7 == 0:
            taken.append(parser.take(5))
    taken.append(parser.take(parser.rows))
    del parser
    np.testing.assert_array_equal(np.concatenate([t[0] for t in taken]), np.arange(1, 2001))
    indices = np.concatenate([t[2] for t in taken])
    np.testing.assert_array_equal(indices[::2], np.arange(2000))
    np.testing.assert_array_equal(indices[1::2], np.arange(1, 2001))


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, lambda b: np.frombuffer(b, "u1")])
def test_feed_takes_anything_bytes_like(kind: Any) -> None:
    parser = make_parser()
    parser.feed(kind(b"1 2:3\n"))
    assert parser.take(1)[3].tolist() == [3.0]


def test_feed_refuses_what_is_not_bytes_like() -> None:
    parser = make_parser()
    with pytest.raises(TypeError, match="bytes-like"):
        parser.feed("1 2:3\n")  # type: ignore[arg-type]
    with pytest.raises(BufferError, match="contiguous"):
        parser.feed(memoryview(b"1 2:3\n")[::2])
    assert (parser.rows, parser.lines) == (0, 0)


# --- faults -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"abc 1:1", "the label 'abc' is not a finite number"),
        (b"nan 1:1", "the label 'nan' is not a finite number"),
        (b"1e999 1:1", "the label '1e999' is not a finite number"),
        (b"1x 1:1", "the label '1x' is not a finite number"),
        (b"1:1 2:2", "the label '1:1' is not a finite number"),
        (b"1,2 1:1", "the label '1,2' names several classes, but a row has one"),
        (b"1 qid:x 1:1", "'qid:x' is not qid:N"),
        (b"1 qid: 1:1", "'qid:' is not qid:N"),
        (b"1 1:1 qid:3", "'qid:3' is not index:value"),
        (b"1 2", "'2' is not index:value"),
        (b"1 :2", "':2' is not index:value"),
        (b"1 a:2", "'a:2' is not index:value"),
        (b"1 -1:2", "'-1:2' is not index:value"),
        (b"1 1.5:2", "'1.5:2' is not index:value"),
        (b"1 1 :2", "'1' is not index:value"),
        (b"1 1:", "the value in '1:' is not a number"),
        (b"1 1: 2", "the value in '1:' is not a number"),
        (b"1 1:x", "the value in '1:x' is not a number"),
        (b"1 1:2:3", "the value in '1:2:3' is not a number"),
        (b"1 1:1_0", "the value in '1:1_0' is not a number"),
        (b"1 1:0x1", "the value in '1:0x1' is not a number"),
        (b"1 1:1e", "the value in '1:1e' is not a number"),
        (b"1 1:nano", "the value in '1:nano' is not a number"),
        (b"1 1:\x00", r"the value in '1:\x00' is not a number"),
        (b"1 1:1\xff\x7f", r"the value in '1:1\xff\x7f' is not a number"),
        (b"1 1:" + b"z" * 99, f"the value in '1:{'z' * 30}...' is not a number"),
        (b"1 1:inf", "the value in '1:inf' is infinite or too large for float64"),
        (b"1 1:-Infinity", "the value in '1:-Infinity' is infinite or too large for float64"),
        (b"1 1:1e309", "the value in '1:1e309' is infinite or too large for float64"),
        (b"1 1:-1e999999999999", "the value in '1:-1e999999999999' is infinite or too large for"),
        (b"1 1:nan", "the value in '1:nan' is missing (NaN)"),
        (b"1 1:-NaN", "the value in '1:-NaN' is missing (NaN)"),
        (b"1 99999999999999999999:1", "the index in '99999999999999999999:1' is too large"),
        (b"1 18446744073709551617:1", "the index in '18446744073709551617:1' is too large"),
        (b"1 9223372036854775808:1", "the index in '9223372036854775808:1' is too large"),
        (b"1 3:1 0:1", "index 0 in '0:1', but indices start at 1; pass zero_based=True if"),
        (b"1 3:" + b"1" * 300, "longer than max_line = 256 bytes"),
    ],
)
def test_faults_name_line_and_token(line: bytes, message: str) -> None:
    text = b"1 1:1\n# comment\n\n" + line + b"\n2 2:2\n"
    parser = make_parser(max_line=256)
    with pytest.raises(ValueError) as raised:
        parser.feed(text)
    assert str(raised.value).startswith(f"line 4: {message}")
    assert parser.take(9)[0].tolist() == [1.0]  # the rows before it are safe
    with pytest.raises(ValueError) as again:
        parser.feed(b"2 2:2\n")
    assert str(again.value) == str(raised.value)
    assert parser.rows == 0

    skipping = make_parser(max_line=256, skip_bad=True)
    skipping.feed(text)
    assert skipping.faults == [str(raised.value)]
    assert (skipping.lines, skipping.lines_skipped) == (5, 1)
    assert skipping.take(9)[0].tolist() == [1.0, 2.0]


def test_allow_nan_admits_nan_alone() -> None:
    assert np.isnan(parse(b"1 1:nan 2:-NAN\n", allow_nan=True)[3]).tolist() == [True, True]
    with pytest.raises(ValueError, match="infinite"):
        parse(b"1 1:inf\n", allow_nan=True)
    with pytest.raises(ValueError, match="the label 'nan'"):
        parse(b"nan 1:1\n", allow_nan=True)


def test_a_skipped_line_leaves_no_trace() -> None:
    parser = make_parser(skip_bad=True)
    parser.feed(b"1 1:1\n" + b"2 5:1 900:1 x\n" * 9 + b"3 2:1\n")
    assert (parser.n_features, parser.lines, parser.lines_skipped) == (2, 11, 9)
    assert [fault.split(":")[0] for fault in parser.faults] == [f"line {i}" for i in range(2, 7)]
    labels, indptr, indices, _ = parser.take(9)
    assert (labels.tolist(), indptr.tolist(), indices.tolist()) == ([1, 3], [0, 1, 2], [0, 1])


def resident_bytes() -> int:
    """The memory of this process, or 0 where the system does not tell."""
    status = Path("/proc/self/statm")
    return int(status.read_text().split()[1]) * mmap.PAGESIZE if status.exists() else 0


def test_an_endless_line_is_refused_in_bounded_memory() -> None:
    piece = b"1:1 " * 250_000
    parser = make_parser(max_line=1_000_000)
    with pytest.raises(ValueError, match=r"^line 2: longer than max_line = 1000000 bytes$"):
        parser.feed(b"1 1:1\n1 " + piece)
    skipping = make_parser(max_line=1_000_000, skip_bad=True)
    skipping.feed(b"1 1:1\n1 ")
    before = resident_bytes()
    for _ in range(100):
        skipping.feed(piece)
    assert resident_bytes() - before < 20_000_000
    assert (skipping.lines, skipping.lines_skipped) == (2, 1)
    skipping.feed(b"\n2 2:2")
    skipping.finish()
    assert (skipping.lines, skipping.lines_skipped) == (3, 1)
    assert skipping.take(9)[0].tolist() == [1.0, 2.0]


def test_no_text_after_the_end() -> None:
    parser = make_parser()
    parser.finish()
    with pytest.raises(ValueError, match="the text was finished: use a new parser"):
        parser.feed(b"1\n")
    with pytest.raises(ValueError, match="the text was finished: use a new parser"):
        parser.finish()


@given(st.binary(max_size=300), st.booleans())
def test_hostile_bytes_are_rows_blank_or_faults(text: bytes, zero_based: bool) -> None:
    check_every_line_is_accounted_for(text, zero_based)


@given(st.text("0123456789 \t\r\n#:,+-.eEqidnaf\0", max_size=300).map(str.encode), st.booleans())
def test_nearly_right_bytes_are_rows_blank_or_faults(text: bytes, zero_based: bool) -> None:
    check_every_line_is_accounted_for(text, zero_based)


def check_every_line_is_accounted_for(text: bytes, zero_based: bool) -> None:
    parser = make_parser(skip_bad=True, allow_nan=True, zero_based=zero_based, max_line=100)
    parser.feed(text)
    parser.finish()
    lines = text.removesuffix(b"\n").split(b"\n") if text else []
    blank = sum(len(line) <= 100 and not line.split(b"#")[0].strip() for line in lines)
    assert parser.lines == len(lines)
    assert parser.rows + parser.lines_skipped + blank == len(lines)
    labels, indptr, indices, data = parser.take(parser.rows)
    assert len(indptr) == len(labels) + 1
    assert indptr[0] == 0
    assert indptr[-1] == len(indices) == len(data)
    assert np.all(np.diff(indptr) >= 0)
    assert np.all(indices >= 0)
    assert parser.n_features == (indices.max() + 1 if len(indices) else 0)
    assert not np.isinf(data).any()


def test_two_threads_get_an_error_or_their_turn() -> None:
    """Nothing is lost or torn, whichever thread is refused."""
    parser = make_parser()
    text = b"1 1:1 2:2 3:3\n" * 20_000
    fed = []

    def feed() -> None:
        for _ in range(5):
            try:
                parser.feed(text)
            except RuntimeError as error:
                assert "in use by another thread" in str(error)  # noqa: PT017
            else:
                fed.append(20_000)

    threads = [threading.Thread(target=feed) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert fed
    assert parser.rows == sum(fed)
    labels, indptr, indices, data = parser.take(parser.rows)
    assert to_csr((labels, indptr, indices, data), 3).sum(axis=0).tolist() == [
        sum(fed) * value for value in (1, 2, 3)
    ]
