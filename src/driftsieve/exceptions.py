"""Exceptions and warnings of Driftsieve. Every exception derives from ``DriftsieveError``."""

from __future__ import annotations

__all__ = [
    "DriftsieveError",
    "LimitError",
    "RowError",
    "SourceError",
    "SourceWarning",
    "StateError",
]


class DriftsieveError(Exception):
    """Base class of the exceptions of Driftsieve.

    Examples
    --------
    >>> import driftsieve as ds
    >>> try:
    ...     ds.Bank.from_bytes(b"not a bank")
    ... except ds.DriftsieveError as error:
    ...     print(type(error).__name__)
    StateError
    """


class RowError(DriftsieveError, ValueError):
    """A row is not valid.

    Parameters
    ----------
    cause : str
        The message up to the index of the row.
    row : int
        Index of the row.
    rest : str
        The message after the index of the row.

    Attributes
    ----------
    row : int
        Index of the row.
    cause : str
        The message without the index of the row.

    Examples
    --------
    >>> print(RowError("y must not be missing, got None", 3))
    y must not be missing, got None at row 3.
    """

    def __init__(self, cause: str, row: int, rest: str = ".") -> None:
        super().__init__(cause, row, rest)  # all of them, so that it can be pickled
        self.row = row
        self.cause = cause + rest

    def __str__(self) -> str:
        cause, row, rest = self.args
        return f"{cause} at row {row}{rest}"


class SourceError(DriftsieveError, ValueError):
    """A source cannot be read. The message is one line: file, line or row, and cause.

    Lines of text files count from 1, as in editors; rows of other sources from 0, as in numpy.

    Parameters
    ----------
    cause : object
        What is wrong.
    file : str, optional
        Name of the file.
    where : str, optional
        Line or row in the file.

    Attributes
    ----------
    file : str or None
        Name of the file.

    Examples
    --------
    >>> print(SourceError("no column 'y'", "mail.csv", "line 3"))
    mail.csv, line 3: no column 'y'
    """

    def __init__(self, cause: object, file: str | None = None, where: str | None = None) -> None:
        place = ", ".join(part for part in (file, where) if part)
        text = " ".join(f"{place}: {cause}".split()) if place else " ".join(str(cause).split())
        super().__init__(text if len(text) <= 500 else text[:497] + "...")
        self.file = file


class SourceWarning(UserWarning):
    """A source may have been read in another way than intended."""


class LimitError(DriftsieveError, ValueError):
    """An update was refused because it would exceed a limit. The bank is unchanged."""


class StateError(DriftsieveError, ValueError):
    """Bytes are not a valid state of the expected kind and version."""
