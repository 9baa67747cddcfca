"""Files that are named twice are read once."""

from __future__ import annotations

from pathlib import Path

import pytest
from source_helpers import labels, write

from driftsieve.exceptions import SourceWarning


@pytest.mark.parametrize("other", ["a.csv", "*.csv", "./a.csv", "link.csv", "sub/../a.csv"])
def test_file_named_twice_is_read_once(
    other: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a.csv", "x,y\n1,0\n2,1\n")
    write(tmp_path / "b.csv", "x,y\n3,2\n")
    (tmp_path / "sub").mkdir()
    if other == "link.csv":
        (tmp_path / "link.csv").symlink_to("a.csv")
    with pytest.warns(
        SourceWarning, match=r"^a.csv is given twice(, also as .*)?. It is read once."
    ):
        read = labels(["a.csv", other], target="y")
    assert read == ([0, 1, 2] if other == "*.csv" else [0, 1])


def test_files_of_equal_content_are_both_read(tmp_path: Path) -> None:
    paths = [write(tmp_path / name, "x,y\n1,0\n2,1\n") for name in ("a.csv", "b.csv")]
    assert labels(paths, target="y") == [0, 1, 0, 1]
