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
    program = (
        "import sys, driftsieve as ds\n"
        "assert ds.Bank and ds.Batch and ds.as_batches and ds.ScoreHistory and ds.evaluate\n"
        "assert ds.offline and ds.scores and ds.Snapshot and ds.limits and not hasattr(ds, 'no')\n"
        "print(*sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    loaded = {name.partition(".")[0] for name in run.stdout.split()}
    assert {"driftsieve", "numpy"} <= loaded
    assert not loaded & HEAVY
