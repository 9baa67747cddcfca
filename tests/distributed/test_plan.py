"""Cutting, merging and checking, apart from any engine."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from engine_rows import assert_scores, rows
from numpy.testing import assert_allclose
from scipy import sparse

from driftsieve.distributed.plan import Plan, clock_of

SETTINGS: dict[str, Any] = {"clock": "row", "epsilon": 0.001, "block_size": 3}


@pytest.mark.parametrize("as_input", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("block_size", [1, 2, 3, 7, 8, 100])
def test_cuts_are_the_blocks_in_order(as_input: Any, block_size: int) -> None:
    data = rows(0)
    plan = Plan.of(**{**SETTINGS, "score_func": "chi2", "block_size": block_size})
    bank = plan.bank().update(as_input(data.X), data.y)
    whole = plan.scores(bank)[0]
    cuts = list(plan.cuts(bank))
    assert [number for number, _ in cuts] == list(range(len(cuts)))
    assert [cut.n_features for _, cut in cuts[:-1]] == [block_size] * (len(cuts) - 1)
    parts = [plan.scores(cut, number * block_size)[0] for number, cut in cuts]
    assert [part.first_feature for part in parts] == list(range(0, 8, block_size))
    assert_allclose(np.concatenate([part.scores for part in parts]), whole.scores, rtol=1e-12)


@pytest.mark.parametrize("clock", ["row", "batch"])
def test_merged_banks_follow_one_another_and_stay_as_they_are(clock: str) -> None:
    data = rows(1)
    plan = Plan.of(clock, score_func="t", half_life=50.0)
    empty = plan.bank()
    parts = [plan.bank().update(data.X[i], data.y[i]) for i in (slice(0, 90), slice(90, 400))]
    before = [part.to_bytes() for part in parts]
    merged = plan.merged([empty, parts[0], empty, parts[1]])
    assert [part.to_bytes() for part in parts] == before
    assert empty.n_rows == 0
    one = plan.bank().update(data.X[:90], data.y[:90]).update(data.X[90:], data.y[90:])
    assert_allclose(plan.scores(merged)[0].scores, plan.scores(one)[0].scores, rtol=1e-9)


def test_a_plan_keeps_only_what_its_score_needs() -> None:
    assert Plan.of(score_func="t", **SETTINGS).settings["quantiles"] is False
    assert Plan.of(score_func="gini", **SETTINGS).settings["moments"] is False
    whole = Plan.of(score_func="t", **SETTINGS, whole_bank=True)
    assert whole.settings["quantiles"] is whole.settings["moments"] is True


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"score_func": "mi"}, "score_func must be one of 't', 'fisher'.*got 'mi'"),
        ({"epsilon": 0.7}, "epsilon must be at least 1e-8"),
        ({"decay": 0.9, "half_life": 3.0}, "decay and half_life must not both be given, got"),
        (
            {"half_life": "auto"},
            r'half_life must be .* or a list of .* "auto"\. .* Fit FeatureScreener',
        ),
        ({"clock": "wall"}, 'clock must be "row", "batch" or "time"'),
        ({"missing": "drop"}, 'missing must be "error" or "ignore"'),
        ({"n_bins": 1}, "n_bins must be a whole number of at least 2"),
        ({"block_size": 0}, "block_size must be at least 1, got 0"),
    ],
)
def test_bad_settings_are_an_error_before_any_work(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Plan.of(**{"score_func": "t", **SETTINGS, **change})


def test_the_clock_follows_the_times() -> None:
    assert clock_of(None, None, "time") == "row"
    assert clock_of(None, [1.0], "time") == "time"
    assert clock_of("batch", None, "time") == "batch"
    with pytest.raises(ValueError, match='time must be given with clock="time"'):
        clock_of("time", None, "time")
    with pytest.raises(ValueError, match="clock must be \"time\" with time, got 'batch'"):
        clock_of("batch", "when", "time")


def test_scores_of_a_plan_are_those_of_a_bank() -> None:
    data = rows(2)
    plan = Plan.of(score_func="gini", **SETTINGS)
    result = plan.scores(plan.bank().update(data.X, data.y))[0]
    assert result.pvalues is None
    nothing = np.full(8, np.nan)
    ranks = np.argsort(np.argsort(result.scores, kind="stable")) + 1
    assert_scores(
        {"score": result.scores, "pvalue": nothing, "rank": ranks}, data, "gini", epsilon=0.001
    )


def test_engines_are_imported_only_where_they_are_used() -> None:
    program = """if True:
        import sys
        import driftsieve.distributed.dask, driftsieve.distributed.spark
        print(*{name.partition(".")[0] for name in sys.modules})
        sys.modules["pyspark.ml"] = None
        try:
            import driftsieve.distributed.spark_ml
        except ImportError as problem:
            print(problem)
    """
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    loaded, message = run.stdout.splitlines()
    assert "driftsieve" in loaded.split()
    assert not set(loaded.split()) & {"dask", "distributed", "pandas", "pyarrow", "pyspark"}
    assert message == 'DriftScreener needs pyspark: pip install "driftsieve[spark]"'
