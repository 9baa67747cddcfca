"""Spark: ours, approxQuantile with counts, and spark.ml's selector: ``python -m benchmarks.spark``.

Processor times are those of the driver, the JVM and the Python workers together.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import machine, page, share, table
from benchmarks.estimate import estimate
from benchmarks.harness import Cost, Goal, Row, Task, Work, run
from driftsieve.distributed.spark import screen
from driftsieve.distributed.spark_rows import SparkRoles
from tools.java import find_java

EPSILON = 0.01
FINE = 0.001
NON_ZEROS = 115  # a row
PARTITIONS = 4


def session(cores: int) -> Any:
    """A Spark session on so many cores of this machine; stops one with another number first."""
    find_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None and active.sparkContext.master != f"local[{cores}]":
        active.stop()
    settings = {
        "spark.driver.memory": "6g",
        "spark.sql.shuffle.partitions": PARTITIONS,
        "spark.ui.port": 0,
        "spark.ui.showConsoleProgress": False,
    }
    spark = SparkSession.builder.master(f"local[{cores}]").config(map=settings).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def dense_frame(spark: Any, n: int, p: int) -> Any:
    """Normal columns x0, x1, ..., of which every other one depends on the class y; in memory."""
    from pyspark.sql import functions as F  # noqa: N812 - the usual alias

    rows = spark.range(n, numPartitions=PARTITIONS).select((F.rand(0) < 0.5).cast("int").alias("y"))
    columns = [F.expr(f"randn({j}) + y * {j % 2} / 10D").alias(f"x{j}") for j in range(p)]
    return in_memory(rows.select("y", *columns))


def sparse_frame(spark: Any, n: int, p: int) -> Any:
    """Sparse vectors, nine features of ten flags, low ones more common; in memory."""

    def row(i: int) -> tuple[int, Any]:
        from pyspark.ml.linalg import Vectors

        rng = np.random.default_rng(i)
        indices = np.unique((p * rng.random(NON_ZEROS) ** 2).astype(int))
        values = np.where(indices % 10 > 0, 1.0, rng.lognormal(size=len(indices)))
        return int(rng.integers(2)), Vectors.sparse(p, indices, values)

    return in_memory(spark.sparkContext.range(n, numSlices=PARTITIONS).map(row).toDF(["y", "v"]))


def in_memory(df: Any) -> Any:
    df = df.cache()
    df.count()
    return df


def approx_quantile_and_counts(df: Any, epsilon: float, n_bins: int = 5) -> Any:
    """Edges of the bins, then the class counts of each: the fastest of four ways tried."""
    features = df.columns[1:]
    wanted = (np.arange(1, n_bins) / n_bins).tolist()
    edges = df.approxQuantile(features, wanted, epsilon)
    bins = (
        f"{j}, {' + '.join(f'int({name} > {edge!r}D)' for edge in mine)}"
        for j, (name, mine) in enumerate(zip(features, edges, strict=True))
    )
    counted = df.selectExpr("y", f"stack({len(features)}, {', '.join(bins)}) AS (feature, bin)")
    return counted.groupBy("feature", "bin", "y").count().collect()


def selector(vectors: Any) -> Any:
    from pyspark.ml.feature import UnivariateFeatureSelector

    kinds = {"featuresCol": "v", "labelCol": "y", "selectionMode": "numTopFeatures"}
    chosen = UnivariateFeatureSelector(**kinds).setFeatureType("continuous")
    return chosen.setLabelType("categorical").setSelectionThreshold(10).fit(vectors)


def total() -> Cost:
    """Processor time of this process and all that it has started."""
    import psutil

    me, cpu = psutil.Process(), 0.0
    for process in (me, *me.children(recursive=True)):
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        cpu += times.user + times.system
    return Cost(time.perf_counter(), cpu)


def timed(work: Callable[[], Any]) -> Cost:
    begin = total()
    work()
    return total() - begin


def drain(batches: Iterator[Any]) -> Iterator[Any]:
    for _ in batches:
        yield from ()


def transfer(df: Any, roles: SparkRoles) -> None:
    """The work that ``screen`` makes Spark do before any row is counted."""
    with roles.batches(df):
        roles.select(df).mapInArrow(drain, "n bigint").collect()


def dense(quick: bool) -> Work:
    from pyspark.ml.feature import VectorAssembler

    n, some, p = (2000, 500, 6) if quick else (1_600_000, 200_000, 100)
    spark = session(1)
    df = dense_frame(spark, n, p)
    features = df.columns[1:]
    assembler = VectorAssembler(inputCols=features, outputCol="v")
    fewer = dense_frame(spark, some, p)  # some take long
    vectors = in_memory(assembler.transform(fewer).select("y", "v"))
    fine = f"at ε = {FINE}"
    ours = partial(screen, df, target="y", epsilon=EPSILON)
    by_vector = partial(screen, vectors, target="y", features="v", epsilon=EPSILON)
    works: dict[str, tuple[Callable[[], Any], int]] = {
        "mutual_info": (ours, n),
        "approxQuantile + counts": (lambda: approx_quantile_and_counts(df, EPSILON), n),
        f"mutual_info {fine}": (partial(screen, fewer, target="y", epsilon=FINE), some),
        f"approxQuantile + counts {fine}": (lambda: approx_quantile_and_counts(fewer, FINE), some),
        "rows to the workers": (lambda: transfer(df, SparkRoles.of(df, "y", features)), n),
        "mutual_info of vectors": (by_vector, some),
        "fisher of vectors": (partial(by_vector, score_func="fisher"), some),
        "UnivariateFeatureSelector": (lambda: selector(vectors), some),
    }
    tasks = {name: Task(partial(timed, work), rows * p) for name, (work, rows) in works.items()}
    goals = (
        Goal("mutual_info", "approxQuantile + counts", at_least=20),
        Goal(f"mutual_info {fine}", f"approxQuantile + counts {fine}"),  # a call weighs more here
        Goal("rows to the workers", "mutual_info"),
        Goal("mutual_info of vectors", "approxQuantile + counts"),
        Goal("fisher of vectors", "UnivariateFeatureSelector"),
    )

    def facts() -> list[Row]:
        few = dense_frame(spark, 100, p)
        calls = (timed(lambda: screen(few, target="y", epsilon=EPSILON)).wall for _ in range(5))
        alone = Row("Spark, dense: a call on 100 rows", statistics.median(calls), "s")
        return [alone, *shuffled("Spark, dense", ours, p)]

    return Work("Spark, dense", tasks, goals, facts=facts)


def sparse(quick: bool) -> Work:
    n, p = (200, 1000) if quick else (80_000, 500_000)
    spark = session(1)
    spark.catalog.clearCache()
    df = sparse_frame(spark, n, p)
    ours = partial(screen, df, target="y", features="v", epsilon=EPSILON)
    roles = SparkRoles.of(df, "y", "v")
    tasks = {
        "mutual_info": Task(lambda: timed(ours), n * NON_ZEROS),
        "rows to the workers": Task(lambda: timed(lambda: transfer(df, roles)), n * NON_ZEROS),
    }
    goals = (Goal("rows to the workers", "mutual_info"),)
    facts = partial(shuffled, "Spark, sparse", ours, p)
    return Work("Spark, sparse", tasks, goals, "ns/non-zero", facts=facts)


def workers(quick: bool) -> Work:
    n, p = (2000, 6) if quick else (400_000, 100)

    def on(cores: int) -> Cost:
        df = dense_frame(session(cores), n, p)
        screen(df, target="y", epsilon=EPSILON)  # starts the workers
        cost = timed(lambda: screen(df, target="y", epsilon=EPSILON))
        df.unpersist(blocking=True)
        return cost

    tasks = {
        "two workers": Task(lambda: on(2), n * p, threads=2),
        "one worker": Task(lambda: on(1), n * p),
    }
    return Work("Spark, dense", tasks, (Goal("two workers", "one worker", wall=True),))


def shuffled(name: str, ours: Callable[[], Any], p: int) -> list[Row]:
    """Bytes that went through the shuffle according to Spark, per feature and partition's bank."""
    before = {stage["stageId"] for stage in stages()}
    ours()
    new = [stage for stage in stages() if stage["stageId"] not in before]
    written = sum(stage["shuffleWriteBytes"] for stage in new)
    return [
        Row(f"{name}: shuffled", written / p, "bytes/feature"),
        Row(f"{name}: one bank, shuffled", written / p / PARTITIONS, "bytes/feature"),
    ]


