"""One Spark session for all tests of a process; skipped, with a reason, where there is no Java."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from driftsieve.distributed.java import find_java


@pytest.fixture(scope="session")
def spark_home() -> None:
    """Skip where Spark cannot run; else let its Python workers be this Python."""
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
