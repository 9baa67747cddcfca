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

Rows = tuple[Any, Any, Any, Any, Any, dict[int, str]]


def make_parser(zero_based: bool = False, max_line: int = 1 << 20) -> SvmlightParser:
    return SvmlightParser(zero_based=zero_based, max_line=max_line)


def parse(*pieces: bytes, **options: Any) -> Rows:
    parser = make_parser(**options)
    for piece in pieces:
        parser.feed(piece)
    parser.finish()
    return parser.take(parser.rows)


def fault(text: bytes, **options: Any) -> str:
    """What is wrong with the one row of the text."""
    rows = parse(text, **options)
    assert (len(rows[0]), len(rows[4])) == (0, 1)
    return rows[5][0]


def assert_same_rows(a: Rows, b: Rows) -> None:
    for x, y in zip(a[:5], b[:5], strict=True):
        np.testing.assert_array_equal(x, y)
    assert a[5] == b[5]


def assert_as_sklearn(text: bytes, zero_based: bool = False) -> None:
    X, y = load_svmlight_file(io.BytesIO(text), zero_based=zero_based)
    labels, indptr, indices, data, _, bad = parse(text, zero_based=zero_based)
    assert not bad
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
    labels, indptr, indices, data, lines, bad = parse(text)
    assert (labels.size, indices.size, data.size, lines.size, bad) == (0, 0, 0, 0, {})
    assert indptr.tolist() == [0]


def test_unsorted_and_repeated_indices_are_kept() -> None:
    _, indptr, indices, data, _, _ = parse(b"1 9:1 2:2 9:3\n")
    assert (indptr.tolist(), indices.tolist(), data.tolist()) == ([0, 3], [8, 1, 8], [1, 2, 3])


def test_nan_passes_for_the_reader_to_judge() -> None:
    assert np.isnan(parse(b"1 1:nan 2:-NAN 3:0\n")[3]).tolist() == [True, True, False]


def test_types_and_lines() -> None:
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


def test_scipy_takes_the_arrays_as_they_are() -> None:
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
    assert "is too large" in fault(b"1 9223372036854775807:1\n", zero_based=True)


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
        assert "infinite or too large for float64" in fault(f"1 1:{text}\n".encode())
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
    parser = make_parser(max_line=250)
    taken = []
    edges = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    for i, (start, stop) in enumerate(pairwise(edges)):
        parser.feed(text[start:stop])
        if i < len(takes):
            taken.append(parser.take(takes[i]))
    parser.finish()
    taken.append(parser.take(parser.rows))
    assert_same_rows(parse(text, max_line=250), joined(taken))


def joined(parts: list[Rows]) -> Rows:
    labels, indptr, indices, data, lines, _ = zip(*parts, strict=True)
    starts = np.cumsum([0, *map(len, lines)])
    bad = {
        int(start) + place: why
        for start, part in zip(starts, parts, strict=False)
        for place, why in part[5].items()
    }
    lengths = np.concatenate([np.diff(part) for part in indptr])
    return (
        np.concatenate(labels),
        np.concatenate([[0], np.cumsum(lengths)]),
        np.concatenate(indices),
        np.concatenate(data),
        np.concatenate(lines),
        bad,
    )


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
    assert parser.rows == 0


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
        (b"1 99999999999999999999:1", "the index in '99999999999999999999:1' is too large"),
        (b"1 18446744073709551617:1", "the index in '18446744073709551617:1' is too large"),
        (b"1 9223372036854775808:1", "the index in '9223372036854775808:1' is too large"),
        (b"1 3:1 0:1", "index 0 in '0:1', but indices start at 1; pass zero_based=True if"),
        (b"1 3:" + b"1" * 300, "the line is longer than 256 bytes"),
    ],
)
def test_faults_name_the_token_and_touch_no_other_row(line: bytes, message: str) -> None:
    text = b"1 1:1\n# comment\n\n" + line + b"\n2 2:2\n"
    labels, indptr, indices, _, lines, bad = parse(text, max_line=256)
    assert list(bad) == [1]
    assert bad[1].startswith(message)
    assert lines.tolist() == [1, 4, 5]
    assert (labels.tolist(), indptr.tolist(), indices.tolist()) == ([1, 2], [0, 1, 2], [0, 1])


