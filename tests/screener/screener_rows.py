"""How the rows of these tests are named, framed and summed up."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pyarrow as pa

NAMES = list("abcdef")
EXACT = {"epsilon": 0.001}  # the 600 rows are few enough for no error at all
FRAMES = {
    "pandas": lambda X, names=NAMES: pd.DataFrame(X, columns=names),
    "polars": lambda X, names=NAMES: pl.DataFrame(X, schema=names),
    "pyarrow": lambda X, names=NAMES: pa.table(dict(zip(names, X.T, strict=True))),
}