def stages() -> list[dict[str, Any]]:
    """Spark's own measurements of its stages."""
    context = session(1).sparkContext
    url = f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}/stages"
    with urllib.request.urlopen(url) as answer:
        found: list[dict[str, Any]] = json.load(answer)
    return found


GROUPS = {"dense": dense, "sparse": sparse, "workers": workers, "share": share.work}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="medians are over this many")
    parser.add_argument("--quick", action="store_true", help="tiny data: shows that all of it runs")
    parser.add_argument("--cpu-time", action="store_true", help="processor time, not for workers")
    parser.add_argument("--only", nargs="+", choices=GROUPS, default=list(GROUPS), help="groups")
    parser.add_argument("--json", type=Path, default=Path("build/bench-spark.json"))
    parser.add_argument("--page", type=Path, help="docs/distributed.md, to put the figures into")
    options = parser.parse_args()
    about = machine.describe()
    found: list[Row] = []
    for name in options.only:
        print(f"measuring {name}", file=sys.stderr, flush=True)
        found += run(GROUPS[name](options.quick), options.rounds, options.cpu_time)
    clock = "processor time; of workers, wall" if options.cpu_time else "wall time"
    print(*(f"{key}: {value}" for key, value in about.items()), f"clock: {clock}", sep="\n")
    print(f"\n{table.as_text(found)}\n\n{table.summary(found)}")
    settings = {"clock": clock, "rounds": options.rounds, "quick": options.quick}
    table.write_json(options.json, found, machine=about, **settings)
    if options.page:
        text = options.page.read_text(encoding="utf-8")
        text = page.fill(text, "spark", page.goals(options.json))
        text = page.fill(text, "estimate", estimate(found))
        options.page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
