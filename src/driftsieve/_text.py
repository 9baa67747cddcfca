"""Text that is safe to print."""

from __future__ import annotations


def printable(text: str) -> str:
    r"""Return text with control codes and line breaks escaped.

    Names of features and files are untrusted: a control code must not reach the terminal, and a
    line break must not break the table.

    >>> printable("red\n\x1b[2J")
    'red\\n\\x1b[2J'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
