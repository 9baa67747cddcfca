"""The svmlight parser of the core gives the same rows however its text is cut."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from svmlight_rows import Rows, assert_same_rows, make_parser, parse

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
def test_feed_accepts_bytes_like_objects(kind: Any) -> None:
    parser = make_parser()
    parser.feed(kind(b"1 2:3\n"))
    assert parser.take(1)[3].tolist() == [3.0]


def test_feed_rejects_objects_that_are_not_bytes_like() -> None:
    parser = make_parser()
    with pytest.raises(TypeError, match="bytes-like"):
        parser.feed("1 2:3\n")  # type: ignore[arg-type]
    with pytest.raises(BufferError, match="contiguous"):
        parser.feed(memoryview(b"1 2:3\n")[::2])
    assert parser.rows == 0
