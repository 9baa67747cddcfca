"""Run as a program: follow a folder of files until killed.

The first time, a task kills it in the middle of a micro-batch.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from driftsieve.distributed.spark import screen_stream

SCHEMA = "a double, b double, c double, y string, t double, n bigint"
OPTIONS: dict[str, Any] = {
    "target": "y",
    "features": ["a", "b", "c"],
    "order": "n",
    "half_life": 70.0,
    "epsilon": 0.02,
    "block_size": 2,
}
LEARNED = OPTIONS | {"half_life": "auto"}


def start(spark: Any, files: str, out: str, task: Any = None, **options: Any) -> Any:
    """One file a micro-batch, through the task; rankings go to out/ranking."""
    stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(files)
    stream = stream if task is None else stream.mapInArrow(task, SCHEMA)
    return screen_stream(stream, checkpoint=f"{out}/check", sink=Path(out, "ranking"), **options)


def lethal(flag: Path, row: int) -> Callable[[Iterator[Any]], Iterator[Any]]:
    group = os.getpgrp()  # the driver and the JVM with all its threads

    def task(batches: Iterator[Any]) -> Iterator[Any]:
        for record in batches:
            if row in record["n"].to_pylist() and not flag.exists():
                flag.touch()
                os.killpg(group, signal.SIGKILL)
            yield record

    return task


def main(files: str, out: str, row: int, kind: str) -> None:
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .config("spark.sql.shuffle.partitions", 2)
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    options = LEARNED if kind == "learned" else OPTIONS
    start(spark, files, out, lethal(Path(out, "killed"), row), **options).awaitTermination()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
