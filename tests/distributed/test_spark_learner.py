"""Spark streams that learn how long to remember."""

from __future__ import annotations

import math
import os
import shutil
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine_rows import Rows
from killed_stream import LEARNED, start
from numpy.testing import assert_allclose, assert_array_equal
from stream_runs import NOW, half_written, kill_twice, rankings, tables, uncommitted

from driftsieve.distributed import spark_memory
from driftsieve.distributed.spark import screen_stream
from driftsieve.distributed.spark_memory import StreamMemory
from driftsieve.memory import LearnedBank
from driftsieve.scores import SCORES, rank

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")


def leaping(n: int, p: int) -> Rows:
    """Rows in which feature 1 is relevant in the first half and feature 2 in the second."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    relevant = np.where(np.arange(n) < n // 2, X[:, 1], X[:, 2])
    y = (relevant + 0.7 * rng.normal(size=n) > 0).astype(np.int64)
    return Rows(X, y, np.ones(n), np.arange(n) / 10.0)


def follow(
    spark: Any, home: Path, data: Rows, cuts: list[int], n_tasks: int | None = None, **options: Any
) -> dict[int, dict[str, Any]]:
    """Screen a stream with the rows between cuts as micro-batches; return its rankings."""
    names = [f"f{j}" for j in range(data.X.shape[1])]
    if not (home / "in").exists():
        (home / "in").mkdir()
        for i, (begin, end) in enumerate(pairwise(cuts)):
            part = slice(begin, end)
            columns = dict(zip(names, data.X[part].T, strict=True))
            number = np.arange(begin, end)
            table = pa.table({**columns, "y": data.y[part], "t": data.time[part], "n": number})
            file = home / "in" / f"{i}.parquet"
            pq.write_table(table, file)
            os.utime(file, (1000 + i, 1000 + i))
    schema = ", ".join(f"{name} double" for name in [*names, "t"]) + ", y bigint, n bigint"
    stream = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
    stream = stream.parquet(str(home / "in"))
    seen: dict[int, dict[str, Any]] = {}
    screen_stream(
        stream if n_tasks is None else stream.repartition(n_tasks, "n"),
        target="y",
        features=names,
        checkpoint=home / f"check{n_tasks or ''}",
        sink=lambda ranking, batch: seen.update({batch: ranking.toArrow().to_pydict()}),
        trigger=NOW,
        **options,
    ).awaitTermination()
    return seen


def assert_learned(found: dict[str, Any], memory: dict[str, Any], bank: LearnedBank) -> None:
    """Scores, p-values and memory are those of a LearnedBank."""
    score = bank.score_func
    assert isinstance(score, str)
    assert_allclose(found["score"], bank.scores(), rtol=1e-9, atol=1e-12)
    assert_array_equal(found["rank"], rank(bank.scores(), SCORES[score].larger_is_better))
    pvalues = SCORES[score].pvalues
    expected = [None] * len(found["pvalue"]) if pvalues is None else pvalues(bank.snapshot())
    if pvalues is None:
        assert found["pvalue"] == expected
    else:
        assert_allclose(found["pvalue"], expected, rtol=1e-7)
    told = bank.memory
    assert memory["text"] == [str(told)]
    for name in ("half_lives", "weights", "values"):
        assert_allclose(memory[name][0], getattr(told, name), rtol=1e-9, atol=1e-12)
    for name in ("half_life", "length", "gain", "value"):
        assert_allclose(memory[name], getattr(told, name), rtol=1e-9, atol=1e-12)
    assert memory["n_reviews"] == [told.n_reviews]
    assert memory["unit"] == ["batches"]


@pytest.mark.parametrize(
    ("score_func", "cuts"),
    [
        ("mutual_info", [0, 600, 1200, 1700, 1800, 2400, 3100]),  # no review after 100 rows
        ("gini", [0, 1000, 2000, 3000]),
    ],
)
def test_learned_ranking_is_that_of_a_learned_bank(
    spark: Any, tmp_path: Path, score_func: str, cuts: list[int]
) -> None:
    data = leaping(3100, 12)  # fewer than a block, so that all quantiles are exact
    options = {"clock": "batch", "half_life": "auto", "score_func": score_func, "block_size": 5}
    seen = follow(spark, tmp_path, data, cuts, **options)
    bank = LearnedBank(score_func, clock="batch")
    memories = tables(tmp_path / "check" / "memory")
    n_batches = len(cuts) - 1
    assert list(seen) == list(range(n_batches))
    assert len(memories) == n_batches
    for i, (begin, end) in enumerate(pairwise(cuts)):
        bank.update(data.X[begin:end], data.y[begin:end])
        assert_learned(seen[i], memories[f"batch={i}"], bank)
    assert bank.memory.n_reviews == (4 if score_func == "mutual_info" else 2)


@pytest.mark.parametrize(
    ("options", "unit"),
    [
        ({"clock": "row", "order": "n"}, "rows"),
        ({"time": "t", "choices": ["30s", "60s", "200s", None]}, "seconds"),
    ],
    ids=["row", "time"],
)
def test_it_follows_a_leap(spark: Any, tmp_path: Path, options: dict[str, Any], unit: str) -> None:
    data, cuts = leaping(6000, 6), [0, 1000, 2000, 3000, 3600, 4200]
    learned = follow(spark, tmp_path, data, cuts, half_life="auto", **options)
    assert learned[2]["rank"][1] == 1
    assert learned[4]["rank"][2] == 1
    assert learned[4]["pvalue"][2] < 1e-9
    memory = tables(tmp_path / "check" / "memory")["batch=4"]
    assert memory["unit"] == [unit]
    assert memory["half_lives"][0][-1] == math.inf
    assert memory["half_life"][0] < math.inf
    assert memory["gain"][0] > 0.1
    assert "forgetting gains" in memory["text"][0]
    if unit == "rows":
        shutil.rmtree(tmp_path / "check")
        never = follow(spark, tmp_path, data, cuts, **options)
        assert never[4]["rank"][1] == 1


def test_rows_may_be_in_any_partitions(spark: Any, tmp_path: Path) -> None:
    data, cuts = leaping(4000, 6), [0, 1000, 2500, 4000]
    data.X[::7, 3] = np.nan
    options = {"half_life": "auto", "order": "n", "missing": "ignore"}
    one, five = (follow(spark, tmp_path, data, cuts, n, **options) for n in (1, 5))
    assert list(one) == list(five) == [0, 1, 2]
    for batch in one:
        assert one[batch]["rank"] == five[batch]["rank"]
        assert_allclose(one[batch]["score"], five[batch]["score"], rtol=1e-9, atol=1e-12)
    first, second = (tables(tmp_path / f"check{n}" / "memory")["batch=2"] for n in (1, 5))
    assert_allclose(first["weights"], second["weights"], rtol=1e-9)
    assert first["text"] == second["text"]


def test_stream_may_begin_with_one_class_and_return_to_one(spark: Any, tmp_path: Path) -> None:
    # fewer rows than a block, so that all quantiles are exact
    data, cuts = leaping(3100, 6), [0, 500, 1100, 1700, 2100, 3100]
    data.y[:500] = data.y[1700:2100] = 1
    seen = follow(spark, tmp_path, data, cuts, clock="batch", half_life="auto")
    bank = LearnedBank(clock="batch")
    memories = tables(tmp_path / "check" / "memory")
    assert list(seen) == [1, 2, 3, 4]
    assert len(memories) == 4
    for i, (begin, end) in enumerate(pairwise(cuts)):
        bank.update(data.X[begin:end], data.y[begin:end])
        if i:
            assert_learned(seen[i], memories[f"batch={i}"], bank)


def test_micro_batch_without_rows_changes_nothing(spark: Any, tmp_path: Path) -> None:
    data = leaping(3000, 6)
    some = {"half_life": "auto", "time": "t", "choices": ["100s", None]}
    seen = follow(spark, tmp_path, data, [0, 1000, 1000, 3000], **some)
    assert list(seen) == [0, 1, 2]
    assert seen[0] == seen[1]
    (tmp_path / "dense").mkdir()
    expected = follow(spark, tmp_path / "dense", data, [0, 1000, 3000], **some)
    assert [seen[0], seen[2]] == list(expected.values())


def test_a_panel_of_many_sparse_features_is_compared(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark.ml.linalg import SparseVector, VectorUDT
    from pyspark.sql.types import LongType, StructType

    monkeypatch.setattr(spark_memory, "PANEL", 8)
    rng = np.random.default_rng(3)
    n, p = 19_800, 500
    y = rng.integers(0, 2, n)
    hot = np.where(np.arange(n) < n // 2, 5, 406)
    schema = StructType().add("v", VectorUDT()).add("y", LongType())
    panels: list[Any] = []
    after_review = StreamMemory.after_review

    def remember(memory: StreamMemory, sums: Any, panel: Any, *others: Any) -> StreamMemory:
        panels.append(panel)
        return after_review(memory, sums, panel, *others)

    monkeypatch.setattr(StreamMemory, "after_review", remember)
    for begin in range(0, n, 3300):
        vectors = []
        for i in range(begin, begin + 3300):
            found = set(rng.integers(0, 400, 5).tolist())
            found |= {hot[i]} if rng.random() < (0.6 if y[i] else 0.1) else set()
            vectors.append(SparseVector(p, sorted(found), np.ones(len(found))))
        df = spark.createDataFrame(
            zip(vectors, y[begin : begin + 3300].tolist(), strict=True), schema
        )
        df.coalesce(1).write.mode("append").parquet(str(tmp_path / "in"))
    seen: dict[int, Any] = {}
    screen_stream(
        spark.readStream.schema(schema)
        .option("maxFilesPerTrigger", 1)
        .parquet(str(tmp_path / "in")),
        target="y",
        features="v",
        half_life="auto",
        clock="batch",
        block_size=64,
        checkpoint=tmp_path / "check",
        sink=lambda ranking, batch: seen.update({batch: ranking.toArrow().to_pydict()}),
        trigger=NOW,
    ).awaitTermination()
    assert [len(panel) for panel in panels] == [8] * 6
    assert all(5 in panel for panel in panels[:3])
    assert 406 in panels[-1]
    assert len({*np.concatenate(panels).tolist()}) > 16  # others in turn
    assert max(map(max, panels)) <= 406  # features without a value have no relevance
    assert seen[2]["rank"][5] == 1
    assert seen[5]["rank"][406] == 1
    assert seen[5]["score"][450] == min(seen[5]["score"])


@pytest.fixture(scope="module")
def killed(spark_home: None, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: ARG001
    home = tmp_path_factory.mktemp("killed")
    cuts = [0, 1200, 1300, 3000, 3100, 4000]  # reviews after micro-batches 0, 2 and 4
    data = leaping(4000, 3)
    data = replace(data, y=data.y.astype(str))
    kill_twice(home, data, cuts, 1250, "learned")
    return home


@pytest.fixture(scope="module")
def unharmed(spark: Any, killed: Path) -> Path:
    """A query that was never killed."""
    out = killed / "unharmed"
    start(spark, str(killed / "in"), str(out), trigger=NOW, **LEARNED).awaitTermination()
    assert sorted(rankings(out)) == [f"batch={i}" for i in range(5)]
    memories = tables(out / "check" / "memory")
    assert [memories[f"batch={i}"]["n_reviews"] for i in range(5)] == [[0], [0], [1], [1], [2]]
    return out


@pytest.mark.parametrize("moment", ["before the commit", "while the state is written"])
def test_killed_and_restarted_query_learns_the_same(
    spark: Any, killed: Path, unharmed: Path, tmp_path: Path, moment: str
) -> None:
    uncommitted(killed, tmp_path)
    if moment == "while the state is written":
        half_written(tmp_path)
    start(spark, str(killed / "in"), str(tmp_path), trigger=NOW, **LEARNED).awaitTermination()
    assert rankings(tmp_path) == rankings(unharmed)  # to the last bit
    memories, expected = (tables(out / "check" / "memory") for out in (tmp_path, unharmed))
    assert repr(memories) == repr(expected)  # a gain may be NaN


CHANGED: list[tuple[dict[str, Any], str]] = [
    ({"half_life": 70.0}, "half_life must be 'auto', as in the state in .*, got 70.0. Continue"),
    ({"half_life": None}, "half_life must be 'auto', .* got None"),
    ({"choices": [100, 500]}, r"choices must be 250\.0, 500\.0, .*, None, .* got 100\.0, 500\.0"),
    ({"score_func": "chi2"}, "score_func must be 'mutual_info', .* got 'chi2'"),
    ({"n_bins": 4}, "n_bins must be 5, .* got 4"),
]


def test_restart_with_another_memory_is_refused(spark: Any, killed: Path, tmp_path: Path) -> None:
    shutil.copytree(killed / "check", tmp_path / "check")
    for change, message in CHANGED:
        with pytest.raises(ValueError, match=message):
            start(spark, str(killed / "in"), str(tmp_path), trigger=NOW, **{**LEARNED, **change})


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({}, r'order must be given .* got None\. .* pass the column .*, or clock="batch" to fade by'),
    ({"time": "value"}, r'choices must be given for .*"auto" with clock="time", got None\. Pass'),
    (
        {"choices": [1, 2], "half_life": [1, 2]},
        r"choices must be None .*, got \[1, 2\]\. Half-lives",
    ),
    ({"choices": 5, "clock": "batch"}, r"choices must be a list of half-lives, got 5\."),
    ({"choices": ["1d"], "clock": "batch"}, "half_life must be a number of batches"),
    ({"decay": 0.9, "clock": "batch"}, "decay and half_life must not both be given, got 0.9 and"),
]


def test_settings_that_cannot_be_learned_with_are_refused(spark: Any, tmp_path: Path) -> None:
    stream = spark.readStream.format("rate").load().selectExpr("value", "value % 2 AS y")
    for options, message in REFUSED:
        with pytest.raises(ValueError, match=message):
            screen_stream(
                stream,
                target="y",
                features="value",
                checkpoint=tmp_path,
                sink=tmp_path,
                **{"half_life": "auto", **options},
            )


def test_memory_from_bytes_is_the_same() -> None:
    rng = np.random.default_rng(0)
    memory = StreamMemory.empty(3)
    panel = np.array([2, 5, 7, 9])
    sums = memory.sums.reviewed(rng.normal(size=(3, 4)), rng.normal(size=4), 2, 600)
    memory = memory.after_review(sums, panel, rng.normal(size=(3, 4)), 600, 10)
    again = StreamMemory.from_bytes(memory.to_bytes())
    assert again.to_bytes() == memory.to_bytes()
    assert_array_equal(again.before, memory.before)
    assert (again.n_rows, again.turn, again.panel.tolist()) == (600, 2, [2, 5, 7, 9])