def test_rows_at_fault_are_taken_in_their_place() -> None:
    parser = make_parser()
    parser.feed(b"x\n1\ny\n\nz\n2\n3\n")
    taken = [parser.take(2) for _ in range(4)]
    assert [rows[4].tolist() for rows in taken] == [[1, 2], [3, 5], [6, 7], []]
    assert [rows[0].tolist() for rows in taken] == [[1], [], [2, 3], []]
    assert [list(rows[5]) for rows in taken] == [[0], [0, 1], [], []]


def resident_bytes() -> int:
    """The memory of this process, or 0 where the system does not tell."""
    status = Path("/proc/self/statm")
    return int(status.read_text().split()[1]) * mmap.PAGESIZE if status.exists() else 0


def test_an_endless_line_is_refused_in_bounded_memory() -> None:
    piece = b"1:1 " * 300_000
    parser = make_parser(max_line=1 << 20)
    parser.feed(b"1 1:1\n1 ")
    before = resident_bytes()
    for _ in range(100):
        parser.feed(piece)
    assert resident_bytes() - before < 20_000_000
    parser.feed(b"\n2 2:2")
    parser.finish()
    labels, _, _, _, lines, bad = parser.take(9)
    assert bad == {1: "the line is longer than 1048576 bytes"}
    assert (labels.tolist(), lines.tolist()) == ([1, 2], [1, 2, 3])


def test_no_text_after_the_end() -> None:
    parser = make_parser()
    parser.finish()
    with pytest.raises(ValueError, match="the text was finished: use a new parser"):
        parser.feed(b"1\n")


@given(st.binary(max_size=300), st.booleans())
def test_hostile_bytes_are_rows_blank_or_faults(text: bytes, zero_based: bool) -> None:
    check_every_line_is_accounted_for(text, zero_based)


@given(st.text("0123456789 \t\r\n#:,+-.eEqidnaf\0", max_size=300).map(str.encode), st.booleans())
def test_nearly_right_bytes_are_rows_blank_or_faults(text: bytes, zero_based: bool) -> None:
    check_every_line_is_accounted_for(text, zero_based)


def check_every_line_is_accounted_for(text: bytes, zero_based: bool) -> None:
    labels, indptr, indices, data, numbers, bad = parse(text, zero_based=zero_based, max_line=100)
    lines = text.removesuffix(b"\n").split(b"\n") if text else []
    expected = [
        number
        for number, line in enumerate(lines, 1)
        if len(line) > 100 or line.split(b"#")[0].strip()
    ]
    assert numbers.tolist() == expected
    assert len(labels) + len(bad) == len(expected)
    assert all(0 <= place < len(expected) and why.isprintable() for place, why in bad.items())
    assert len(indptr) == len(labels) + 1
    assert indptr[0] == 0
    assert indptr[-1] == len(indices) == len(data)
    assert np.all(np.diff(indptr) >= 0)
    assert np.all(indices >= 0)
    assert not np.isinf(data).any()
    assert np.isfinite(labels).all()


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
    labels, indptr, indices, data, lines, bad = parser.take(parser.rows)
    n = sum(fed)
    assert not bad
    np.testing.assert_array_equal(labels, np.ones(n))
    np.testing.assert_array_equal(indptr, np.arange(0, 3 * n + 1, 3))
    np.testing.assert_array_equal(indices, np.tile([0, 1, 2], n))
    np.testing.assert_array_equal(data, np.tile([1.0, 2.0, 3.0], n))
    np.testing.assert_array_equal(lines, np.arange(1, n + 1))
