"""RowError: bad input that is the fault of one row."""

from __future__ import annotations


class RowError(ValueError):
    """A row that cannot be used: ``row`` is its index, ``cause`` the message without it."""

    def __init__(self, cause: str, row: int, rest: str = ".") -> None:
        super().__init__(cause, row, rest)  # all of them, so that it can be pickled
        self.row = row
        self.cause = cause + rest

    def __str__(self) -> str:
        cause, row, rest = self.args
        return f"{cause} at row {row}{rest}"
