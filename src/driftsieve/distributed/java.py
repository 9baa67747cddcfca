"""The Java that Spark will run on."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

OLDEST = 17


def find_java() -> Path:
    """The ``java`` of JAVA_HOME or else of PATH; RuntimeError, in one sentence, if it will not do.

    Spark itself says only that its gateway has gone.
    """
    home = os.environ.get("JAVA_HOME")
    found = Path(home, "bin", "java") if home else shutil.which("java")
    advice = f"Spark needs Java {OLDEST} or newer: install it, or point JAVA_HOME at it"
    if found is None or not Path(found).is_file():
        where = f"JAVA_HOME={home} holds no bin/java" if home else "no java is on PATH"
        raise RuntimeError(f"{advice} ({where}).")
    told = subprocess.run([found, "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(?:1\.)?(\d+)', told)
    if version is None or int(version[1]) < OLDEST:
        raise RuntimeError(f"{advice} ({found} is Java {version[1] if version else 'unknown'}).")
    return Path(found)
