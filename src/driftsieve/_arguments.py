"""Names of parameters in messages, spelled as in Python or on the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


def _in_python(name: str, value: Any) -> str:
    if value is None:
        return name
    quotable = isinstance(value, str) and '"' not in value
    return f'{name}="{value}"' if quotable else f"{name}={value!r}"


_spelling: Callable[[str, Any], str] = _in_python


def arg(name: str, value: Any = None) -> str:
    """Return a parameter, and a value of it if one is given, for a message.

    >>> f"Pass {arg('missing', 'ignore')}, or another {arg('half_life')}."
    'Pass missing="ignore", or another half_life.'
    """
    return _spelling(name, value)


def check_choice(name: str, value: Any, *choices: str) -> None:
    """Raise ValueError unless the value of a parameter is one of the choices.

    >>> check_choice("clock", "hour", "row", "batch", "time")
    Traceback (most recent call last):
    ...
    ValueError: clock must be "row", "batch" or "time", got 'hour'.
    """
    if not isinstance(value, str) or value not in choices:
        *most, last = (f'"{choice}"' for choice in choices)
        raise ValueError(f"{arg(name)} must be {', '.join(most)} or {last}, got {value!r}.")


@contextmanager
def spelling(spell: Callable[[str, Any], str]) -> Iterator[None]:
    """Set how messages name parameters, within the block."""
    global _spelling
    before, _spelling = _spelling, spell
    try:
        yield
    finally:
        _spelling = before
