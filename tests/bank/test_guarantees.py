"""The guarantee on ranks: exact ranks are within epsilon and within the certificate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from numpy.typing import NDArray
from scipy import sparse

import driftsieve as ds
from exact_ranks import Floats, RankErrors, rank_errors

EPSILONS = (0.1, 0.01, 0.001)


def hostile_orders(n: int) -> Floats:
    """One column per order in which values may come; all columns share their rows' weights."""
    rng = np.random.default_rng(n)
    i = np.arange(n)
    side = np.where(i % 2 == 0, 1.0, -1.0)
    return np.column_stack(
        [
            rng.permutation(n) - n / 2,
            i,  # sorted
            -i,  # reversed, below zero
            side * i,  # alternating, outwards
            side * (n - i) / n,  # alternating, zooming in on zero
            1.0 + side * 2.0 ** (-50.0 * i / n),  # zooming in on 1, down to the last bit
            side * 2.0 ** (-1000.0 * i / n),  # zooming through all scales
            side * np.exp2(1000.0 * i / n),  # zooming out
            rng.integers(0, 5000, n),  # tied
            np.minimum(i % 1000, 30),  # few values, most rows tied to one of them
            np.where(rng.random(n) < 0.5, rng.integers(-3, 4, n), rng.normal(size=n)),  # lumps
            rng.standard_cauchy(n) ** 3,  # tails that no grid covers
            np.floor(1e6 * rng.random(n) ** 8) / 1e6,  # crowded at one end
        ]
    ).astype(np.float64)


Weighing = tuple[Floats | None, dict[str, Any]]
WEIGHTS: dict[str, Callable[[int], Weighing]] = {
    "unit": lambda _: (None, {}),
    "fading": lambda n: (None, {"half_life": n / 20}),
    "fading fast": lambda _: (None, {"half_life": 300.0}),
    "growing": lambda n: (np.exp(np.linspace(0, 30, n)), {}),
    "shrinking": lambda n: (np.exp(-np.linspace(0, 30, n)), {}),
    "wild": lambda n: (np.random.default_rng(n).lognormal(0, 4, n), {}),
    "shrinking and fading": lambda n: (
        np.exp(-np.linspace(0, 40, n)),
        {"half_life": n / 50},
    ),
}


