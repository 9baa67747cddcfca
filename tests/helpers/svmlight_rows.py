"""Helpers of the tests of the svmlight parser."""

from typing import Any

import numpy as np

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
    """The fault of the one row of the text."""
    rows = parse(text, **options)
    assert (len(rows[0]), len(rows[4])) == (0, 1)
    return rows[5][0]


def assert_same_rows(a: Rows, b: Rows) -> None:
    for x, y in zip(a[:5], b[:5], strict=True):
        np.testing.assert_array_equal(x, y)
    assert a[5] == b[5]
