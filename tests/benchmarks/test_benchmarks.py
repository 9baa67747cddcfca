"""The benchmarks run and hold every goal; no figure of theirs is a test."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import page, parallel, table
from benchmarks.estimate import TRANSFER, estimate
from benchmarks.experiments import Point, slope
from benchmarks.harness import Cost, Goal, Row, Task, Work, run
from benchmarks.instructions import LOOPS, RECORD, compare

ROOT = Path(__file__).resolve().parents[2]

GOALS = {
    ("A moments: in place", "read", "≤ 2.5 ×"),
    ("A moments: in place", "GaussianNB.partial_fit", "≥ 7 ×"),
    ("A moments: two threads", "in place", "≥ 1.5 ×"),
    ("A: ε = 0.001 in place", "read", "≤ 9 ×"),
    ("A: ε = 0.001 in place", "np.sort", "≥ 14 ×"),
    ("A: ε = 0.001 in place", "KLL", "≥ 20 ×"),
    ("A: ε = 0.001 in place", "xgboost", "≥ 70 ×"),
    ("A: ε = 0.001 in place, two threads", "ε = 0.001 in place", "≥ 1.7 ×"),
    ("A: ε = 0.001 stream", "read", "≤ 20 ×"),
    ("A: ε = 0.001 stream", "np.sort", "≥ 6 ×"),
    ("A: ε = 0.001 stream", "KLL", "≥ 10 ×"),
    ("A state: ε = 0.001 stream", "", "≤ 100 KB/feature"),
    ("A: ε = 0.01 stream", "read", "≤ 17 ×"),
    ("A state: ε = 0.01 stream", "", "≤ 20 KB/feature"),
    ("A: fading, in place", "ε = 0.001 in place", "≤ 1.5 ×"),
    ("A: fading, stream", "ε = 0.001 stream", "≤ 1.5 ×"),
    ("B: bins and edges", "offline", "identical"),
    ("B: 5 exact bins", "read", "≤ 15 ×"),
    ("C: faded moments", "read of the non-zeros", "≤ 7 ×"),
    ("C: faded moments", "one-hot @ X, X²", "≥ 1.7 ×"),
    ("C: everything", "tocsc()", "≥ 1 ×"),
    ("C: everything", "xgboost", "≥ 18 ×"),
    ("D: faded moments", "read of the non-zeros", "≤ 7 ×"),
    ("D: faded moments", "one-hot @ X, X²", "≥ 1.7 ×"),
    ("D: everything", "tocsc()", "≥ 1 ×"),
    ("D: everything", "xgboost", "≥ 18 ×"),
    ("E: moments", "numpy Welford", "≥ 2 ×"),
    ("E: summaries, ε = 0.001", "vector of KLL, ε = 0.001", "≥ 5 ×"),
    ("E: everything, ε = 0.001", "river SelectKBest", "≥ 500 ×"),
    ("E: river transformer, T", "river SelectKBest", "≥ 200 ×"),
    ("E: river transformer, Gini", "river SelectKBest", "≥ 200 ×"),
    ("A, lognormal: in place", "np.sort", "≥ 2.5 ×"),
    ("A, Cauchy: in place", "np.sort", "≥ 2.5 ×"),
    ("A, half zeros: in place", "np.sort", "≥ 2.5 ×"),
    ("A, heavy atoms: in place", "np.sort", "≥ 2.5 ×"),
    ("A, small integers: in place", "np.sort", "≥ 2.5 ×"),
    ("A, large integers: in place", "np.sort", "≥ 2.5 ×"),
    ("A: snapshot + score, ε = 0.001 in place", "", "≤ 10 µs/feature"),
    ("growth: time against rows, dense", "", "slope ≤ 1.1"),
    ("growth: time against features, dense", "", "slope ≤ 1.1"),
    ("svmlight, URL-like: text to MI scores", "load_svmlight_file", "≥ 5 ×"),
    ("csv: to T scores", "polars.read_csv", "≤ 2 ×"),
    ("JSON lines: to T scores, two threads", "", "≤ 6.67 ns/byte"),
    ("JSON lines: to MI scores, two threads", "", "≤ 6.67 ns/byte"),
    ("start-up: driftsieve --help", "import numpy", "≤ 3 ×"),
    ("start-up: screen of four rows", "", "≤ 0.6 s"),
    (
        "wide svmlight, --half-life none: with state, report, csv and 15 records",
        "T scores",
        "≤ 2 ×",
    ),
    ("wide svmlight, learned memory: with state, report, csv and 15 records", "T scores", "≤ 2 ×"),
    ("screen of csv, mutual information: defaults", "--half-life none", ""),
    ("screen of wide svmlight, mutual information: defaults", "--half-life none", ""),
    ("ladder continuous columns: nine half-lives", "one half-life", "≤ 2.5 ×"),
    ("reading after every 100 rows: scored, normal, fading", "", "≤ 2 ms/batch"),
    ("many classes: 8 classes", "2 classes", "≤ 2 ×"),
    ("many classes: 500 classes", "", "≤ 25 ns/value"),
    ("2000 distinct values: real numbers", "", "≤ 5 ns/value"),
    ("F, uniform columns: ε = 0.01", "tocsc()", "≤ 3 ×"),
    ("F, uniform columns: ε = 0.01", "xgboost", "≥ 10 ×"),
    ("F, Zipf columns: with MI scores", "tocsc()", "≤ 5 ×"),
    ("F, Zipf columns: moments, two threads", "moments", "≥ 1.6 ×"),
    ("G: ε = 0.01", "tocsc()", "≤ 1.2 ×"),
    ("G: ε = 0.01", "xgboost", "≥ 10 ×"),
    ("G: ε = 0.01, two threads", "ε = 0.01", "≥ 1.6 ×"),
    ("C: everything, two threads", "everything", "≥ 1.6 ×"),
    ("threads: 250-row batches, 2 threads", "250-row batches, 1 threads", ""),
    ("sparse, many classes: 26 classes", "2 classes", "≤ 4 ×"),
    ("wide sparse: snapshot", "", "≤ 1 µs/feature"),
}


def quick(module: str, *arguments: str | Path) -> str:
    command = [sys.executable, "-m", module, "--quick", *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_goal_is_measured(tmp_path: Path) -> None:
    printed = quick("benchmarks", "--rounds", "1", "--json", tmp_path / "bench.json")
    rows, about = table.read_json(tmp_path / "bench.json")
    assert {(row.work, row.peer, row.goal) for row in rows} >= GOALS
    best = [row for row in rows if row.work == "B: 5 exact bins" and row.goal == "≥ 6 ×"]
    assert [row.peer[:3] for row in best] == ["np."]  # the fastest of them
    growth = [row for row in rows if row.work.startswith("growth: state against rows")]
    assert len(growth) == 3
    assert all(row.work in printed for row in rows)
    assert about["machine"]["processor"] in printed
    # what does not depend on time or size
    assert [row.met for row in rows if row.goal == "identical"] == [True]
    # a peer may be absent, ours may not
    assert all(row.ours is not None for row in rows if "threads" not in row.work and not row.note)
    with pytest.raises(SystemExit, match="quick run"):
        page.goals(tmp_path / "bench.json")
    tables = {page.table_of(row.work) for row in rows}
    assert tables == {*page.TABLES}
    real = ("F, uniform columns", "F, Zipf columns", "G")
    assert {row.work for row in rows if row.reported} == {
        "A moments: two threads",
        *(f"{name}: faded moments" for name in ("C", "D")),
        *(f"{name}: moments, two threads" for name in real),
    }


def test_scaling_gives_every_series_and_a_plot(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    printed = quick("benchmarks.scaling", "--json", tmp_path / "s.json", "--images", tmp_path)
    found = json.loads((tmp_path / "s.json").read_text(encoding="utf-8"))
    experiments = {point["experiment"] for point in found["points"]}
    assert experiments == {"rows", "features", "classes", "1/ε", "batch size"}
    assert all(name in printed for name in ("slope", *experiments))
    assert (tmp_path / "scaling.svg").read_text(encoding="utf-8").startswith("<svg")
    assert (tmp_path / "scaling.png").read_bytes().startswith(b"\x89PNG")


def work(ours_count: float, **goal: Any) -> Work:
    """Ours and theirs do the same; the counts alone make one of them the faster."""
    same = [*range(20000)]
    tasks = {
        "ours": Task(lambda: sorted(same), ours_count),
        "theirs": Task(lambda: sorted(same), 1.0),
        "absent": Task(lambda: None, 1.0, needs="no_such_package"),
    }
    return Work("w", tasks, (Goal("ours", "theirs", **goal), Goal("ours", "absent", **goal)))


@pytest.mark.parametrize(
    ("count", "goal", "met"),
    [
        (1e6, {"at_least": 2.0}, True),
        (1e-6, {"at_least": 2.0}, False),
        (1e6, {"at_most": 2.0}, True),
        (1e-6, {"at_most": 2.0}, False),
        (1e6, {}, None),
    ],
)
@pytest.mark.parametrize("cpu_time", [True, False])
def test_a_goal_is_met_within_its_ratio_only(
    count: float, goal: dict[str, float], met: bool | None, cpu_time: bool
) -> None:
    judged, skipped = run(work(count, **goal), rounds=3, cpu_time=cpu_time)
    assert judged.met is met
    assert isinstance(judged.ours, float)
    assert judged.peer_value is not None
    assert (judged.ours < judged.peer_value) == (count > 1)
    assert (skipped.met, skipped.note) == (None, "no_such_package is not installed")


def test_a_goal_within_the_range_of_the_rounds_shows_the_range() -> None:
    spent = iter([1.0, 2.0, 3.0])
    tasks = {
        "ours": Task(lambda: Cost(next(spent), 0.0), 1.0),
        "theirs": Task(lambda: Cost(3.0, 0.0), 1.0),
    }
    goals = (
        Goal("ours", "theirs", at_least=1.2),
        Goal("ours", "theirs", at_least=3.5, reported=True),
        Goal("ours", 2.5),
        Goal("ours", "theirs"),
    )
    rows = [*run(Work("w", tasks, goals, "s", 1.0), rounds=3, cpu_time=False)]
    assert [(row.met, row.low, row.high) for row in rows] == [
        (True, 1.0, 3.0),
        (False, None, None),
        (True, 1.0, 3.0),
        (None, None, None),
    ]
    found = [table.cells(row) for row in rows]
    assert [(line[1], line[3], line[5]) for line in found] == [
        ("2 s", "1.5 (1 to 3)", "yes"),
        ("2 s", "1.5", "reported"),
        ("2 s (1 to 3)", "", "yes"),
        ("2 s", "1.5", ""),
    ]


def test_missed_goal_is_reported() -> None:
    rows = [
        Row("a", 1.0, "ns", "b", 2.0, 2.0, "≥ 1 ×", True),
        Row("c", 1234.5, "ns", "d", 2.0, 0.001, "≥ 5 ×", False),
        Row("e", 1.0, "ns", "f", goal="≥ 1 ×", note="f is not installed"),
        Row("g", 1.0, "ns"),
    ]
    header, *lines = table.as_text(rows).splitlines()
    assert header.split() == ["work", "ours", "peer", "ratio", "goal", "met"]
    ends = [line[header.index("met") :] for line in lines]
    assert ends == ["yes", "NOT MET", "not measured", ""]
    assert "1234 ns" in lines[1]
    assert table.summary(rows) == "1 goals met, 1 not met, 1 not measured, 0 reported"
    assert table.as_markdown(rows).count("|") == 6 * 7


def test_the_page_is_filled_between_its_markers() -> None:
    text = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    for name in (*page.TABLES, "scaling"):
        once = page.fill(text, name, "first")
        assert page.fill(once, name, "second") == page.fill(text, name, "second")
        assert "second" in page.fill(once, name, "second")
    with pytest.raises(SystemExit, match="found 0"):
        page.fill("no markers", "goals", "x")


def test_one_run_fills_both_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [Row("A: stream", 1.0, "ns"), Row("csv: to T scores", 2.0, "ns")]
    about = {"machine": {"processor": "one"}, "clock": "wall time", "rounds": 5, "quick": False}
    table.write_json(tmp_path / "bench.json", rows, **about)
    filled = tmp_path / "performance.md"
    filled.write_text((ROOT / "docs" / "performance.md").read_text("utf-8"), "utf-8")
    files = ["--page", filled, "--bench", tmp_path / "bench.json", "--scaling", tmp_path / "none"]
    monkeypatch.setattr(sys, "argv", ["page", *map(str, files)])
    page.main()
    text = filled.read_text("utf-8")
    first, _, more = text.partition("<!-- goals: end -->")
    assert "| A: stream | 1 ns |" in first
    assert "csv: to T scores" not in first
    assert "| csv: to T scores | 2 ns |" in more
    assert text.count("- processor: one") == 2


def test_slope_is_the_power() -> None:
    points = [Point("e", "s", x, 3 * x**1.5, 7) for x in (1, 10, 100)]
    assert slope(points, lambda point: point.seconds) == pytest.approx(1.5)
    assert slope(points, lambda point: point.nbytes) == pytest.approx(0)


def test_more_instructions_than_on_record_are_reported() -> None:
    recorded = json.loads(RECORD.read_text(encoding="utf-8"))["instructions"]
    assert tuple(recorded) == LOOPS
    now = {**recorded, "sparse": int(recorded["sparse"] * 1.06), "walk": 1}
    lines, slower = compare(recorded, now)
    assert slower == ["sparse"]
    assert len(lines) == 1 + len(LOOPS)


def test_share_is_measured_and_extrapolated(tmp_path: Path) -> None:
    quick("benchmarks.spark", "--only", "share", "--json", tmp_path / "share.json")
    rows, _ = table.read_json(tmp_path / "share.json")
    assert all(isinstance(row.ours, float) and row.ours > 0 for row in rows)
    with pytest.raises(KeyError, match=TRANSFER):
        estimate(rows)
    units = {"share: update": 20.0, "share: snapshot and score": 100.0}
    figures = [Row(row.work, units.get(row.work, 1000.0), row.unit) for row in rows]
    lines = estimate([*figures, Row(TRANSFER, 100.0, "ns/non-zero")]).splitlines()
    found = {line.split("|")[1].strip(): line.split("|")[-2].strip() for line in lines}
    # 115 non-zeros of 10⁷ rows; 10⁶ features in each bank; 10⁴ features merged by each executor
    assert found["rows from Spark to the Python worker"] == "115 s"
    assert found["rows into the bank"] == "23 s"
    assert found["cutting the bank into pieces"] == "1e+03 s"
    assert found["merging the pieces"] == "10 s"
    assert found["scoring"] == "1 s"
    assert found["**time**"] == "**1149 s**"
    assert found["shuffle of all"] == "100 GB"
    assert found["**bottleneck**"] == "cutting the bank into pieces"


def test_peers_in_spark_count_every_value(spark: Any) -> None:
    from benchmarks.spark import approx_quantile_and_counts, dense_frame

    df = dense_frame(spark, 500, 3)
    counts = approx_quantile_and_counts(df, 0.01)
    for feature in range(3):
        mine = [row["count"] for row in counts if row.feature == feature]
        assert sum(mine) == 500
        assert len(mine) == 5 * 2
    df.unpersist()


def test_threads_are_compared_by_the_instructions_of_each() -> None:
    assert set(parallel.LOOPS) <= set(LOOPS)
    line = parallel.row("flags", 100_000_000, 52_000_000, 50_000_000)
    assert line == "| flags | 100.0 M | 52.0 M + 50.0 M | 1.02 × | 2.0 % |"
