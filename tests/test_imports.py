"""Importing the package stays light: nothing optional, nothing of the command line."""

import subprocess
import sys

HEAVY = {
    "altair",
    "dask",
    "distributed",
    "pandas",
    "polars",
    "pyarrow",
    "pyspark",
    "rich",
    "river",
    "typer",
}


def test_import_brings_in_nothing_optional() -> None:
    program = "import sys, driftsieve; print(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    loaded = {name.partition(".")[0] for name in run.stdout.split()}
    assert "driftsieve" in loaded
    assert not loaded & HEAVY
