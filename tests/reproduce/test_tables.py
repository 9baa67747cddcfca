"""Tables 1 to 5 on the small data sets: the claims of the paper that hold, and those that fail."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from driftsieve import Bank, offline
from driftsieve.reproduce.accuracy import Pair, count_difference, difference_ratio, misranked
from driftsieve.reproduce.datasets import MissingDataError, at_hand
from driftsieve.reproduce.experiments import EXPERIMENTS
from driftsieve.reproduce.result import ExperimentRun, Result
from driftsieve.scores import mutual_info

Quick = Callable[[str], Result]


def pair(X: np.ndarray, y: np.ndarray, epsilon: float) -> Pair:
    return Pair("made", epsilon, Bank(epsilon).update(X, y).snapshot(), offline.snapshot(X, y))


def test_measures_are_zero_where_the_bank_is_exact() -> None:
    rng = np.random.default_rng(0)
    exact = pair(rng.normal(size=(300, 8)), rng.integers(0, 2, 300), 0.01)
    assert count_difference(exact) == 0
    assert difference_ratio(exact, "chi2") == pytest.approx(0, abs=1e-12)
    assert misranked(exact, "gini") == 0


def test_measures_follow_the_paper() -> None:
    """Straight from the two snapshots, with loops."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 20_000)
    both = pair(rng.normal(size=(20_000, 20)) + 0.1 * y[:, None], y, 0.05)
    on, off = both.online.bin_weights, both.offline.bin_weights
    assert on is not None
    assert off is not None
    moved = [abs(on[j, k, c] - off[j, k, c]) for j in range(20) for k in range(5) for c in range(2)]
    assert count_difference(both) == pytest.approx(sum(moved) / (20 * 5))
    assert count_difference(both) > 0
    w_on, w_off = mutual_info(both.online), mutual_info(both.offline)
    expected = sum(abs(a - b) for a, b in zip(w_on, w_off, strict=True)) / 20
    assert difference_ratio(both, "mutual_info") == pytest.approx(
        expected / (max(w_off) - min(w_off))
    )
    top_on, top_off = np.argsort(-w_on)[:2], np.argsort(-w_off)[:2]
    assert misranked(both, "mutual_info") == np.mean(top_on != top_off)


@pytest.mark.parametrize(("name", "times"), [("table3", 50), ("table4", 7)])
def test_differences_vanish_by_a_thousandth(quick_on_data: Quick, name: str, times: int) -> None:
    """As published, but for a long stream without ties, where they only shrink with ε.

    From ε = 0.2 to 0.001 rows in another bin become some 100 times fewer (98 to 133 over eight
    streams). They are of either class by chance, so that scores move as the square root of their
    number: 9 to 21 times less. The bars are 50 and its root.
    """
    result = quick_on_data(name)
    published, longer, *_ = result.claims
    assert published.holds, published
    assert not longer.holds, longer
    rows = result.tables[""]
    for measure in {row["measure"] for row in rows}:
        found = [row["continuous"] for row in rows if row["measure"] == measure]
        assert found == sorted(found, reverse=True)
        assert found[0] > times * found[-1] > 0


def test_ranks_do_not_settle_before_a_thousandth(quick_on_data: Quick) -> None:
    """The paper's claim is for ε = 0.01; madelon's features of noise are too close for that."""
    result = quick_on_data("table5")
    published, _ = result.claims
    assert not published.holds
    finest = [row for row in result.tables[""] if row["epsilon"] == 0.001]
    assert len(finest) == 3
    for row in finest:
        assert row["url"] == row["dexter"] == row["madelon"] == 0


@pytest.mark.parametrize(("name", "settings"), [("table1", 4), ("table2", 3)])
def test_timing_table_has_a_row_per_setting(quick_on_data: Quick, name: str, settings: int) -> None:
    rows = quick_on_data(name).tables[""]
    assert len(rows) == settings + 1
    assert "offline" in rows[-1].values()
    assert all(row[data] > 0 for row in rows for data in ("url", "dexter", "madelon"))


def test_missing_data_set_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match="or set DRIFTSIEVE_DATA"):
        EXPERIMENTS["table1"].run(ExperimentRun(quick=True))
    with pytest.raises(MissingDataError, match="data folder must exist"):
        list(at_hand(tmp_path / "nowhere"))
    with pytest.raises(MissingDataError, match="At least one of url, "):
        list(at_hand(tmp_path))
