"""The svmlight parser of the core names what is wrong with a line, whatever the bytes."""

import mmap
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from svmlight_rows import make_parser, parse


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
