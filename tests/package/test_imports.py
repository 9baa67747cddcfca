"""Importing the package stays light: nothing optional, nothing of the command line."""

import subprocess
import sys

import driftsieve as ds

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


def test_import_loads_no_optional_package() -> None:
    program = (
        "import sys, driftsieve as ds\n"
        "assert ds.Bank and ds.Batch and ds.as_batches and ds.ScoreHistory and ds.evaluate\n"
        "assert ds.offline and ds.scores and ds.Snapshot and not hasattr(ds, 'limits')\n"
        "print(*sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    loaded = {name.partition(".")[0] for name in run.stdout.split()}
    assert {"driftsieve", "numpy"} <= loaded
    assert not loaded & HEAVY


# Modules that callers may import from; all others start with an underscore.
PUBLIC_MODULES = {
    "bank",
    "batch",
    "cli",
    "distributed",
    "evaluate",
    "exceptions",
    "history",
    "learners",
    "memory",
    "offline",
    "report",
    "reproduce",
    "river",
    "scores",
    "screener",
    "selection",
    "snapshot",
    "sources",
}


def test_the_package_exposes_only_public_names() -> None:
    program = (
        "import importlib, pkgutil, driftsieve as ds\n"
        "for found in pkgutil.iter_modules(ds.__path__):\n"
        "    if found.name != '__main__':\n"
        "        importlib.import_module(f'driftsieve.{found.name}')\n"
        "for name in ds.__all__:\n"
        "    getattr(ds, name)\n"
        "print(*(name for name in vars(ds) if not name.startswith('_')))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    names = {name for name in ds.__all__ if not name.startswith("_")}
    assert set(run.stdout.split()) == PUBLIC_MODULES | names
    assert dir(ds) == sorted(ds.__all__)
