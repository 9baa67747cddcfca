"""MkDocs hook: makes a page and a notebook of each script in examples/ with ``# %%`` cells."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
_MARK = re.compile(r"^# %%(?P<kind> \[markdown\])?\n", re.MULTILINE)


def scripts() -> list[Path]:
    """Return the examples that have cells."""
    return [
        p for p in sorted((ROOT / "examples").glob("*.py")) if _MARK.match(p.read_text("utf-8"))
    ]


def cells(text: str) -> list[tuple[str, str]]:
    r"""Return the kind and the content of each cell, as jupytext's percent format defines them.

    >>> cells("# %% [markdown]\n# # Title\n#\n# Text\n\n# %%\nx = 1\n")
    [('markdown', '# Title\n\nText'), ('code', 'x = 1')]
    """
    found = []
    starts = list(_MARK.finditer(text))
    for mark, following in zip(starts, [*starts[1:], None], strict=True):
        body = text[mark.end() : following.start() if following else None].strip()
        if mark["kind"]:
            body = re.sub(r"^# ?", "", body, flags=re.MULTILINE)
        found.append(("markdown" if mark["kind"] else "code", body))
    return found


def notebook(text: str) -> str:
    """Return a notebook with the cells, without outputs."""
    made = []
    for i, (kind, body) in enumerate(cells(text)):
        cell: dict[str, Any] = {"cell_type": kind, "id": f"cell-{i}", "metadata": {}}
        cell["source"] = body.splitlines(keepends=True)
        if kind == "code":
            cell |= {"execution_count": None, "outputs": []}
        made.append(cell)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    book = {"cells": made, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(book, indent=1)


def page(name: str, text: str) -> str:
    """Return the example as Markdown: its cells, its figure and where to get it."""
    parts = [
        body if kind == "markdown" else f"```python\n{body}\n```" for kind, body in cells(text)
    ]
    get = (
        f"Get it as a [script]({name}.py) or as a [notebook]({name}.ipynb); "
        "[the gallery](index.md) says what to install. "
        f"The figure is made by `make gallery`, which runs `python examples/{name}.py`.\n"
        "Comments with `# ->` are what the lines print; a test holds them."
    )
    figure = f"![The figure of this example](../images/gallery/{name}.svg)"
    return "\n\n".join([parts[0], figure, *parts[1:], get]) + "\n"


def on_files(files: Any, config: Any) -> Any:
    """Add the pages, notebooks and scripts to the site."""
    from mkdocs.structure.files import File

    for path in scripts():
        text, name = path.read_text("utf-8"), path.stem
        made = {".md": page(name, text), ".ipynb": notebook(text), ".py": text}
        for suffix, content in made.items():
            files.append(File.generated(config, f"gallery/{name}{suffix}", content=content))
    return files
