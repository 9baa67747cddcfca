"""Spark streams: every micro-batch counts once, whenever the query is killed."""

from __future__ import annotations

import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine_rows import Rows, assert_scores, rows
from killed_stream import OPTIONS, start
from numpy.testing import assert_allclose
from stream_runs import NOW, half_written, kill_twice, rankings, uncommitted, write

import driftsieve as ds
from driftsieve.distributed.plan import Plan
from driftsieve.distributed.spark import screen_stream
from driftsieve.distributed.spark_rows import SparkRoles
from driftsieve.distributed.spark_state import StreamSchema, StreamState

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")


def three(data: Rows) -> Rows:
    return Rows(data.X[:, :3], data.y, data.weight, data.time)


@pytest.mark.parametrize("clock", ["row", "batch", "time"])
def test_each_ranking_is_that_of_a_bank_up_to_its_micro_batch(
    spark: Any, tmp_path: Path, clock: str
) -> None:
    data = rows(0)
    cuts = [0, 150, 151, 400]
    write(tmp_path / "in", data, cuts)
    options = {"target": "y", "features": list("abc"), "score_func": "t", "half_life": 2.5}
    options |= {"row": {"order": "n"}, "batch": {"clock": "batch"}, "time": {"time": "t"}}[clock]
    start(spark, str(tmp_path / "in"), str(tmp_path), trigger=NOW, **options).awaitTermination()
    found = rankings(tmp_path)
    assert sorted(found) == ["batch=0", "batch=1", "batch=2"]
    bank = ds.Bank(half_life=2.5, clock=clock)
    for i, (begin, end) in enumerate(pairwise(cuts)):
        part = slice(begin, end)
        times = data.time[part] if clock == "time" else None
        snap = bank.update(data.X[part, :3], data.y[part], time=times).snapshot()
        table = found[f"batch={i}"]
        assert table["feature"] == ["a", "b", "c"]
        assert_allclose(table["score"], ds.scores.t(snap), rtol=1e-9)
        assert_allclose(table["pvalue"], ds.scores.t_pvalues(snap), rtol=1e-7)


