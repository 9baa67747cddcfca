"""Workflow files for GitHub name targets of make and paths that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = [*ROOT.glob(".ci/run"), *sorted(ROOT.glob(".github/workflows/*.yml"))]
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))


def missing(text: str) -> list[str]:
    """The targets and paths in a text that do not exist."""
    targets = re.findall(r"^[^#\n]*\bmake ([a-z-]+)", text, re.MULTILINE)
    paths = re.findall(r"(?<!\w)(?<!\w/)(?:tests|\.ci|\.github)/[\w./-]+", text)
    return [t for t in targets if t not in TARGETS] + [p for p in paths if not (ROOT / p).exists()]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_targets_and_paths_of_workflows_exist(path: Path) -> None:
    assert missing(path.read_text("utf-8")) == []


def test_missing_targets_and_paths_are_found() -> None:
    text = "- run: make nothing\n- run: pytest tests/bank tests/none ./.github/none.yml\nmake test"
    assert missing(text) == ["nothing", "tests/none", ".github/none.yml"]
