"""Results as data frames of each library."""

import sys
from typing import Any

import numpy as np
import pytest

from driftsieve._frames import frame_of


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_columns_keep_their_order_and_values(backend: Any) -> None:
    frame = frame_of({"rank": np.array([1, 2]), "name": ["b", "a"]}, backend, "ranking")
    assert type(frame).__module__.partition(".")[0] == backend
    names = frame.column_names if backend == "pyarrow" else list(frame.columns)
    assert names == ["rank", "name"]
    assert [str(name) for name in frame["name"]] == ["b", "a"]


def test_another_or_a_missing_library_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    unknown: Any = "modin"
    with pytest.raises(ValueError, match="must be one of pandas, polars, pyarrow, got 'modin'"):
        frame_of({}, unknown, "ranking")
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ModuleNotFoundError, match=r"ranking\(backend='polars'\) needs polars"):
        frame_of({}, "polars", "ranking")
