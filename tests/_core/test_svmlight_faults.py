"""The svmlight parser of the core names the fault of a line, for any bytes."""

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
        (b"abc 1:1", "The label must be a finite number, got 'abc'."),
        (b"nan 1:1", "The label must be a finite number, got 'nan'."),
        (b"1e999 1:1", "The label must be a finite number, got '1e999'."),
        (b"1x 1:1", "The label must be a finite number, got '1x'."),
        (b"1:1 2:2", "The label must be a finite number, got '1:1'."),
        (b"1,2 1:1", "The label must be one class, got '1,2'."),
        (b"1 qid:x 1:1", "A query must be qid:N, got 'qid:x'."),
        (b"1 qid: 1:1", "A query must be qid:N, got 'qid:'."),
        (b"1 1:1 qid:3", "A pair must be index:value, got 'qid:3'."),
        (b"1 2", "A pair must be index:value, got '2'."),
        (b"1 :2", "A pair must be index:value, got ':2'."),
        (b"1 a:2", "A pair must be index:value, got 'a:2'."),
        (b"1 -1:2", "A pair must be index:value, got '-1:2'."),
        (b"1 1.5:2", "A pair must be index:value, got '1.5:2'."),
        (b"1 1 :2", "A pair must be index:value, got '1'."),
        (b"1 1:", "The value must be a number, got '1:'."),
        (b"1 1: 2", "The value must be a number, got '1:'."),
        (b"1 1:x", "The value must be a number, got '1:x'."),
        (b"1 1:2:3", "The value must be a number, got '1:2:3'."),
        (b"1 1:1_0", "The value must be a number, got '1:1_0'."),
        (b"1 1:0x1", "The value must be a number, got '1:0x1'."),
        (b"1 1:1e", "The value must be a number, got '1:1e'."),
        (b"1 1:nano", "The value must be a number, got '1:nano'."),
        (b"1 1:\x00", r"The value must be a number, got '1:\x00'."),
        (b"1 1:1\xff\x7f", r"The value must be a number, got '1:1\xff\x7f'."),
        (b"1 1:" + b"z" * 99, f"The value must be a number, got '1:{'z' * 30}...'."),
        (b"1 1:inf", "The value must be finite in float64, got '1:inf'."),
        (b"1 1:-Infinity", "The value must be finite in float64, got '1:-Infinity'."),
        (b"1 1:1e309", "The value must be finite in float64, got '1:1e309'."),
        (b"1 1:-1e999999999999", "The value must be finite in float64, got '1:-1e999999999999'."),
        (b"1 99999999999999999999:1", "The index must fit 64 bits, got '99999999999999999999:1'."),
        (b"1 18446744073709551617:1", "The index must fit 64 bits, got '18446744073709551617:1'."),
        (b"1 9223372036854775808:1", "The index must fit 64 bits, got '9223372036854775808:1'."),
        (b"1 3:1 0:1", "The index must be at least 1, got '0:1'."),
        (b"1 3:" + b"1" * 300, "A line must have at most 256 bytes, got more."),
    ],
)
def test_faults_name_the_token_and_touch_no_other_row(line: bytes, message: str) -> None:
    text = b"1 1:1\n# comment\n\n" + line + b"\n2 2:2\n"
    labels, indptr, indices, _, lines, bad = parse(text, max_line=256)
    assert list(bad) == [1]
    assert bad[1].startswith(message)
    assert lines.tolist() == [1, 4, 5]
    assert (labels.tolist(), indptr.tolist(), indices.tolist()) == ([1, 2], [0, 1, 2], [0, 1])


def test_bad_rows_keep_their_position() -> None:
    parser = make_parser()
    parser.feed(b"x\n1\ny\n\nz\n2\n3\n")
    taken = [parser.take(2) for _ in range(4)]
    assert [rows[4].tolist() for rows in taken] == [[1, 2], [3, 5], [6, 7], []]
    assert [rows[0].tolist() for rows in taken] == [[1], [], [2, 3], []]
    assert [list(rows[5]) for rows in taken] == [[0], [0, 1], [], []]


def resident_bytes() -> int:
    """The memory of this process, or 0 if the system does not report it."""
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
    assert bad == {1: "A line must have at most 1048576 bytes, got more."}
    assert (labels.tolist(), lines.tolist()) == ([1, 2], [1, 2, 3])


def test_no_text_after_the_end() -> None:
    parser = make_parser()
    parser.finish()
    with pytest.raises(ValueError, match=r"The text is finished. Use a new parser"):
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


def test_two_threads_get_an_error_or_a_valid_result() -> None:
    """Nothing is lost or torn, whichever thread is refused."""
    parser = make_parser()
    text = b"1 1:1 2:2 3:3\n" * 20_000
    fed = []

    def feed() -> None:
        for _ in range(5):
            try:
                parser.feed(text)
            except RuntimeError as error:
                assert "used by one thread at a time" in str(error)  # noqa: PT017
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
