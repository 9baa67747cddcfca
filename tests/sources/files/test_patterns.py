"""Which files a name, a list of names or a pattern means."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from source_helpers import write

from driftsieve.exceptions import SourceError
from driftsieve.sources import as_batches


def labels(source: Any) -> list[int]:
    return [int(label) for batch in as_batches(source) for label in batch.y]


def test_names_lists_and_patterns(tmp_path: Path) -> None:
    for day in (3, 1, 2):
        write(tmp_path / f"day{day}.svm", f"{day} 1:1\n")
    assert labels(str(tmp_path / "day*.svm")) == [1, 2, 3]
    assert labels(tmp_path / "day[23].svm") == [2, 3]
    assert labels([tmp_path / "day3.svm", str(tmp_path / "day[12].svm")]) == [3, 1, 2]
    assert labels((tmp_path / "day2.svm",)) == [2]
    assert as_batches(tmp_path / "day*.svm").files == tuple(
        str(tmp_path / f"day{day}.svm") for day in (1, 2, 3)
    )


@pytest.mark.parametrize(
    ("pattern", "shown"),
    [
        ("*.svm", [1]),
        ("?b.svm", []),
        ("[.]b.svm", []),
        (".*.svm", [2]),
        (".b*", [2]),
        ("**/*.svm", [1, 3]),
        ("*/*.svm", [3]),
        (".d/*.svm", [5]),
        (".d/.*.svm", [6]),
        (".*/*.svm", [5]),
        ("*/.*.svm", [4]),
        ("d/../*.svm", [1]),
        ("./*.svm", [1]),
    ],
)
def test_patterns_mean_hidden_files_only_where_they_say_so(
    pattern: str, shown: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("d", ".d"):
        (tmp_path / folder).mkdir()
    names = ["a.svm", ".b.svm", "d/a.svm", "d/.b.svm", ".d/a.svm", ".d/.b.svm"]
    for label, name in enumerate(names, start=1):
        write(tmp_path / name, f"{label} 1:1\n")
    monkeypatch.chdir(tmp_path)
    for source in (pattern, str(tmp_path / pattern)):
        if shown:
            assert labels(source) == shown
        else:
            with pytest.raises(SourceError, match=r"at least one file, got none\.$"):
                as_batches(source)


def test_relative_patterns_and_names_like_patterns_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "day[1].svm", "7 1:1\n")
    (tmp_path / "sub").mkdir()
    write(tmp_path / "sub" / "a.svm", "8 1:1\n")
    assert labels("day[1].svm") == [7]
    assert labels("*/a.svm") == [8]
    assert labels("**/*.svm") == [7, 8]
