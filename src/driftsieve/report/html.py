"""Reports as a single HTML file, without a network, a library or a server.

Names of features and classes are untrusted text. They are part of the page as data only, with
control codes and line ends escaped: JSON without any ``<``, shown in text nodes. In addition, the
content security policy of the page allows only its own script and style sheet, by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Mapping
from importlib.resources import files
from json.encoder import encode_basestring_ascii
from string import Template
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from driftsieve._text import printable
from driftsieve.report.data import finite

_SCRIPTS = ("dom", "charts", "overtime", "table", "detail", "memory", "page")
MAX_NAMES = 1_000_000
"""Largest size, in bytes, of the names of features that are only searched."""


def to_html(data: Mapping[str, Any]) -> str:
    """Return a report as an HTML page, to be written as UTF-8.

    Parameters
    ----------
    data : mapping
        The result of ``build`` or ``of_bank``.

    Returns
    -------
    str

    See Also
    --------
    write : Writes a report to a file.

    Examples
    --------
    >>> from driftsieve import Bank, report
    >>> bank = Bank().update([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0], [4.0, 5.0]], [0, 0, 1, 1])
    >>> report.to_html(report.of_bank(bank, title="Four rows")).startswith("<!doctype html>")
    True
    """
    page = files("driftsieve.report") / "page"
    style = (page / "style.css").read_text("utf-8")
    parts = [(page / f"{name}.js").read_text("utf-8") for name in _SCRIPTS]
    script = '"use strict";\n(() => {\n' + "\n".join(parts) + "})();\n"
    return Template((page / "page.html").read_text("utf-8")).substitute(
        title=_text(printable(data["title"])),
        style=style,
        style_hash=_hash(style),
        script=script,
        script_hash=_hash(script),
        data=_embed(_printable(_compact(data))),
    )


def _printable(value: Any) -> Any:
    """Escape control codes and line ends in all strings."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, Mapping):
        return {printable(key): _printable(v) for key, v in value.items()}
    return [_printable(v) for v in value] if isinstance(value, list | tuple) else value


def _text(text: str) -> str:
    return html.escape(text).encode("ascii", "xmlcharrefreplace").decode()


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _embed(data: Any) -> str:
    """Return JSON in ASCII without the characters that have a meaning in HTML."""
    return _without_markup(json.dumps(data, allow_nan=False, separators=(",", ":")))


def _without_markup(text: str) -> str:
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _compact(data: Mapping[str, Any]) -> dict[str, Any]:
    """Encode long columns as base64 of typed arrays, which takes a third of the size."""
    out = dict(data)
    out["parameters"] = finite(data["parameters"])
    out["features"] = _array(data["features"], "i4")
    out["scores"] = {key: _array(values, "f4") for key, values in data["scores"].items()}
    out["ranks"] = {key: _array(values, "i4") for key, values in data["ranks"].items()}
    with np.errstate(divide="ignore"):  # p = 0 becomes -inf; p-values below 1e-38 need logarithms
        out["log10p"] = {
            key: None if values is None else _array(np.log10(values), "f4")
            for key, values in data["pvalues"].items()
        }
    del out["pvalues"]
    out["others"] = _others(data["others"])
    out["distributions"] = [
        {
            "n_bins": group["n_bins"],
            "features": _array(group["features"], "i4"),
            "edges": _array(group["edges"], "f8"),
            "weights": _array(group["weights"], "f4"),
        }
        for group in data["distributions"]
    ]
    if data["history"]:
        past = data["history"]
        stability = {key: _array(value, "f4") for key, value in past["stability"].items()}
        out["history"] = past | {
            "positions": _array(past["positions"], "f8"),
            "scores": [_array(values, "f4") for values in past["scores"]],
            "ranks": [_array(values, "i4") for values in past["ranks"]],
            "events": [{**event, "score": None} for event in past["events"]],  # may be infinite
            "stability": stability,
            "memory_weights": [_array(values, "f4") for values in past["memory_weights"]],
        }
    return out


def _others(others: Mapping[str, Any]) -> dict[str, Any]:
    """Return names and scores of the features that are only searched, up to ``MAX_NAMES``."""
    room, n = MAX_NAMES, 0
    for name in others["names"]:
        room -= len(_without_markup(encode_basestring_ascii(printable(name)))) + 1
        if room < 0:
            break
        n += 1
    return {
        "features": _array(others["features"][:n], "i4"),
        "names": others["names"][:n],
        "scores": _array(others["scores"][:n], "f4"),
    }


def _array(values: ArrayLike, kind: str) -> dict[str, str]:
    with np.errstate(over="ignore"):  # a score that overflows f4 is drawn as infinite
        array = np.asarray(values, dtype="<" + kind)
    return {kind: base64.b64encode(array.tobytes()).decode()}
