"""The site has all public names, and its build fails on a broken link."""

import re
import shutil
import subprocess
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

import driftsieve

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
REFERENCE = "\n".join(p.read_text("utf-8") for p in (ROOT / "docs" / "reference").glob("*.md"))


@pytest.mark.parametrize("name", sorted(set(driftsieve.__all__) - {"__version__"}))
def test_every_public_name_is_in_the_reference(name: str) -> None:
    errors = "::: driftsieve.exceptions" in REFERENCE and hasattr(driftsieve.exceptions, name)
    assert errors or re.search(rf"^::: driftsieve\.{name}\b", REFERENCE, re.MULTILINE)


def sections_with_pictures() -> list[tuple[Path, str, list[str]]]:
    """The folder of a page, the text of a section and its pictures."""
    found = []
    for path in PAGES:
        page = path.read_text("utf-8")
        text = re.sub(r"^<div.*?^</div>", "", page, flags=re.MULTILINE | re.DOTALL)
        for section in re.split(r"^## ", text, flags=re.MULTILINE):
            pictures = re.findall(r"!\[[^]]+\]\(([^)]+)\)", section)
            found += [(path.parent, section, pictures)] if pictures else []
    return found


def test_every_picture_exists_and_its_section_names_the_command_that_makes_it() -> None:
    found = sections_with_pictures()
    assert len(found) > 3
    for folder, section, pictures in found:
        assert all((folder / picture).is_file() for picture in pictures)
        assert re.search(r"\b(make [a-z-]+|driftsieve reproduce [a-z0-9-]+)", section)


def test_broken_link_fails_the_build(tmp_path: Path) -> None:
    pytest.importorskip("material")
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "index.md").write_text("# Home\n\n[away](index.md#nowhere)\n")
    text = (ROOT / "mkdocs.yml").read_text("utf-8")
    validation = text[text.index("validation:") :]
    (tmp_path / "mkdocs.yml").write_text(f"site_name: x\n{validation}")
    options = re.search(r"mkdocs build (.*?) 2>", (ROOT / "Makefile").read_text("utf-8"))[1]
    run = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", *options.split()],
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert run.returncode != 0
    assert "#nowhere" in run.stderr


def test_see_also_becomes_a_list_of_links() -> None:
    griffe = pytest.importorskip("griffe")
    from tools.reference import Signatures, on_page_content, see_also

    code = (
        "from x import z\n"
        "class A:\n"
        "    def f(self, k=3):\n"
        '        """Call :meth:`g`.\n\n        Parameters\n        ----------\n'
        "        k : int\n            Number.\n\n        See Also\n        --------\n"
        '        h : Other.\n        """\n'
        "    def g(self): pass\n"
        "def h(): pass\n"
    )
    g, h = (
        f'<autoref identifier="m.{name}"><code>{name[-1]}</code></autoref>' for name in ("A.g", "h")
    )
    with griffe.temporary_visited_module(code, module_name="m") as module:
        assert see_also(
            "g, h : Others,\n    both.\nx.Y : Elsewhere.\nz : Imported.", module["A.f"]
        ) == (
            f"- {g}, {h}: Others, both.\n"
            '- <autoref identifier="x.Y"><code>x.Y</code></autoref>: Elsewhere.\n'
            '- <autoref identifier="x.z"><code>z</code></autoref>: Imported.'
        )
    extensions = griffe.load_extensions(Signatures())
    with griffe.temporary_visited_package(
        "m", {"__init__.py": code}, extensions=extensions, docstring_parser="numpy"
    ) as package:
        text, parameters, also = package["A.f"].docstring.parsed
        assert text.value == f"Call {g}."
        assert parameters.value[0].value == "3"
        assert also.value.contents == f"- {h}: Other."
    assert on_page_content('<td><a href="a.b"><code>a.b</code></a></td> <code>c.d</code>') == (
        '<td><a href="a.b"><code>a.<wbr>b</code></a></td> <code>c.d</code>'
    )


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


def test_search_of_the_site_finds_the_terms_of_the_glossary(tmp_path: Path) -> None:
    pytest.importorskip("material")
    pytest.importorskip("mkdocstrings")
    sync_api = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium") or pytest.skip("no chromium on PATH")
    run = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path)))
    Thread(target=server.serve_forever, daemon=True).start()
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{server.server_port}/index.html")
        for term in ("half-life", "half_life", "quantile bin", "partial_fit"):
            page.fill(".md-search__input", term)
            page.locator(".md-search__input").press("End")
            found = page.locator(".md-search-result__meta:has-text('matching document')")
            page.wait_for_function(
                "() => /^\\d+ matching|^No matching/.test("
                "document.querySelector('.md-search-result__meta').textContent.trim())"
            )
            page.wait_for_timeout(500)  # the result of the term before is still there
            assert not found.inner_text().startswith("No "), term
        browser.close()
    server.shutdown()
    server.server_close()
