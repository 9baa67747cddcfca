"""The lower bounds of pyproject.toml as pip is to install them."""

from __future__ import annotations

import subprocess
import sys
import tomllib

import pytest
from lower_bounds import PYPROJECT, lower_bounds

PROJECT = {
    "name": "sieve",
    "dependencies": ["numpy>=1.26,<3", "scipy>=1.12"],
    "optional-dependencies": {
        "frames": ["dask[array]>=2024.8", "scipy>=1.14.1", "numpy>=1"],
        "more": ["sieve[frames]", "dask[dataframe]>=2024.8", "tomli>=1; python_version < '3'"],
        "free": ["polars"],
    },
}


def test_each_package_has_its_highest_lower_bound() -> None:
    assert lower_bounds(PROJECT) == ["numpy==1.26", "scipy==1.12"]
    found = lower_bounds(PROJECT, ["more"])
    assert sorted(found) == ["dask[array,dataframe]==2024.8", "numpy==1.26", "scipy==1.14.1"]


def test_requirement_without_a_lower_bound_is_an_error() -> None:
    with pytest.raises(ValueError, match="polars must have a lower bound, got polars"):
        lower_bounds(PROJECT, ["free"])


def test_every_requirement_of_the_project_has_a_lower_bound() -> None:
    project = tomllib.loads(PYPROJECT.read_text())["project"]
    extras = list(project["optional-dependencies"])
    run = [sys.executable, PYPROJECT.parent / "tests" / "package" / "lower_bounds.py", *extras]
    printed = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    assert printed.splitlines() == lower_bounds(project, extras)
    names = {line.split("==")[0] for line in printed.splitlines()}
    assert {"numpy", "narwhals", "river", "pyspark", "altair"} <= names
