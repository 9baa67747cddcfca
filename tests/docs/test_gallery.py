"""The examples of the gallery run, print the stated output, and become pages and notebooks."""

import json
import re
from pathlib import Path

import pytest

from tools import gallery

ROOT = Path(__file__).resolve().parents[2]
NAMES = [path.stem for path in gallery.scripts()]


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")
@pytest.mark.parametrize("path", gallery.scripts(), ids=lambda path: path.stem)
def test_example_prints_its_documented_output_and_saves_its_figure(
    path: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> None:
    code = path.read_text("utf-8")
    if "pyspark" in code:
        request.getfixturevalue("spark")  # or skip, without Java
    monkeypatch.chdir(tmp_path)
    exec(compile(code, str(path), "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out.splitlines() == re.findall(r"# -> (.*)", code)
    assert (tmp_path / f"{path.stem}.svg").read_text("utf-8").startswith("<svg")


def test_gallery_has_a_figure_and_a_card_for_each_example() -> None:
    index = (ROOT / "docs" / "gallery" / "index.md").read_text("utf-8")
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert len(NAMES) >= 6
    for name in NAMES:
        assert f"]({name}.md)" in index
        assert (ROOT / "docs" / "images" / "gallery" / f"{name}.svg").is_file()
        assert name in re.search(r"^GALLERY \?= (.*)$", makefile, re.MULTILINE)[1].split()


@pytest.mark.parametrize("path", gallery.scripts(), ids=lambda path: path.stem)
def test_notebook_has_all_lines_of_the_script(path: Path) -> None:
    text = path.read_text("utf-8")
    lines = []
    for cell in json.loads(gallery.notebook(text))["cells"]:
        source = "".join(cell["source"]).splitlines()
        if cell["cell_type"] == "markdown":
            lines += ["# %% [markdown]", *(f"# {line}".rstrip() for line in source)]
        else:
            lines += ["# %%", *source]
    assert [line for line in lines if line] == [line for line in text.splitlines() if line]


def test_page_shows_code_text_and_figure() -> None:
    page = gallery.page("x", "# %% [markdown]\n# # Title\n\n# %%\nprint(1)\n")
    assert page.startswith("# Title\n")
    assert "```python\nprint(1)\n```" in page
    assert "](../images/gallery/x.svg)" in page
