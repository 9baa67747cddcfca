"""Static Spark DataFrames, on two Python workers."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from engine_rows import Rows, assert_scores, assert_within_epsilon, chunks, rows
from numpy.testing import assert_array_equal
from scipy import sparse

import driftsieve as ds
from driftsieve.distributed.plan import Plan
from driftsieve.distributed.spark import screen
from driftsieve.distributed.spark_blocks import pieces
from driftsieve.distributed.spark_rows import BATCH_ROWS, BATCH_VALUES, SparkRoles
from driftsieve.scores import SCORES

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")

NAMES = ["a", "b.c", "d e", "f`g", "h", "i", "j", "k"]


def frame(spark: Any, data: Rows, row_chunks: tuple[int, ...] = (400,)) -> Any:
    """One column a feature, and y, w, t, n; partitioned into these chunks."""
    columns = [data.X.tolist(), data.y.tolist(), data.weight.tolist(), data.time.tolist()]
    tuples = [(*x, y, w, t, i) for i, (x, y, w, t) in enumerate(zip(*columns, strict=True))]
    return partitioned(spark, tuples, [*NAMES, "y", "w", "t", "n"], row_chunks)


def partitioned(spark: Any, tuples: list[Any], names: list[str], row_chunks: Any) -> Any:
    ends = np.cumsum(row_chunks)
    parts = [tuples[end - size : end] for size, end in zip(row_chunks, ends, strict=True)]
    rdd = spark.sparkContext.parallelize(parts, len(parts)).flatMap(list)
    return spark.createDataFrame(rdd, schema=spark.createDataFrame(tuples[:1], names).schema)


def vectors(spark: Any, data: Rows, row_chunks: tuple[int, ...], kinds: str) -> Any:
    """A column of vectors, null where all values are NaN."""
    from pyspark.ml.linalg import Vectors

    def vector(i: int, x: Any) -> Any:
        if np.isnan(x).all():
            return None
        kind = kinds[i % len(kinds)]
        if kind == "d":
            return Vectors.dense(x)
        at = np.flatnonzero(x)
        return Vectors.sparse(len(x), at, x[at])

    columns = [data.X, data.y.tolist(), data.time.tolist()]
    tuples = [(vector(i, x), y, t, i) for i, (x, y, t) in enumerate(zip(*columns, strict=True))]
    return partitioned(spark, tuples, ["v", "y", "t", "n"], row_chunks)


def table(ranking: Any) -> dict[str, Any]:
    assert ranking.columns == ["feature", "score", "pvalue", "rank"]
    found = ranking.toArrow().to_pydict()
    return {**found, "pvalue": np.array(found["pvalue"], dtype=float)}


@pytest.mark.parametrize(("seed", "score"), [*enumerate(SCORES)])
def test_any_partitions_give_the_result_of_one_bank(spark: Any, seed: int, score: str) -> None:
    data = rows(seed)
    df = frame(spark, data, (0, *chunks(seed, 400), 0))  # some are empty
    found = table(
        screen(df, target="y", features=NAMES, score_func=score, epsilon=0.001, block_size=3)
    )
    assert found["feature"] == NAMES
    assert_scores(found, data, score, epsilon=0.001)


@pytest.mark.parametrize("kinds", ["d", "s", "ssd"])
def test_vectors_are_screened_by_index(spark: Any, kinds: str) -> None:
    data = rows(1)
    df = vectors(spark, data, chunks(1, 400), kinds)
    for score, block_size in (("mutual_info", 3), ("t", 100)):
        options = {"score_func": score, "epsilon": 0.001}
        found = table(screen(df, target="y", features="v", block_size=block_size, **options))
        assert found["feature"] == list(range(8))
        assert_scores(found, data, **options)


@pytest.mark.parametrize("kinds", ["d", "s", "ssd"])
def test_null_vectors_are_missing_values(spark: Any, kinds: str) -> None:
    data = rows(1)
    data.X[100:150] = data.X[170:180] = np.nan  # the second partition has no vector
    df = vectors(spark, data, (100, 50, 250), kinds)
    for score in ("mutual_info", "fisher"):
        options = {"score_func": score, "epsilon": 0.001, "missing": "ignore"}
        found = table(screen(df, target="y", features="v", block_size=3, **options))
        assert_scores(found, data, **options)


def test_rows_with_null_vectors_are_read_in_small_parts() -> None:
    import pyarrow as pa

    wide = SparkRoles("y", None, "v", None, None, (), single=False, width=BATCH_VALUES // 10)
    present = pa.RecordBatch.from_pydict({"type": [0] * 25})
    assert [part.num_rows for part in wide.slices(present)] == [25]
    with_null = pa.RecordBatch.from_pydict({"type": [0] * 24 + [None]})
    assert [part.num_rows for part in wide.slices(with_null)] == [10, 10, 5]


def test_only_null_vectors_are_an_error(spark: Any) -> None:
    from pyspark.ml.linalg import VectorUDT
    from pyspark.sql.types import IntegerType, StructType

    schema = StructType().add("v", VectorUDT()).add("y", IntegerType())
    df = spark.createDataFrame([(None, 0), (None, 1)], schema)
    message = "The column of vectors must contain at least one vector, got only nulls"
    with pytest.raises(ValueError, match=message):
        screen(df, target="y", features="v", missing="ignore")


@pytest.mark.parametrize("score", ["fisher", "chi2"])
def test_partitions_without_values_of_a_column_or_a_class(spark: Any, score: str) -> None:
    data = rows(8)
    data.X[:150, 0] = data.X[150:, 1] = np.nan
    df = frame(spark, data, (150, 247, 3))  # the last one alone has the class "rare"
    options = {"score_func": score, "epsilon": 0.001, "missing": "ignore"}
    assert_scores(table(screen(df, target="y", features=NAMES, **options)), data, **options)


def batch_sizes(selected: Any) -> list[int]:
    """The number of rows of each batch that a Python task gets."""

    def sizes(batches: Any) -> Any:
        import pyarrow as pa

        for batch in batches:
            yield pa.RecordBatch.from_pydict({"n": [batch.num_rows]})

    found: list[int] = selected.mapInArrow(sizes, "n bigint").toArrow()["n"].to_pylist()
    return found


def test_batches_have_another_size_within_a_job_alone(spark: Any) -> None:
    df = spark.range(6000, numPartitions=1).selectExpr("id % 2 AS y", *(["id"] * 64))
    df = df.toDF("y", *(f"x{j}" for j in range(64)))
    roles = SparkRoles.of(df, "y", None)
    with roles.batches(df):
        assert batch_sizes(roles.select(df)) == [4096, 1904]  # 2¹⁸ values
        spark.conf.set(BATCH_ROWS, 5000)
        try:
            assert batch_sizes(roles.select(df)) == [5000, 1000]  # that of the session goes first
        finally:
            spark.conf.unset(BATCH_ROWS)
    assert batch_sizes(roles.select(df)) == [6000]


def test_batches_of_vectors_end_at_a_size(spark: Any) -> None:
    from pyspark.ml.functions import array_to_vector

    df = spark.range(150, numPartitions=1).selectExpr("id % 2 AS y", "array_repeat(1D, 5000) AS a")
    df = df.select("y", array_to_vector("a").alias("v"))
    roles = SparkRoles.of(df, "y", "v")
    with roles.batches(df):
        # A batch is full once it holds 2²¹ bytes: 8, and a bit for null, a value; 40,625 a row.
        assert batch_sizes(roles.select(df)) == [52, 52, 46]
    assert batch_sizes(roles.select(df)) == [150]


def test_no_task_has_the_merged_bank_of_millions_of_features(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark.ml.linalg import Vectors

    p, n = 3_200_000, 40
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    best = 3_199_999 - y * 1000  # one or the other of two features, by class
    at = [sorted({*rng.integers(0, 3_000_000, 20).tolist(), int(j)}) for j in best]
    tuples = [(Vectors.sparse(p, i, [1.0] * len(i)), int(c)) for i, c in zip(at, y, strict=True)]
    df = partitioned(spark, tuples, ["v", "y"], (25, 15))
    with monkeypatch.context() as driver:
        # only scores may come here, whatever happens in the workers
        driver.setattr(ds.Bank, "from_bytes", None)
        ranking = screen(df, target="y", features="v", score_func="chi2")
    top = ranking.where("rank <= 2").orderBy("rank").collect()
    assert [(row.feature, row.score) for row in top] == [(3_198_999, 40.0), (3_199_999, 40.0)]
    assert ranking.count() == p

    plan = Plan.of("row", score_func="chi2")
    cut = pieces(df, SparkRoles.of(df, "y", "v"), plan).toArrow()
    banks = [ds.Bank.from_bytes(bank) for bank in cut["bank"].to_pylist()]
    assert len(banks) == 2 * p // 1024
    assert {bank.n_features for bank in banks} == {1024}


def test_rows_fade_by_their_time_on_any_partitions(spark: Any) -> None:
    data = rows(2)
    fade = {"score_func": "chi2", "half_life": 9.0, "epsilon": 0.001}
    df = frame(spark, data, chunks(2, 400)).repartition(3)
    columns = {"target": "y", "features": NAMES, "sample_weight": "w", "time": "t"}
    found = table(screen(df, **columns, **fade))
    assert_scores(found, data, weight=data.weight, time=data.time, clock="time", **fade)


def test_several_half_lives_give_a_table_of_each(spark: Any) -> None:
    data = rows(2)
    df = frame(spark, data, chunks(2, 400)).repartition(3)
    columns = {"target": "y", "features": NAMES, "time": "t", "block_size": 3}
    fade = {"score_func": "chi2", "epsilon": 0.001}
    found = screen(df, **columns, **fade, half_life=[9.0, None])
    assert found.columns == ["half_life", "feature", "score", "pvalue", "rank"]
    assert found.count() == 2 * len(NAMES)
    for half_life in (9.0, np.inf):
        of_one = found.where(found.half_life == half_life).drop("half_life")
        alone = {**fade, "half_life": half_life}
        assert_scores(table(of_one), data, time=data.time, clock="time", **alone)


def test_times_may_be_timestamps(spark: Any) -> None:
    data = rows(3)
    df = frame(spark, data, (150, 250)).selectExpr("*", "timestamp_seconds(n) AS when")
    fade = {"score_func": "t", "half_life": "9s"}
    found = table(screen(df, target="y", features=NAMES, time="when", **fade))
    assert_scores(found, data, time=np.arange(400.0), clock="time", **fade)
    with pytest.raises(Exception, match="half_life must be a duration where times are dates"):
        table(screen(df, target="y", features=NAMES, time="when", score_func="t", half_life=9.0))


@pytest.mark.parametrize("vector", [False, True])
def test_rows_fade_by_their_place_in_the_order(spark: Any, vector: bool) -> None:
    data = rows(4)
    fade = {"score_func": "fisher", "half_life": 60.0}
    df = vectors(spark, data, (400,), "s") if vector else frame(spark, data)
    features = "v" if vector else NAMES
    shuffled = df.withColumn("m", df["n"] % 10).repartition(5, "t")
    found = table(screen(shuffled, target="y", features=features, order="n", **fade))
    kind = sparse.csr_array if vector else np.asarray  # p-values of sparse rows differ
    assert_scores(found, data, X=kind(data.X), **fade)
    found = table(screen(shuffled, target="y", features=features, order=["m", "n"], **fade))
    by_both = np.argsort(np.arange(400) % 10, kind="stable")
    both = Rows(data.X[by_both], data.y[by_both], data.weight, data.time)
    assert_scores(found, both, X=kind(both.X), **fade)


def test_without_an_order_rows_do_not_fade_by_place(spark: Any) -> None:
    df = frame(spark, rows(5))
    with pytest.raises(ValueError, match='order must be given for fading with clock="row"'):
        screen(df, target="y", features=NAMES, half_life=60.0)
    with pytest.raises(ValueError, match='for a static DataFrame, got "batch"'):
        screen(df, target="y", clock="batch")


def test_pruned_banks_stay_within_epsilon(spark: Any) -> None:
    rng = np.random.default_rng(6)
    y = rng.integers(0, 2, 20_000)
    X = np.column_stack([rng.normal(size=20_000) + y, np.sort(rng.lognormal(size=20_000))])
    columns = {"a": X[:, 0], "b": X[:, 1], "y": y}
    import pyarrow as pa

    df = spark.createDataFrame(pa.table(columns)).repartition(7)
    bank = screen(df, target="y", epsilon=0.05, as_bank=True)
    assert bank.feature_names == ("a", "b")
    assert bank.n_threads is None
    rank_error = bank.snapshot().rank_error
    assert rank_error is not None
    assert (rank_error > 0).all()  # something was pruned
    assert_within_epsilon(bank, X, y)
    found = table(screen(df, target="y", score_func="mutual_info", epsilon=0.05))
    assert_array_equal(found["rank"], [1, 2])


def test_the_merged_bank_can_be_updated(spark: Any) -> None:
    data = rows(7)
    bank = screen(frame(spark, data, chunks(7, 400)), target="y", features=NAMES, as_bank=True)
    one = ds.Bank().update(data.X, data.y)
    assert (bank.n_rows, bank.n_features) == (400, 8)
    np.testing.assert_allclose(bank.snapshot().mean, one.snapshot().mean, rtol=1e-12, atol=1e-15)


def test_any_numeric_columns_are_features_by_default(spark: Any) -> None:
    sql = """SELECT int(id % 2) AS y, id % 2 = 0 AS flag, decimal(id) AS dec, float(id) AS f32,
             string(id) AS name, IF(id = 3, NULL, id) AS hole FROM range(40)"""
    df = spark.sql(sql)
    with pytest.raises(ValueError, match=r"Input X contains NaN at row \d+, column 3 \('hole'\)"):
        screen(df, target="y")
    found = table(screen(df, target="y", score_func="t", missing="ignore"))
    assert found["feature"] == ["flag", "dec", "f32", "hole"]
    i = np.arange(40.0)
    X = np.column_stack([i % 2 == 0, i, i, np.where(i == 3, np.nan, i)])
    assert_scores(found, Rows(X, i % 2, i, i), "t", missing="ignore")
    single = screen(df, target="flag", features="f32", score_func="fisher")  # float32, all of it
    assert_scores(table(single), Rows(X[:, 2:3], i % 2 == 0, i, i), "fisher")


def test_decimal_labels_keep_all_their_digits(spark: Any) -> None:
    sql = f"SELECT cast({{}} AS decimal(38, {{}})) AS y, id AS a FROM range({2**53}, {2**53 + 4})"
    whole = [2**53 + i for i in range(4)]
    for scale in (0, 2):
        bank = screen(spark.sql(sql.format("id", scale)), target="y", as_bank=True)
        assert bank.classes.tolist() == whole
    for large in ("id + 9999999999999999999", "id + 0.5"):
        with pytest.raises(ValueError, match="Labels must fit 64-bit integers"):
            screen(spark.sql(sql.format(large, 2)), target="y")
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        screen(spark.sql(sql.format(f"id - {2**53} + 0.5", 2)), target="y")


BAD: list[tuple[str, dict[str, Any], type[Exception], str]] = [
    ("0 AS y, 1.0 AS a", {}, ValueError, "at least 2 classes .* only one class: 0"),
    ("id AS y, 1.0 AS a WHERE id < 0", {}, ValueError, "got no class"),
    ("id AS y, double('inf') AS a", {}, ValueError, "In partition .*: Input X contains infinity"),
    ("IF(id = 2, NULL, 'a') AS y, 1.0 AS a", {}, ValueError, "y contains a missing label: None"),
    ("id AS y, 1.0 AS a, null AS t", {"time": "t"}, TypeError, "time must be .* type void"),
    ("id AS y, 1.0 AS a, 'x' AS w", {"sample_weight": "w"}, TypeError, "sample_weight must be"),
    ("id AS y, 'x' AS a", {}, ValueError, "df must have numeric columns without another role"),
    ("id AS y, 'x' AS a", {"features": ["a"]}, TypeError, "got 'a' of type string"),
    (
        "id AS y, 1.0 AS a",
        {"features": ["b"]},
        ValueError,
        "features must be a column of df, got 'b'",
    ),
    ("id AS y, 1.0 AS a", {"features": []}, ValueError, "features must name at least one column"),
    ("id AS x, 1.0 AS a", {}, ValueError, "target must be .* got 'y'. The columns are x, a"),
    ("current_date() AS y, 1.0 AS a", {}, TypeError, "target must be .* 'y' of type date"),
    ("id AS y, 1.0 AS a", {"score_func": "mi"}, ValueError, "score_func must be one of"),
    ("id AS y, 1.0 AS a", {"clock": "time"}, ValueError, "time must be given"),
]


@pytest.mark.parametrize(("columns", "options", "error", "message"), BAD)
def test_bad_input_gives_the_message_of_the_core(
    spark: Any, columns: str, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    what, _, where = columns.partition(" WHERE ")
    df = spark.sql(f"SELECT {what} FROM range(4)" + (f" WHERE {where}" if where else ""))
    with pytest.raises(error, match=message) as caught:
        screen(df, target="y", **options)
    assert caught.type is error
    assert "java" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_rows_at_fault_are_counted_within_their_partition(spark: Any) -> None:
    df = spark.sql("SELECT id AS y, IF(id = 17, NULL, 1.0) AS a FROM range(0, 40, 1, 4)")
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", 3)
    try:
        with pytest.raises(ValueError, match=r"In partition 1: Input X contains NaN at row 7, col"):
            screen(df, target="y")
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")


def test_vectors_must_have_one_size_and_be_there(spark: Any) -> None:
    from pyspark.ml.linalg import Vectors

    five, six = Vectors.sparse(5, [1], [1.0]), Vectors.sparse(6, [1], [1.0])
    for cut in [(2,), (1, 1)]:
        df = partitioned(spark, [(five, 0), (six, 1)], ["v", "y"], cut)
        with pytest.raises(ValueError, match="vectors of a column must have one size, got 5 and 6"):
            screen(df, target="y", features="v")
    df = partitioned(spark, [(five, 0), (None, 1)], ["v", "y"], (2,))
    message = r'Input X contains a null vector at row 1\. Pass missing="ignore" to treat null vec'
    with pytest.raises(ValueError, match=message):
        screen(df, target="y", features="v")
    for none in (Vectors.dense([]), Vectors.sparse(0, [], [])):
        df = partitioned(spark, [(none, 0), (none, 1)], ["v", "y"], (2,))
        with pytest.raises(
            ValueError, match="In partition 0: The vectors must have at least one feature"
        ):
            screen(df, target="y", features="v")
        df = partitioned(spark, [(none, 0), (None, 1)], ["v", "y"], (2,))
        with pytest.raises(
            ValueError, match="In partition 0: The vectors must have at least one feature"
        ):
            screen(df, target="y", features="v", missing="ignore")


def test_stream_or_other_object_is_an_error(spark: Any) -> None:
    stream = spark.readStream.format("rate").load()
    with pytest.raises(
        ValueError, match=r"df must be a static DataFrame for screen, .* Use screen_stream"
    ):
        screen(stream, target="value")
    with pytest.raises(TypeError, match="df must be a Spark DataFrame, got list"):
        screen([], target="y")


def test_without_pyspark_the_message_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(ImportError, match=r'needs pyspark: pip install "driftsieve\[spark\]"'):
        screen(None, target="y")
