"""Run as a program: follow a folder of files until killed."""

from __future__ import annotations

import sys
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


def start(spark: Any, files: str, out: str, **options: Any) -> Any:
    """One file a micro-batch; rankings go to out/ranking."""
    stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(files)
    return screen_stream(stream, checkpoint=f"{out}/check", sink=f"{out}/ranking", **options)


def main(files: str, out: str) -> None:
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .config("spark.sql.shuffle.partitions", 2)
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    start(spark, files, out, **OPTIONS).awaitTermination()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