def rare_class(n: int) -> NDArray[np.int64]:
    """Class 1 has a tenth of the rows, and class 2 comes in the second half only."""
    rng = np.random.default_rng(n + 1)
    y = (rng.random(n) < 0.1).astype(np.int64)
    y[n // 2 :][rng.random(n - n // 2) < 0.3] = 2
    return y


def weight_from_now(n: int, sample_weight: Floats | None, half_life: float = np.inf) -> Floats:
    weight = np.exp2(-np.arange(n)[::-1] / half_life)
    return weight if sample_weight is None else weight * sample_weight


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_ranks_are_within_epsilon_and_the_certificate(epsilon: float, weights: str) -> None:
    n = 60_000
    X, y = hostile_orders(n), rare_class(n)
    sample_weight, settings = WEIGHTS[weights](n)
    bank = ds.Bank(epsilon, **settings).update(X, y, sample_weight)
    for errors in rank_errors(bank, X, y, weight_from_now(n, sample_weight, **settings)):
        errors.check(epsilon)


@pytest.mark.parametrize(
    ("epsilon", "weights"), [(0.1, "unit"), (0.01, "shrinking and fading"), (0.001, "unit")]
)
def test_ranks_of_a_million_rows(epsilon: float, weights: str) -> None:
    n = 1_000_000
    X, y = hostile_orders(n)[:, [0, 2, 5]], rare_class(n)
    sample_weight, settings = WEIGHTS[weights](n)
    bank = ds.Bank(epsilon, **settings).update(X, y, sample_weight)
    for errors in rank_errors(bank, X, y, weight_from_now(n, sample_weight, **settings)):
        errors.check(epsilon)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_ranks_of_sparse_rows_are_within_epsilon(epsilon: float, weights: str) -> None:
    n = 60_000
    X, y = hostile_orders(n), rare_class(n)
    X[np.random.default_rng(5).random(X.shape) < 0.5] = 0.0
    sample_weight, settings = WEIGHTS[weights](n)
    bank = ds.Bank(epsilon, **settings).update(sparse.csr_array(X), y, sample_weight)
    for errors in rank_errors(bank, X, y, weight_from_now(n, sample_weight, **settings)):
        errors.check(epsilon)


@pytest.mark.parametrize("as_input", [np.asarray, sparse.csr_array])
def test_missing_values_do_not_loosen_the_guarantee(as_input: Callable[..., Any]) -> None:
    n = 40_000
    X, y = hostile_orders(n), rare_class(n)
    X[np.random.default_rng(6).random(X.shape) < 0.9] = np.nan
    bank = ds.Bank(0.01, missing="ignore").update(as_input(X), y)
    for errors in rank_errors(bank, X, y, np.ones(n)):
        errors.check(0.01)  # of the weight that counts for the feature, a tenth of all


@pytest.mark.parametrize("weights", ["unit", "growing", "shrinking", "wild"])
@pytest.mark.parametrize("epsilon", [0.1, 0.01])
def test_random_partitions_merged_in_random_trees(epsilon: float, weights: str) -> None:
    n = 60_000
    rng = np.random.default_rng(7)
    X, y = hostile_orders(n), rare_class(n)
    sample_weight, _ = WEIGHTS[weights](n)
    part = np.minimum(rng.geometric(0.2, n), 12)  # parts of very different sizes
    banks = []
    for k in np.unique(part):
        rows = part == k
        given = X[rows] if k % 3 else sparse.csr_array(X[rows])
        w = None if sample_weight is None else sample_weight[rows]
        banks.append(ds.Bank(epsilon).update(given, y[rows], w))
    while len(banks) > 1:
        i, j = rng.choice(len(banks), 2, replace=False)
        banks[i].merge(banks[j])
        del banks[j]
    assert banks[0].n_rows == n
    for errors in rank_errors(banks[0], X, y, weight_from_now(n, sample_weight)):
        errors.check(epsilon)


@pytest.mark.parametrize("clock", ["row", "batch", "time"])
def test_faded_parts_merged_in_random_trees(clock: str) -> None:
    """A part begins at the earliest begin of its own parts; starts are relative to that."""
    n, epsilon, half_life = 40_000, 0.02, {"row": 3000.0, "batch": 2.0, "time": 3000.0}[clock]
    rng = np.random.default_rng(8)
    X, y = hostile_orders(n), rare_class(n)
    edges = np.sort(rng.choice(n, 15, replace=False))
    parts = []
    for i, rows in enumerate(np.split(np.arange(n), edges)):
        t = rows.astype(np.float64) if clock == "time" else None
        bank = ds.Bank(epsilon, half_life=half_life, clock=clock).update(X[rows], y[rows], time=t)
        begin = {"row": int(rows[0]), "batch": i, "time": 0}[clock]
        parts.append((begin, bank))
    while len(parts) > 1:
        i, j = sorted(rng.choice(len(parts), 2, replace=False))
        (begin, bank), (other_begin, other) = parts[i], parts.pop(j)
        assert begin <= other_begin
        bank.merge(other, start=None if clock == "time" else other_begin - begin)
    bank = parts[0][1]
    ticks = np.arange(n, dtype=np.float64)
    if clock == "batch":
        ticks = np.searchsorted(edges, np.arange(n), side="right").astype(np.float64)
    assert bank.now == ticks.max()
    for errors in rank_errors(bank, X, y, np.exp2((ticks - ticks.max()) / half_life)):
        errors.check(epsilon)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("as_input", [np.asarray, sparse.csr_array])
def test_up_to_one_in_epsilon_distinct_values_stay_exact(
    epsilon: float, as_input: Callable[..., Any]
) -> None:
    n, most = 60_000, round(1 / epsilon)
    rng = np.random.default_rng(9)
    X = np.column_stack(
        [
            rng.integers(0, most, n),
            rng.integers(0, most, n) - most // 2,
            1e6 + np.sort(rng.integers(0, most, n)),
            np.exp2(rng.integers(-most // 2, most // 2, n) * min(1.0, 900 / most)),
        ]
    )
    X = np.where(X > 1e300, 1e300, X)
    y = rare_class(n)
    bank = ds.Bank(epsilon).update(as_input(X), y)
    assert_array_equal(bank.snapshot().rank_error, 0.0)
    for errors in rank_errors(bank, X, y, np.ones(n)):
        assert errors.overall <= errors.slack
    exact = ds.offline.snapshot(X, y, n_bins=7)
    assert_array_equal(bank.snapshot(n_bins=7).bin_weights, exact.bin_weights)


@pytest.mark.parametrize("share", [1000, 20])
def test_a_rare_class_is_right_within_a_share_of_all_rows(share: int) -> None:
    """What all classes hide together bounds what each hides, and no class is ever overestimated."""
    n, epsilon = 200_000, 0.05
    rng = np.random.default_rng(10)
    y = (np.arange(n) % share == 0).astype(np.int64)
    X = rng.normal(size=(n, 2)) + np.column_stack([5.0 * y, -0.1 * y])
    bank = ds.Bank(epsilon).update(X, y)
    for errors in rank_errors(bank, X, y, np.ones(n)):
        errors.check(epsilon)
    snapshot = bank.snapshot(n_bins=20)
    assert_array_equal(snapshot.bin_weights.sum(axis=1), np.tile(np.bincount(y), (2, 1)))
    for j in range(2):
        true = np.array([[(X[y == c, j] <= e).sum() for c in (0, 1)] for e in snapshot.edges[j]])
        missing = true - np.cumsum(snapshot.bin_weights[j], axis=0)[:-1]
        assert missing.min() >= 0
        assert missing.sum(axis=1).max() <= snapshot.rank_error[j] <= epsilon * n


def test_errors_do_not_make_noise_look_like_a_signal() -> None:
    """Classes are pruned together: edges are off, the table is still one of independent rows.

    Errors of 1,000 rows that differed between the classes would give a chi-square of hundreds.
    """
    n, p = 200_000, 100
    rng = np.random.default_rng(12)
    y = (rng.random(n) < 0.1).astype(np.int64)
    snapshot = ds.Bank(0.05).update(rng.normal(size=(n, p)), y).snapshot()
    assert snapshot.rank_error.min() > 1000
    found = ds.scores.chi2(snapshot)
    assert abs(found.mean() - 4) < 4 * np.sqrt(8 / p)  # 4 degrees of freedom have a variance of 8


def test_a_weak_signal_is_found_in_pruned_summaries() -> None:
    """Class means 0.05 standard deviations apart, in bins that may be off by 2,000 rows."""
    n = 200_000
    rng = np.random.default_rng(13)
    y = rng.integers(0, 2, n)
    X = rng.normal(size=(n, 40))
    X[:, :20] += 0.05 * y[:, None]
    bank = ds.Bank(0.01)
    for rows in np.array_split(np.arange(n), 30):
        bank.update(X[rows], y[rows])
    snapshot = bank.snapshot()
    assert snapshot.rank_error.min() > 0
    for pvalues in (ds.scores.chi2_pvalues(snapshot), ds.scores.mutual_info_pvalues(snapshot)):
        assert pvalues[:20].max() < 1e-6
        assert pvalues[20:].min() > 1e-4


class Adversary:
    """Adds each batch where the error of a snapshot is largest, compared with all rows."""

    def __init__(self, bank: ds.Bank, rng: np.random.Generator) -> None:
        self.bank, self.rng = bank, rng
        self.x = np.empty(0)
        self.weight = np.empty(0)

    def add(self, x: Floats, weight: Floats) -> None:
        self.bank.update(x[:, None], np.zeros(len(x), dtype=int), weight)
        self.x, self.weight = np.append(self.x, x), np.append(self.weight, weight)

    def errors(self) -> RankErrors:
        y = np.zeros(len(self.x), dtype=int)
        return rank_errors(self.bank, self.x[:, None], y, self.weight)[0]

    def worst_gap(self) -> tuple[float, float]:
        """The entry that hides most, and the largest value below it."""
        snapshot = self.bank.snapshot(n_bins=int(100 / self.bank.epsilon))
        edges, first = np.unique(snapshot.edges[0], return_index=True)
        order = np.argsort(self.x)
        value = self.x[order]
        rank = np.concatenate([[0.0], np.cumsum(self.weight[order])])
        below = np.searchsorted(value, edges, side="left")
        estimated = np.append(0.0, np.cumsum(snapshot.bin_weights[0, :, 0]))[first]
        worst = int(np.argmax(rank[below] - estimated))
        return edges[worst], value[max(0, below[worst] - 1)]


@pytest.mark.parametrize("scale", [1.0, 0.97, 1.03])
@pytest.mark.parametrize("epsilon", [0.1, 0.01])
def test_rank_error_is_bounded_against_an_adversary(epsilon: float, scale: float) -> None:
    rng = np.random.default_rng(11)
    adversary = Adversary(ds.Bank(epsilon), rng)
    weight, batch = 1.0, 256
    adversary.add(rng.random(8192), np.ones(8192))
    for _ in range(200):
        high, low = adversary.worst_gap()
        x = low + (high - low) * np.sort(rng.random(batch))
        adversary.add(x if rng.random() < 0.5 else x[::-1], np.full(batch, weight))
        weight *= scale
    adversary.errors().check(epsilon)
