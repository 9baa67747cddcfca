"""Griffe extension and MkDocs hook: parameters and links of the API reference."""

from __future__ import annotations

import re
from itertools import groupby
from typing import Any

import griffe

_ROLE = re.compile(r":(?:class|meth|func|attr|mod|exc|data):<code>~?([\w.]+)</code>")


class Signatures(griffe.Extension):
    """Takes defaults from signatures, and keeps parameters together that share a description."""

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        """Correct the parameters of a function."""
        self._correct(func)

    def on_class_members(self, *, cls: griffe.Class, **_: Any) -> None:
        """Correct the parameters of a class, which its docstring describes."""
        if "__init__" in cls.members:
            self._correct(cls)

    def _correct(self, described: griffe.Function | griffe.Class) -> None:
        for section in described.docstring.parsed if described.docstring else ():
            if section.kind is not griffe.DocstringSectionKind.parameters:
                continue
            section.value = [
                _together(list(same), described.parameters)
                for _, same in groupby(section.value, key=lambda one: one.description)
            ]


def _together(same: list[Any], signature: griffe.Parameters) -> Any:
    first = same[0]
    if len(same) > 1:
        first.name = ", ".join(one.name for one in same)
        first.annotation = first.value = None
        return first
    if str(first.annotation).startswith("('"):
        first.annotation = f"one of {str(first.annotation)[1:-1]}"
    first.value = signature[first.name].default if first.name in signature else None
    return first


def on_page_content(html: str, **_: Any) -> str:
    """Make links of the roles in docstrings, where the name has an entry."""
    return _ROLE.sub(r'<autoref optional identifier="\1"><code>\1</code></autoref>', html)
