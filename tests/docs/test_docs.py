"""Every Python example of the README and the docs runs, page by page, from the top.

Where a line of an example says `# -> value`, the example prints just those values.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# A block that cannot run here says why: <!-- no-run: needs a cluster -->
BLOCK = re.compile(
    r"(?P<skip>^<!-- no-run: \S.*-->\n+)?^```python\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL
)


def blocks(page: str) -> list[tuple[int, str]]:
    """Return the line number and the text of each block that is to run."""
    return [
        (page.count("\n", 0, block.start("code")), block["code"])
        for block in BLOCK.finditer(page)
        if block["skip"] is None
    ]


PAGES = [
    path
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    if blocks(path.read_text(encoding="utf-8"))
]


def test_the_examples_are_found() -> None:
    assert ROOT / "README.md" in PAGES
    assert len(PAGES) > 6


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")
@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_examples_run_and_print_the_stated_values(
    path: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "__main__"}
    for line, code in blocks(path.read_text(encoding="utf-8")):
        if "pyspark" in code:
            request.getfixturevalue("spark")  # or skip the rest of the page, without Java
        # Blank lines put the page's own line number into a traceback.
        exec(compile("\n" * line + code, str(path), "exec"), namespace)
        printed = capsys.readouterr().out.splitlines()
        if promised := re.findall(r"# -> (.*)", code):
            assert printed == promised, f"{path.name}, the block at line {line}"


def test_blocks_are_found_and_marked_ones_left_out() -> None:
    page = (
        "Text\n\n```python\na = 1\n```\n\n<!-- no-run: why -->\n```python\nb\n```\n```sh\nls\n```\n"
    )
    assert blocks(page) == [(3, "a = 1\n")]
