"""Messages about the Java that is installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.java import find_java


def java(folder: Path, version: str) -> Path:
    """A JAVA_HOME folder with java of this version."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-04-15' >&2\n")
    program.chmod(0o755)
    return program


def test_java_home_has_priority_over_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, path = java(tmp_path / "home", "17.0.15"), java(tmp_path / "path", "21.0.1")
    monkeypatch.setenv("PATH", str(path.parent))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert find_java() == path
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    assert find_java() == home


@pytest.mark.parametrize(("version", "found"), [("1.8.0_402", "8"), ("11.0.2", "11"), ("?", "unk")])
def test_old_java_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, found: str
) -> None:
    java(tmp_path, version)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(RuntimeError, match=rf"Spark needs Java 17 or newer: .* is Java {found}"):
        find_java()


def test_missing_java_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(RuntimeError, match=r"Spark needs Java 17 or newer.*\(no java is on PATH\)"):
        find_java()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(RuntimeError, match=r"\(JAVA_HOME=.* has no bin/java\)"):
        find_java()
