"""Fixtures shared by all tests."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tools.java import find_java

# The time of an example depends more on the machine than on the code.
settings.register_profile("driftsieve", deadline=None)
settings.load_profile("driftsieve")

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real data sets, which are not part of the project.

    It is the one DRIFTSIEVE_DATA names, or else a `shared/data` folder next to the checkout.
    """
    named = os.environ.get("DRIFTSIEVE_DATA")
    folder = Path(named) if named else ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"no data sets in {folder}: set DRIFTSIEVE_DATA to the folder that holds them")
    return folder


@pytest.fixture(scope="session")
def spark_home() -> None:
    """Skip if Spark cannot run; otherwise use this Python for its workers."""
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    try:
        find_java()
    except RuntimeError as problem:
        pytest.skip(str(problem))
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"


@pytest.fixture(scope="session")
def spark(spark_home: None) -> Iterator[Any]:  # noqa: ARG001
    """Spark in this machine's cores, with two Python workers."""
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.memory", "1g")
        .config("spark.sql.shuffle.partitions", 3)
        .config("spark.ui.enabled", "false")
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
