"""Text of unknown origin is safe to print."""

import pytest

from driftsieve._text import printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("naïve name", "naïve name"),
        ("a\tb\r\n", r"a\tb\r\n"),
        ("\x1b[2J", r"\x1b[2J"),
        ("\u202egnp.exe", r"\u202egnp.exe"),
        ("line\u2028end", r"line\u2028end"),
        ("\ud800", r"\ud800"),
    ],
)
def test_control_codes_and_line_breaks_are_escaped(text: str, shown: str) -> None:
    assert printable(text) == shown
    assert printable(text).isprintable()
