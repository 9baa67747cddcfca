"""The transcripts of the README and the docs are correct: each command prints this output.

``...`` stands for anything within a line.
"""

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from .helpers import DRIFTSIEVE

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)


def transcript(page: str) -> list[tuple[str, str]]:
    """The commands of a page and what each prints, from the top."""
    blocks = BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))
    return [found for block in blocks for found in COMMAND.findall(block)]


@pytest.mark.parametrize("page", ["README.md", "docs/cli.md"])
def test_every_command_prints_the_transcript_of_the_page(page, folder):
    commands = transcript(page)
    assert commands
    for command, shown in commands:
        words = shlex.split(command.replace("\\\n", " "))
        assert words.pop(0) == "driftsieve"
        run = subprocess.run(
            [DRIFTSIEVE, *words], cwd=folder, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        lines = (re.escape(line).replace(r"\.\.\.", ".*") for line in shown.splitlines())
        assert re.fullmatch("\n".join(lines) + "\n", run.stdout), f"{command}\n{run.stdout}"


def test_transcripts_are_parsed():
    assert transcript("README.md")[0] == (
        "driftsieve demo --save sensors.csv", "Written: sensors.csv\n"
    )  # fmt: skip
    assert "\\\n" in transcript("README.md")[1][0]
