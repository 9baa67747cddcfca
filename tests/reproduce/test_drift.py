"""The paper's claims about synthetic drift, put to the test on small streams."""

from collections.abc import Callable

import numpy as np

from driftsieve import Bank
from driftsieve.reproduce.detection import batch_bank, detect
from driftsieve.reproduce.result import Result
from driftsieve.reproduce.synthetic import DriftStream

Quick = Callable[[str], Result]


def test_detection_rate_is_the_share_of_true_features_among_the_selected() -> None:
    """Recomputed from the rows, by argsort of T-scores."""
    stream = DriftStream(50, n_rows=400, n_features=40, n_true=8, seed=5)
    (record,) = detect(stream, {1.0: batch_bank(1.0)}, batch=100, scores=["t"], at=[300],
                       selected=[10])  # fmt: skip
    bank = Bank(quantiles=False)
    for X, y in list(stream.batches(100))[:3]:
        bank.update(X, y)
    snap = bank.snapshot()
    assert snap.mean is not None
    assert snap.var is not None
    t = np.abs(np.diff(snap.mean, axis=0)[0]) / np.sqrt((snap.var / snap.weight).sum(axis=0))
    best = set(np.argsort(-t)[:10].tolist())
    assert record["rate"] == len(best & set(range(5, 13))) / 8


def test_claims_of_figure2_hold(quick: Quick) -> None:
    result = quick("figure2")
    found = {claim.published: claim.holds for claim in result.claims}
    assert found["The five screening methods show very similar performance."]
    assert found["A fast shifting rate has a negative impact."]
    assert found["Adjusting the fading factor improves the detection rate for fast shifts too."]

    # The slower the drift, the longer the best memory; it is neither infinite nor the shortest.
    heat = result.tables["d-heat"]
    shifts = sorted({cell["shift"] for cell in heat})
    best = [
        max((cell for cell in heat if cell["shift"] == shift), key=lambda cell: cell["rate"])
        for shift in shifts
    ]
    alphas = [cell["fading"] for cell in best]
    assert alphas == sorted(alphas)
    assert 0.5 < alphas[0] < alphas[-1] < 1.0
    assert all(0 <= row["rate"] <= 1 for table in result.tables.values() for row in table)


def test_adaptation_wins_at_every_rate_with_a_fitted_decay_only(quick: Quick) -> None:
    """Adaptation wins at every rate if α is fitted to it; the published α does not."""
    result = quick("figure3")
    rows = result.tables["gain"]
    fastest, slowest = (pick(row["shift"] for row in rows) for pick in (min, max))
    for row in rows:
        assert row["gain, α adjusted"] > 2 * row["error, α adjusted"], row
        if row["shift"] == slowest:  # a memory of ten batches is too short for slow drift
            assert row["gain, α 0.9"] < -2 * row["error, α 0.9"], row
        if row["shift"] == fastest:
            assert row["gain, α 0.9"] > 2 * row["error, α 0.9"], row
    assert [claim.holds for claim in result.claims[:2]] == [True, False]
    for row in result.tables[""]:
        assert 0 <= row["rate"] <= 1
        assert row["rate"] == 1 or row["selected"] < 200


def test_the_best_half_life_is_longer_for_slower_drift(quick: Quick) -> None:
    """At every rate some half-life beats none, and a longer one the slower the drift."""
    result = quick("half-life")
    (claim,) = result.claims
    assert claim.holds, claim
    lives = [row["half_life"] for row in result.tables["best"]]
    assert "none" not in lives
    ascending = [int(life.replace(",", "")) for life in lives]
    assert ascending == sorted(ascending)
    assert ascending[0] < ascending[-1]
