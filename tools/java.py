"""Check of the Java installation that Spark needs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

OLDEST = 17


def find_java() -> Path:
    """Return the ``java`` of JAVA_HOME or PATH; raise RuntimeError if it is missing or too old.

    The error of Spark itself does not name the cause.
    """
    home = os.environ.get("JAVA_HOME")
    found = Path(home, "bin", "java") if home else shutil.which("java")
    advice = f"Spark needs Java {OLDEST} or newer: install it, or set JAVA_HOME"
    if found is None or not Path(found).is_file():
        where = f"JAVA_HOME={home} has no bin/java" if home else "no java is on PATH"
        raise RuntimeError(f"{advice} ({where}).")
    printed = subprocess.run(
        [found, "-version"], capture_output=True, text=True, check=False
    ).stderr
    version = re.search(r'version "(?:1\.)?(\d+)', printed)
    if version is None or int(version[1]) < OLDEST:
        raise RuntimeError(f"{advice} ({found} is Java {version[1] if version else 'unknown'}).")
    return Path(found)
