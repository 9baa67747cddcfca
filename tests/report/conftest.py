"""Example reports: a drifting stream, hostile names, many classes, many features."""

from dataclasses import replace

import numpy as np
import pytest

from driftsieve import Batch, FeatureScreener, offline, report
from driftsieve.history import ScoreHistory
from driftsieve.snapshot import Snapshot

HOSTILE = (
    "<script>document.title='owned'</script>",
    "</script><script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    "'\"--><svg onload=document.title='owned'>",
    "<!--<script>",
    "${document.title='owned'}",
    "&lt;b&gt;",
    "\u202egnp.exe",
    "line\nbreak\ttab",
    "lone \ud800 surrogate",
    "\x1b[31mred\x1b[0m",
    "",
    " ",
    "n" * 5000,
)


@pytest.fixture(scope="session")
def drifting():
    """Two classes; the features out of 48 that separate them change along the stream."""
    rng = np.random.default_rng(7)
    n, p, half_life = 6000, 48, 500
    y = rng.integers(0, 2, n)
    time = np.linspace(0, 1, n)[:, None]
    j = np.arange(p // 2)
    strength = np.zeros((n, p))
    strength[:, j] = 0.3 + 1.3 * ((j * 0.77) % 1)
    strength[:, j] *= np.exp(-(((time - (j * 0.618) % 1) / (0.1 + 0.25 * ((j * 0.37) % 1))) ** 2))
    X = rng.normal(size=(n, p)) + (2 * y[:, None] - 1) * strength / 2
    X[:, 3] = np.exp(X[:, 3])
    X[:, 11] = np.maximum(X[:, 11], 0.2)  # a heavy atom
    X[:, 19] = np.round(2 * X[:, 19])
    names = tuple(f"sensor_{i:02d}" for i in range(p))

    def snapshot_after(rows, n_bins=5):
        kept = slice(max(0, rows - 5 * half_life), rows)
        weight = 0.5 ** ((rows - np.arange(n)[kept]) / half_life)
        snap = offline.snapshot(X[kept], y[kept], n_bins=n_bins, sample_weight=weight)
        return replace(snap, feature_names=names)

    history = ScoreHistory("mutual_info", k=8, every=100)
    for rows in range(100, n + 1, 100):
        history.record(rows, snapshot_after(rows))
    return report.build(
        snapshot_after(n),
        history=history,
        fine=snapshot_after(n, 20),
        n_rows=n,
        title="A drifting stream of 48 sensors",
        parameters={
            "source": "sensors-*.parquet",
            "half_life": half_life,
            "clock": "row",
            "n_bins": 5,
            "epsilon": 0.01,
            "batch_size": np.int64(100),
        },
    )


@pytest.fixture(scope="session")
def hostile():
    """Names and labels that try to be markup, in every place a name can go."""
    rng = np.random.default_rng(0)
    y = np.array(HOSTILE[:3])[rng.integers(0, 3, 400)]
    X = rng.normal(size=(400, len(HOSTILE))) + (y == HOSTILE[0])[:, None]
    snap = replace(offline.snapshot(X, y), feature_names=HOSTILE)
    history = ScoreHistory("mutual_info", k=2)
    for position in range(1, 60):
        history.record(position, rng.random(len(HOSTILE)), HOSTILE)
    text = HOSTILE[1]
    return report.build(
        snap, history=history, title=text, parameters={text: text, "labels": HOSTILE}, unit=text
    )


@pytest.fixture(scope="session")
def wide():
    """100,000 features."""
    rng = np.random.default_rng(0)
    p, k = 100_000, 5
    bins = rng.integers(1, 1000, (p, k, 2)).astype(float)
    weight = bins.sum(axis=1).T
    snap = Snapshot(
        classes=np.array(["ham", "spam"]),
        class_weight=weight.max(axis=1),
        class_n_eff=weight.max(axis=1),
        n_eff=float(weight.max(axis=1).sum()),
        n_features=p,
        feature_names=tuple(f"word={i}" for i in range(p)),
        first_feature=0,
        weight=weight,
        mean=rng.normal(size=(2, p)),
        var=rng.random((2, p)) + 0.5,
        bin_weights=bins,
        edges=np.sort(rng.normal(size=(p, k - 1)), axis=1),
        rank_error=rng.random(p) * 0.009 * weight.sum(axis=0),
    )
    history = ScoreHistory("mutual_info", k=10)
    for position in range(1000, 20_000, 1000):
        history.record(position, rng.random(p), snap.feature_names)
    history.record(20_000, snap)
    return report.build(
        snap, history=history, n_rows=20_000, title="Wide", parameters={"epsilon": 0.01}
    )


@pytest.fixture(scope="session")
def many_classes():
    """Twenty classes, integers, a perfect feature, a constant one, missing values; no history."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 20, 3000)
    X = np.column_stack(
        [
            y.astype(float),
            rng.normal(size=3000) + y / 5,
            np.zeros(3000),
            np.where(rng.random(3000) < 0.5, np.nan, rng.normal(size=3000)),
            (rng.random(3000) < y / 20).astype(float),
        ]
    )
    return report.build(
        offline.snapshot(X, y, missing="ignore"), score_func="t", title="Twenty classes"
    )


@pytest.fixture(scope="session")
def learned():
    """A learned memory, by dates, with a flag and a category of two values; it leaps once."""
    rng = np.random.default_rng(3)
    n = 6000
    y = np.array(["ok", "fraud"])[rng.integers(0, 2, n)]
    late, fraud = np.arange(n) >= 3500, y == "fraud"
    X = rng.normal(size=(n, 8))
    X[:, 0] += 1.5 * (fraud & ~late)
    X[:, 1] += 1.5 * (fraud & late)
    X[:, 2] = rng.random(n) < np.where(fraud & late, 0.7, 0.3)
    names = ["before", "after", "colour=red", *(f"noise_{i}" for i in range(5))]
    screener = FeatureScreener(k=2, half_life="auto")
    history = ScoreHistory(k=2)
    for rows in range(500, n + 1, 500):
        part = slice(rows - 500, rows)
        screener.partial_fit(Batch.of(X[part], y[part], feature_names=names))
        history.record(rows, screener, time=1.7e9 + 600 * rows)
    return report.of_bank(screener.bank_, history, k=2, title="A leap")
