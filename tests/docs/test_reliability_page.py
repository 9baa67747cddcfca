"""Every row of docs/reliability.md names a test, and the test is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reliability.md").read_text()
TESTS = "\n".join(path.read_text() for path in ROOT.joinpath("tests").rglob("test_*.py"))


def rows() -> list[tuple[str, str]]:
    """The tested statement and the cell that names its test, of all tables with such a column."""
    found, column = [], None
    for line in PAGE.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|"):
            column = None
        elif "shown by" in cells:
            column = cells.index("shown by")
        elif column is not None and set(line) - set("|- "):
            found.append((cells[0], cells[column]))
    return found


def exists(name: str) -> bool:
    if name.startswith("make "):
        return re.search(rf"^{name[5:]}:", (ROOT / "Makefile").read_text(), re.M) is not None
    if name.startswith("test_") and not name.endswith(".py"):
        return f"def {name}(" in TESTS
    return any((folder / name).is_file() for folder in (ROOT, ROOT / "tests" / "hardening"))


def test_the_tables_are_found() -> None:
    assert len(rows()) > 45


@pytest.mark.parametrize(("what", "shown_by"), rows())
def test_each_row_names_an_existing_test(what: str, shown_by: str) -> None:
    names = re.findall(r"`([^`]+)`", shown_by)
    assert names, what
    for name in names:
        assert exists(name), name


def test_missing_test_is_detected() -> None:
    assert not exists("test_nothing.py")
    assert not exists("test_nothing")
    assert not exists("make nothing")
