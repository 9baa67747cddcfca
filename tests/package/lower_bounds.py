"""Run as a program: print the lowest versions that pyproject.toml allows, for pip to install.

python tests/package/lower_bounds.py          # of the dependencies
python tests/package/lower_bounds.py river    # and of the extra "river"
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.version import Version

PYPROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"


def lower_bounds(project: dict[str, Any], extras: Sequence[str] = ()) -> list[str]:
    """The dependencies of a ``[project]`` table and of its extras, each pinned to its lower bound.

    Where a package is required twice, the higher bound counts.
    """
    lowest: dict[str, Version] = {}
    extras_of: dict[str, set[str]] = {}
    for requirement in _requirements(project, project["dependencies"], extras):
        bounds = [Version(s.version) for s in requirement.specifier if s.operator in (">=", "==")]
        if not bounds:
            raise ValueError(f"{requirement.name} must have a lower bound, got {requirement}.")
        name = requirement.name
        lowest[name] = max(*bounds, lowest.get(name, bounds[0]))
        extras_of.setdefault(name, set()).update(requirement.extras)
    return [
        f"{name}[{','.join(sorted(extras_of[name]))}]=={version}".replace("[]", "")
        for name, version in lowest.items()
    ]


def _requirements(
    project: dict[str, Any], lines: Sequence[str], extras: Sequence[str]
) -> Iterator[Requirement]:
    """All requirements, those of extras that name other extras of the project included."""
    for extra in extras:
        yield from _requirements(project, project["optional-dependencies"][extra], ())
    for requirement in map(Requirement, lines):
        if requirement.name == project["name"]:
            yield from _requirements(project, (), sorted(requirement.extras))
        elif requirement.marker is None or requirement.marker.evaluate():
            yield requirement


if __name__ == "__main__":
    print(*lower_bounds(tomllib.loads(PYPROJECT.read_text())["project"], sys.argv[1:]), sep="\n")
