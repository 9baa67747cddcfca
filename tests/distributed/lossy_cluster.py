"""Run as a program: screen on separate executors, one of which is killed; print the scores.

A process has one Spark context, so this one cannot share that of the other tests.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
from engine_rows import rows

from driftsieve.distributed.spark import screen


def main(flag: str) -> None:
    from pyspark.sql import SparkSession

    def kill_executor(batches: Iterator[Any]) -> Iterator[Any]:
        """Partition 4 kills its executor, and with it the banks of earlier partitions."""
        from pyspark import TaskContext

        context = TaskContext.get()
        if context is not None and context.partitionId() == 4 and not Path(flag).exists():
            Path(flag).touch()
            jvm = next(p for p in psutil.Process().parents() if "java" in p.name())
            os.kill(jvm.pid, signal.SIGKILL)
        yield from batches

    lean = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    spark = (
        SparkSession.builder.master("local-cluster[2,1,512]")
        .config("spark.driver.extraJavaOptions", lean)
        .config("spark.executor.extraJavaOptions", lean)
        .config("spark.executor.memory", "512m")
        .config("spark.sql.shuffle.partitions", 2)
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    data = rows(0)
    tuples = [(*x, y) for x, y in zip(data.X.tolist(), data.y.tolist(), strict=True)]
    names = [f"x{j}" for j in range(8)]
    df = spark.createDataFrame(tuples, [*names, "y"]).repartition(6)
    lossy = df.mapInArrow(kill_executor, df.schema)
    ranking = screen(lossy, target="y", features=names, epsilon=0.001, block_size=3)
    print(json.dumps(ranking.toArrow().to_pydict()))
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
