"""Makes the picture of a report: the second command of the README, in a browser."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[1]


def main(picture: str) -> None:
    """Run the commands of the README and save the page they make as a picture."""
    text = (ROOT / "README.md").read_text("utf-8").replace("\\\n", " ")
    driftsieve = Path(sys.executable).with_name("driftsieve")
    with tempfile.TemporaryDirectory() as folder:
        for command in re.findall(r"^\$ driftsieve (.*)$", text, re.MULTILINE):
            subprocess.run([driftsieve, *shlex.split(command)], cwd=folder, check=True)
        with sync_playwright() as playwright:
            path = os.environ.get("CHROMIUM") or shutil.which("chromium")
            browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1280, "height": 1000})
            page.goto((Path(folder) / "report.html").as_uri())
            page.screenshot(path=picture)
            browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
