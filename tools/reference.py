"""Griffe extension and MkDocs hooks: parameters, links and tables of the API reference."""

from __future__ import annotations

import re
from itertools import groupby
from typing import Any

import griffe

_ROLE = re.compile(r":(?:class|meth|func|attr|mod|exc|data):`~?([\w.]+)`")
_CELL = re.compile(r"(<td>(?:<a [^>]*>)?<code>)([\w.]+)(?=</code>)")


class Signatures(griffe.Extension):
    """Takes defaults from signatures, keeps parameters together, and links what is named."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Correct a docstring, now that all names are known."""
        if obj.docstring is None:
            return
        obj.docstring.value = _ROLE.sub(lambda role: link(role[1], obj), obj.docstring.value)
        for section in obj.docstring.parsed:
            if section.kind is griffe.DocstringSectionKind.parameters:
                section.value = [
                    _together(list(same), obj)
                    for _, same in groupby(section.value, key=lambda one: one.description)
                ]
            elif section.title == "See Also":
                section.value.contents = see_also(section.value.contents, obj)


def _together(same: list[Any], described: griffe.Object) -> Any:
    first = same[0]
    if len(same) > 1:
        first.name = ", ".join(one.name for one in same)
        first.annotation = first.value = None
        return first
    if str(first.annotation).startswith("('"):
        first.annotation = f"one of {str(first.annotation)[1:-1]}"
    signature = described.parameters if described.is_function or described.is_class else {}
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
        links = (link(name.strip(), described) for name in names.split(","))
        entries.append(f"- {', '.join(links)}: {description}")
    return "\n".join(entries)


def link(name: str, described: griffe.Object) -> str:
    """Return a link to what a docstring names."""
    return f'<autoref identifier="{full_name(name, described)}"><code>{name}</code></autoref>'


def full_name(name: str, described: griffe.Object) -> str:
    """Return the full name of what a docstring names: a member of it, or of what it is in."""
    first, dot, rest = name.partition(".")
    scope: griffe.Object | None = described
    while scope is not None:
        if found := scope.members.get(first):
            return f"{found.target_path if found.is_alias else found.path}{dot}{rest}"
        scope = scope.parent
    return name


def on_page_content(html: str, **_: Any) -> str:
    """Let names in tables break at their dots."""
    return _CELL.sub(lambda cell: cell[1] + re.sub(r"(?<=\w)\.", ".<wbr>", cell[2]), html)
