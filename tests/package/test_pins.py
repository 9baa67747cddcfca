"""All that CI installs is pinned in requirements/ci.txt, at a version pyproject.toml allows."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"]
INSTALLED = ["test", "lint", "docs", "fuzz", "dist", "cross", "bench"]
INSTALLED += ["files", "report", "river", "spark", "dask"]
BUILD = (ROOT / "requirements" / "build.in").read_text("utf-8").split()
PINS = {
    canonicalize_name(name): version
    for name, version in re.findall(
        r"^([\w.-]+)==([^ \\]+)",
        (ROOT / "requirements" / "ci.txt").read_text("utf-8"),
        re.MULTILINE,
    )
}


@pytest.mark.parametrize(
    "requirement",
    [
        *PROJECT["build-system"]["requires"],
        *PROJECT["project"]["dependencies"],
        *(
            one
            for extra in INSTALLED
            for one in EXTRAS[extra]
            if Requirement(one).name != "driftsieve"  # the extras that it includes are in the list
        ),
        *BUILD,
    ],
)
def test_requirement_is_pinned(requirement: str) -> None:
    wanted = Requirement(requirement)
    assert wanted.specifier.contains(PINS[canonicalize_name(wanted.name)])
