"""Spark streams: every micro-batch counts once, whenever the query is killed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine_rows import Rows, assert_scores, rows
from killed_stream import OPTIONS, start
from numpy.testing import assert_allclose

import driftsieve as ds
from driftsieve.distributed.plan import Plan
from driftsieve.distributed.spark import screen_stream
from driftsieve.distributed.spark_stream import _State

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")

PROGRAM = Path(__file__).with_name("killed_stream.py")
NOW = {"availableNow": True}


def write(folder: Path, data: Rows, cuts: list[int], first: int = 0) -> None:
    """A file of rows between cuts each, from the first on, in the order of their names."""
    folder.mkdir(exist_ok=True)
    n = len(data.y)
    columns = dict(zip("abc", data.X[:, :3].T, strict=True))
    table = pa.table({**columns, "y": data.y, "t": data.time, "n": np.arange(n)})
    for i, (begin, end) in enumerate(pairwise(cuts), first):
        # the order of rows in a file means nothing: they are numbered by n
        shuffled = np.random.default_rng(i).permutation(end - begin)
        part = folder / f".{i}.part"
        pq.write_table(table.slice(begin, end - begin).take(shuffled), part)
        os.utime(part, (1000 + i, 1000 + i))
        part.rename(folder / f"{i}.parquet")


def rankings(out: Path) -> dict[str, Any]:
    return {
        folder.name: pq.read_table(sorted(folder.glob("*.parquet"))[0]).to_pydict()
        for folder in sorted((out / "ranking").iterdir())
    }


def three(data: Rows) -> Rows:
    return Rows(data.X[:, :3], data.y, data.weight, data.time)


@pytest.mark.parametrize("clock", ["sample", "batch", "time"])
def test_each_ranking_is_that_of_a_bank_up_to_its_micro_batch(
    spark: Any, tmp_path: Path, clock: str
) -> None:
    data = rows(0)
    cuts = [0, 150, 151, 400]
    write(tmp_path / "in", data, cuts)
    options = {"target": "y", "features": list("abc"), "score": "t", "half_life": 2.5}
    options |= {"sample": {"order": "n"}, "batch": {"clock": "batch"}, "time": {"time": "t"}}[clock]
    start(spark, str(tmp_path / "in"), str(tmp_path), trigger=NOW, **options).awaitTermination()
    found = rankings(tmp_path)
    assert sorted(found) == ["batch=0", "batch=1", "batch=2"]
    bank = ds.Bank(half_life=2.5, clock=clock)
    for i, (begin, end) in enumerate(pairwise(cuts)):
        part = slice(begin, end)
        times = data.time[part] if clock == "time" else None
        snap = bank.update(data.X[part, :3], data.y[part], t=times).freeze()
        table = found[f"batch={i}"]
        assert table["feature"] == ["a", "b", "c"]
        assert_allclose(table["score"], ds.scores.t_score(snap), rtol=1e-9)
        assert_allclose(table["pvalue"], ds.scores.t_pvalues(snap), rtol=1e-7)


@pytest.fixture(scope="module")
def killed(spark_home: None, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: ARG001
    """A query that was killed in the second micro-batch, started again, and killed after the third,
    when it waited for the fourth.
    """
    home = tmp_path_factory.mktemp("killed")
    write(home / "in", rows(1), [0, 120, 130, 300])

    def begin() -> subprocess.Popen[bytes]:
        with (home / "log").open("w") as log:
            return subprocess.Popen(
                [sys.executable, PROGRAM, home / "in", home],
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    commits = home / "check" / "spark" / "commits"
    killed_by_task = begin()
    assert killed_by_task.wait() == -signal.SIGKILL, (home / "log").read_text()[-4000:]
    assert (home / "killed").exists()
    assert (commits / "0").exists()
    assert not (commits / "1").exists()
    process = begin()
    while not (commits / "2").exists():
        assert process.poll() is None, (home / "log").read_text()[-4000:]
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGKILL)  # the driver, and the JVM with all its threads
    process.wait()
    write(home / "in", rows(1), [300, 310, 400], first=3)
    return home


@pytest.fixture(scope="module")
def unharmed(spark: Any, killed: Path) -> dict[str, Any]:
    """What a query that was never killed gives."""
    out = killed / "unharmed"
    start(spark, str(killed / "in"), str(out), trigger=NOW, **OPTIONS).awaitTermination()
    found = rankings(out)
    assert sorted(found) == [f"batch={i}" for i in range(5)]
    assert_scores(found["batch=4"], three(rows(1)), "mutual_info", half_life=70.0, epsilon=0.02)
    return found


@pytest.mark.parametrize("moment", ["between", "before the commit", "while the state is written"])
def test_killed_and_restarted_is_never_killed(
    spark: Any, killed: Path, unharmed: dict[str, Any], tmp_path: Path, moment: str
) -> None:
    shutil.copytree(killed / "check", tmp_path / "check")
    shutil.copytree(killed / "ranking", tmp_path / "ranking")
    if moment != "between":  # as far as Spark knows, micro-batch 2 has not been done
        commits = tmp_path / "check" / "spark" / "commits"
        (commits / "2").unlink()
        (commits / ".2.crc").unlink(missing_ok=True)
        shutil.rmtree(tmp_path / "ranking" / "batch=2")
    if moment == "while the state is written":
        slot = tmp_path / "check" / "state" / "0"  # of micro-batch 2
        (whole,) = slot.glob("*.parquet")
        blocks = pq.read_table(whole)
        assert blocks.num_rows == 2
        shutil.rmtree(slot)
        slot.mkdir()
        pq.write_table(blocks.slice(0, 1), slot / "part.parquet")
    start(spark, str(killed / "in"), str(tmp_path), trigger=NOW, **OPTIONS).awaitTermination()
    assert rankings(tmp_path) == unharmed  # to the last bit


def test_a_state_that_does_not_belong_is_refused(spark: Any, killed: Path, tmp_path: Path) -> None:
    def begin(**changes: Any) -> None:
        options = {**OPTIONS, **changes}
        start(spark, str(killed / "in"), str(tmp_path), trigger=NOW, **options).awaitTermination()

    shutil.copytree(killed / "check", tmp_path / "check")
    with pytest.raises(
        ValueError, match="blocks of 2 features, not of 3: block_size cannot change"
    ):
        begin(block_size=3)
    with pytest.raises(Exception, match=r"epsilon is 0\.1 here and 0\.02 in the other bank"):
        begin(epsilon=0.1)
    shutil.rmtree(tmp_path / "check" / "state")
    with pytest.raises(Exception, match="at micro-batch 3, but the state of those before is not"):
        begin()
    shutil.rmtree(tmp_path / "check")
    shutil.copytree(killed / "check" / "state", tmp_path / "check" / "state")
    with pytest.raises(Exception, match="has taken in micro-batch 2, but the query is at 0"):
        begin()


def test_a_folder_that_is_not_there_is_not_read(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(_: Any) -> Any:
        raise AssertionError("Spark would log the trace of an error")

    monkeypatch.setattr(type(spark), "read", property(read))
    assert _State(spark, str(tmp_path / "state"), Plan.of("sample")).latest is None


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
        score="fisher",
        trigger=NOW,
        **options,
    ).awaitTermination()
    assert list(seen) == [1]
    part = Rows(data.X[51:, :2], data.y[51:], data.weight, data.time)
    assert_scores(seen[1], part, "fisher")


def test_bad_input_is_told(spark: Any, tmp_path: Path) -> None:
    at_rest = spark.sql("SELECT 1 AS a, 2 AS y")
    paths = {"checkpoint": str(tmp_path / "check"), "sink": str(tmp_path / "ranking")}
    with pytest.raises(ValueError, match=r"df is at rest, and screen_stream takes .* use screen"):
        screen_stream(at_rest, target="y", **paths)
    stream = spark.readStream.format("rate").load()
    with pytest.raises(ValueError, match='Fading with clock="sample" needs the order'):
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
