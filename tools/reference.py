"""Griffe extension and MkDocs hooks: parameters, links and tables of the API reference."""

from __future__ import annotations

import re
from itertools import groupby
from typing import Any

import griffe

_ROLE = re.compile(r":(?:class|meth|func|attr|mod|exc|data):<code>~?([\w.]+)</code>")
_CELL = re.compile(r"(<td>(?:<a [^>]*>)?<code>)([\w.]+)(?=</code>)")


class Signatures(griffe.Extension):
    """Takes defaults from signatures, and keeps parameters together that share a description."""

    def __init__(self) -> None:
        super().__init__()
        self._see_also: list[tuple[Any, griffe.Object]] = []

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        """Correct the parameters of a function."""
        self._correct(func)

    def on_class_members(self, *, cls: griffe.Class, **_: Any) -> None:
        """Correct the parameters of a class, which its docstring describes."""
        if "__init__" in cls.members:
            self._correct(cls)

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Collect the sections "See Also"."""
        for section in obj.docstring.parsed if obj.docstring else ():
            if (
                section.kind is griffe.DocstringSectionKind.admonition
                and section.title == "See Also"
            ):
                self._see_also.append((section.value, obj))

    def on_package(self, **_: Any) -> None:
        """Make lists of links of them, now that all names are known."""
        while self._see_also:
            value, described = self._see_also.pop()
            value.contents = see_also(value.contents, described)

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


def see_also(text: str, described: griffe.Object) -> str:
    """Return the entries of a section as a list with a link for each name."""
    entries = []
    for line in text.splitlines():
        names, colon, description = line.partition(" : ")
        if not colon:  # goes on with the entry before
            entries[-1] += f" {line.strip()}"
            continue
        links = (
            f'<autoref optional identifier="{full_name(name, described)}"><code>{name}</code>'
            "</autoref>"
            for name in map(str.strip, names.split(","))
        )
        entries.append(f"- {', '.join(links)}: {description}")
    return "\n".join(entries)


def full_name(name: str, described: griffe.Object) -> str:
    """Return the full name of what a docstring names: a member of it, or of what it is in."""
    scope: griffe.Object | None = described
    while scope is not None:
        if name.partition(".")[0] in scope.members:
            return f"{scope.path}.{name}"
        scope = scope.parent
    return name


def on_page_content(html: str, **_: Any) -> str:
    """Make links of the roles in docstrings, and let names in tables break at their dots."""
    html = _CELL.sub(lambda cell: cell[1] + re.sub(r"(?<=\w)\.", ".<wbr>", cell[2]), html)
    return _ROLE.sub(r'<autoref optional identifier="\1"><code>\1</code></autoref>', html)