@pytest.fixture(scope="module")
def killed(spark_home: None, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: ARG001
    home = tmp_path_factory.mktemp("killed")
    kill_twice(home, rows(1), [0, 120, 130, 300, 310, 400], 125, "fixed")
    return home


@pytest.fixture(scope="module")
def unharmed(spark: Any, killed: Path) -> dict[str, Any]:
    """The results of a query that was never killed."""
    out = killed / "unharmed"
    start(spark, str(killed / "in"), str(out), trigger=NOW, **OPTIONS).awaitTermination()
    found = rankings(out)
    assert sorted(found) == [f"batch={i}" for i in range(5)]
    assert_scores(found["batch=4"], three(rows(1)), "mutual_info", half_life=70.0, epsilon=0.02)
    return found


@pytest.mark.parametrize("moment", ["between", "before the commit", "while the state is written"])
def test_killed_and_restarted_query_gives_the_same_rankings(
    spark: Any, killed: Path, unharmed: dict[str, Any], tmp_path: Path, moment: str
) -> None:
    if moment == "between":
        shutil.copytree(killed / "check", tmp_path / "check")
        shutil.copytree(killed / "ranking", tmp_path / "ranking")
    else:
        uncommitted(killed, tmp_path)
    if moment == "while the state is written":
        half_written(tmp_path)
    start(spark, str(killed / "in"), str(tmp_path), trigger=NOW, **OPTIONS).awaitTermination()
    assert rankings(tmp_path) == unharmed  # to the last bit


def test_state_of_another_query_is_refused(spark: Any, killed: Path, tmp_path: Path) -> None:
    def begin() -> None:
        start(spark, str(killed / "in"), str(tmp_path), trigger=NOW, **OPTIONS).awaitTermination()

    shutil.copytree(killed / "check", tmp_path / "check")
    shutil.rmtree(tmp_path / "check" / "state")
    with pytest.raises(Exception, match="state of the micro-batches before 3 must be in"):
        begin()
    shutil.rmtree(tmp_path / "check")
    shutil.copytree(killed / "check" / "state", tmp_path / "check" / "state")
    with pytest.raises(Exception, match=r"must be after micro-batch 2, .* got 0"):
        begin()


@pytest.mark.parametrize("block_size", [2, 1024])
def test_restart_with_features_in_another_order_keeps_their_scores(
    spark: Any, tmp_path: Path, block_size: int
) -> None:
    data = rows(4)
    for first, cuts in enumerate(([0, 200], [200, 400])):
        write(tmp_path / "in", data, cuts, first)
        features = list("abc" if first == 0 else "cab")
        options = {**OPTIONS, "features": features, "block_size": block_size}
        start(spark, str(tmp_path / "in"), str(tmp_path), trigger=NOW, **options).awaitTermination()
    found = rankings(tmp_path)["batch=1"]
    assert found["feature"] == ["a", "b", "c"]
    assert_scores(found, three(data), "mutual_info", half_life=70.0, epsilon=0.02)


CHANGED: list[tuple[dict[str, Any], str]] = [
    ({"target": "n"}, "target must be 'y', as in the state in .*, got 'n'. Continue with the same"),
    ({"sample_weight": "t"}, "sample_weight must be None, .* got 't'"),
    ({"order": ["n", "t"]}, "order must be 'n', .* got 'n', 't'"),
    ({"features": ["a", "b"]}, r"the 3 columns .* got 2 columns \(missing: 'c'; new: none\)"),
    ({"features": ["a", "b", "n"]}, r"got 3 columns \(missing: 'c'; new: 'n'\)"),
    ({"features": [*"abct"]}, r"got 4 columns \(missing: none; new: 't'\)"),
    ({"time": "t"}, "time must be None, .* got 't'"),
    ({"clock": "batch"}, "clock must be 'row', .* got 'batch'"),
    ({"half_life": 71.0}, r"half_life must be 70\.0, .* got 71\.0"),
    ({"half_life": None}, r"half_life must be 70\.0, .* got None"),
    ({"epsilon": 0.1}, r"epsilon must be 0\.02, .* got 0\.1"),
    ({"missing": "ignore"}, "missing must be 'error', .* got 'ignore'"),
    ({"block_size": 3}, "block_size must be 2, .* got 3"),
    (
        {"score_func": "t"},
        "score_func must be 'mutual_info' or 'chi2' or 'gini', .* got 't' or 'fisher'",
    ),
]


def test_restart_with_other_columns_or_settings_is_refused(
    spark: Any, killed: Path, unharmed: dict[str, Any], tmp_path: Path
) -> None:
    shutil.copytree(killed / "check", tmp_path / "check")
    for change, message in CHANGED:
        with pytest.raises(ValueError, match=message) as caught:
            start(spark, str(killed / "in"), str(tmp_path), trigger=NOW, **{**OPTIONS, **change})
        assert "vector" not in str(caught.value)
    start(spark, str(killed / "in"), str(tmp_path), trigger=NOW, **OPTIONS).awaitTermination()
    assert rankings(tmp_path)["batch=4"] == unharmed["batch=4"]  # the state is as it was


def test_state_without_its_columns_is_refused(spark: Any, killed: Path, tmp_path: Path) -> None:
    shutil.copytree(killed / "check", tmp_path / "check")
    for slot in (tmp_path / "check" / "state").iterdir():
        (whole,) = slot.glob("*.parquet")
        old = pq.read_table(whole).drop_columns("schema")
        pq.write_table(old.replace_schema_metadata(None), whole)  # Spark's own schema is there too
        (slot / f".{whole.name}.crc").unlink(missing_ok=True)
    with pytest.raises(ValueError, match="must have the columns it was built with"):
        start(spark, str(killed / "in"), str(tmp_path), trigger=NOW, **OPTIONS)


def test_null_vectors_of_a_stream_are_missing_values(spark: Any, tmp_path: Path) -> None:
    from pyspark.ml.linalg import DenseVector, VectorUDT
    from pyspark.sql.types import LongType, StructType

    schema = StructType().add("v", VectorUDT()).add("y", LongType())
    rng = np.random.default_rng(5)
    y, X = np.arange(30) % 2, rng.normal(size=(30, 3))
    X[15:] = np.nan
    none = np.full((6, 3), np.nan)
    seen: dict[int, Any] = {}

    def take(batches: list[Any], missing: str = "ignore") -> None:
        for X, y in batches:
            vectors = [None if np.isnan(x).all() else DenseVector(x) for x in X]
            df = spark.createDataFrame([*zip(vectors, y.tolist(), strict=True)], schema)
            df.coalesce(1).write.mode("append").parquet(str(tmp_path / "in"))
        stream = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
        screen_stream(
            stream.parquet(str(tmp_path / "in")),
            target="y",
            features="v",
            score_func="t",
            missing=missing,
            checkpoint=tmp_path / missing,
            sink=lambda ranking, batch: seen.update({batch: ranking.toArrow().to_pydict()}),
            trigger=NOW,
        ).awaitTermination()

    take([(none, y[:6]), (X, y), (none, y[:6])])
    bank = ds.Bank(missing="ignore")
    for batch, part in ((1, (X, y)), (2, (none, y[:6]))):  # the size was not known in batch 0
        snap = bank.update(*part).snapshot()
        assert_allclose(seen[batch]["score"], ds.scores.t(snap), rtol=1e-9)
        assert_allclose(seen[batch]["pvalue"], ds.scores.t_pvalues(snap), rtol=1e-7)
    with pytest.raises(Exception, match="vectors of a column must have one size, got 3 and 4"):
        take([(np.ones((2, 4)), y[:2])])
    with pytest.raises(Exception, match=r'null vector at row 0\. Pass missing="ignore" to treat'):
        take([], missing="error")


def test_a_missing_folder_is_not_read(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(_: Any) -> Any:
        raise AssertionError("Spark would log the trace of an error")

    monkeypatch.setattr(type(spark), "read", property(read))
    plan, roles = Plan.of("row"), SparkRoles("y", ("a",), None, None, None, (), single=False)
    schema = StreamSchema.of(roles, plan, "row")
    assert StreamState(spark, str(tmp_path / "state"), plan, schema).latest is None


def test_there_is_a_ranking_once_there_are_two_classes(spark: Any, tmp_path: Path) -> None:
    data = rows(2)
    data.y[:100] = "ham"
    write(tmp_path / "in", data, [0, 100, 400])
    seen: dict[int, Any] = {}
    stream = spark.readStream.schema("a double, b double, y string, n bigint")
    stream = stream.option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "in"))
    options = {"target": "y", "features": ["a", "b"], "checkpoint": tmp_path / "check"}
    screen_stream(
        stream.where("n > 50"),
        sink=lambda ranking, batch: seen.update({batch: ranking.toArrow().to_pydict()}),
        score_func="fisher",
        trigger=NOW,
        **options,
    ).awaitTermination()
    assert list(seen) == [1]
    part = Rows(data.X[51:, :2], data.y[51:], data.weight, data.time)
    assert_scores(seen[1], part, "fisher")


def test_bad_input_is_an_error(spark: Any, tmp_path: Path) -> None:
    at_rest = spark.sql("SELECT 1 AS a, 2 AS y")
    paths = {"checkpoint": str(tmp_path / "check"), "sink": str(tmp_path / "ranking")}
    with pytest.raises(ValueError, match=r"df must be a stream for screen_stream, .* Use screen"):
        screen_stream(at_rest, target="y", **paths)
    stream = spark.readStream.format("rate").load()
    with pytest.raises(ValueError, match="order must be given for fading"):
        screen_stream(stream, target="value", features="value", half_life=3.0, **paths)
    data = rows(3)
    data.X[30, 1] = np.inf
    write(tmp_path / "in", data, [0, 400])
    query = start(spark, str(tmp_path / "in"), str(tmp_path), trigger=NOW, **OPTIONS)
    with pytest.raises(
        Exception, match=r"Input X contains infinity: inf at row 30, column 1 \('b'"
    ) as caught:
        query.awaitTermination()
    assert "\tat " not in str(caught.value)  # a line of a Java stack
