"""Results as data frames of the library that the caller chooses."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Literal, get_args

import narwhals.stable.v1 as nw

Backend = Literal["pandas", "polars", "pyarrow"]


def frame_of(columns: Mapping[str, Any], backend: Backend, caller: str) -> Any:
    """Return the columns as a data frame; raise ModuleNotFoundError if the library is missing.

    >>> frame_of({"rank": [1, 2], "name": ["x3", "x0"]}, "pandas", "ranking")
       rank name
    0     1   x3
    1     2   x0
    """
    if backend not in get_args(Backend):
        raise ValueError(f"backend must be one of {', '.join(get_args(Backend))}, got {backend!r}.")
    try:
        import_module(backend)
    except ModuleNotFoundError as error:
        message = f"{caller}(backend={backend!r}) needs {backend}: pip install {backend}"
        raise ModuleNotFoundError(message) from error
    return nw.from_dict(columns, backend=backend).to_native()
