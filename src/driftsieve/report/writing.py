"""Reports as files: HTML, JSON or text, as the suffix says."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from driftsieve._storage.atomic import replacing
from driftsieve.report.data import to_json
from driftsieve.report.html import to_html
from driftsieve.report.text import to_text

WRITERS = {".html": to_html, ".json": to_json, ".txt": to_text}


def write(path: str | PathLike[str], content: Mapping[str, Any]) -> None:
    """Write a report that ``build`` or ``of_bank`` made, or replace it.

    Parameters
    ----------
    path : path
        The file, whose name ends in .html, .json or .txt.
    content : mapping
        The report.

    Raises
    ------
    ValueError
        If the name of the file ends in something else.
    """
    writer = WRITERS.get(Path(path).suffix.lower())
    if writer is None:
        raise ValueError(f"path must end in {', '.join(WRITERS)}, got {str(path)!r}.")
    data = writer(content).encode()
    with replacing(Path(path)) as file:
        file.write(data)
