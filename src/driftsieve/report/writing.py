"""Reports as files: HTML, JSON or text, depending on the suffix."""

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
    """Write a report to a file, which is replaced if it exists.

    Parameters
    ----------
    path : path
        The file, with the suffix .html, .json or .txt.
    content : mapping
        The result of ``build`` or ``of_bank``.

    Raises
    ------
    ValueError
        If the file has another suffix.

    See Also
    --------
    to_html, to_json, to_text : Return the same as a string.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from driftsieve import Bank, report
    >>> bank = Bank().update([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0], [4.0, 5.0]], [0, 0, 1, 1])
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "report.html"
    ...     report.write(path, report.of_bank(bank))
    ...     path.exists()
    True
    """
    writer = WRITERS.get(Path(path).suffix.lower())
    if writer is None:
        raise ValueError(f"path must end in {', '.join(WRITERS)}, got {str(path)!r}.")
    data = writer(content).encode()
    with replacing(Path(path)) as file:
        file.write(data)
