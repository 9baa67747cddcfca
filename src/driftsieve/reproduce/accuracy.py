"""Tables 3, 4 and 5: differences of counts, scores and ranks from the offline ones, by ε."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

import numpy as np

from driftsieve.bank import Bank
from driftsieve.reproduce.datasets import COMPARED, QUICK, Compared, at_hand
from driftsieve.reproduce.offline_bins import offline_bins
from driftsieve.reproduce.result import Claim, ExperimentRun, Record, RecordTable, Result, listed
from driftsieve.reproduce.timing import EPSILONS, MINIBATCH
from driftsieve.scores import SCORES, rank
from driftsieve.snapshot import Snapshot

BINNED = ("chi2", "gini", "mutual_info")
TOP = 0.1
CONTINUOUS = "continuous"


class Pair(NamedTuple):
    """The snapshots of a data set from a bank and offline."""

    data: str
    epsilon: float
    online: Snapshot
    offline: Snapshot


def table3(run: ExperimentRun) -> Result:
    """Make Table 3: difference in counts, per feature and bin, summed over the classes."""
    found = [(pair, "count", count_difference(pair)) for pair in _pairs(run)]
    return Result({"": _table(found)}, claims=_vanish(found, 0.001, _COUNTS))


def table4(run: ExperimentRun) -> Result:
    """Make Table 4: mean difference of scores, as a share of the range of the offline ones (DR)."""
    found = [
        (pair, score, difference_ratio(pair, score)) for pair in _pairs(run) for score in BINNED
    ]
    mean = {s: float(np.mean([value for _, of, value in found if of == s])) for s in BINNED}
    better = Claim(
        "Gini provides slightly better accuracy than chi-square and mutual information.",
        f"Mean DR over all data sets and ε: {listed(mean, '.3g')}.",
        min(mean, key=mean.__getitem__) == "gini",
    )
    return Result({"": _table(found)}, claims=[*_vanish(found, 0.001, _SCORES), better])


def table5(run: ExperimentRun) -> Result:
    """Make Table 5: share of the offline top 10 % of features whose online rank differs."""
    found = [(pair, score, misranked(pair, score)) for pair in _pairs(run) for score in BINNED]
    return Result({"": _table(found)}, claims=_vanish(found, 0.01, _RANKS))


def count_difference(pair: Pair) -> float:
    """Return the number of rows in a different bin, per feature and bin."""
    on, off = pair.online.bin_weights, pair.offline.bin_weights
    assert on is not None
    assert off is not None
    return float(np.abs(on - off).sum() / (on.shape[0] * on.shape[1]))


def difference_ratio(pair: Pair, score: str) -> float:
    """Return the DR of the paper: mean |w_on − w_off| / (max w_off − min w_off)."""
    on, off = (SCORES[score].function(snapshot) for snapshot in (pair.online, pair.offline))
    return float(np.mean(np.abs(on - off)) / np.ptp(off))


def misranked(pair: Pair, score: str) -> float:
    """Return the share of the offline best tenth whose online rank differs."""
    entry = SCORES[score]
    on, off = (
        rank(entry.function(snapshot), entry.larger_is_better)
        for snapshot in (pair.online, pair.offline)
    )
    best = off <= max(1, round(TOP * len(off)))
    return float(np.mean(on[best] != off[best]))


def _pairs(run: ExperimentRun) -> Iterator[Pair]:
    epsilons = (0.2, 0.01, 0.001) if run.quick else EPSILONS
    names = QUICK if run.quick else COMPARED
    data = chain(at_hand(run.data, names), [continuous(run)])
    for name, X, y in run.track(data, "accuracy", len(names) + 1):
        reference = None
        for epsilon in epsilons:
            bank = Bank(epsilon, moments=False)
            for begin in range(0, len(y), MINIBATCH):
                bank.update(X[begin : begin + MINIBATCH], y[begin : begin + MINIBATCH])
            online = bank.snapshot()
            if reference is None:
                reference = replace(online, bin_weights=offline_bins(X, y))
            yield Pair(name, epsilon, online, reference)


def continuous(run: ExperimentRun) -> Compared:
    """Return a stream longer than those of the paper, without ties, as a harder case for ε.

    All features separate the classes about equally well, so that ranks are close.
    """
    rng = np.random.default_rng(0)
    n, p = (20_000, 20) if run.quick else (100_000, 100)
    y = rng.integers(0, 2, n)
    X = rng.standard_normal((n, p)) + 0.2 * y[:, None] * (1 + np.arange(p) / p)
    return CONTINUOUS, X, y


Found = list[tuple[Pair, str, float]]

_COUNTS = "Differences in counts vanish"
_SCORES = "Differences in scores vanish"
_RANKS = "Ranking errors vanish"


def _table(found: Found) -> RecordTable:
    rows: dict[tuple[str, float], Record] = {}
    for pair, measure, value in found:
        key = (measure, pair.epsilon)
        rows.setdefault(key, {"measure": measure, "epsilon": pair.epsilon})[pair.data] = value
    return [rows[key] for key in sorted(rows, key=lambda key: (key[0], -key[1]))]


def _vanish(found: Found, bar: float, what: str) -> list[Claim]:
    """Return the claims that all is exact at ε = bar and below."""
    left: dict[str, float] = {}
    for pair, _, value in found:
        if pair.epsilon <= bar:
            left[pair.data] = max(left.get(pair.data, 0.0), value)
    longest = left.pop(CONTINUOUS)
    exact = [name for name, value in left.items() if value == 0]
    rest = [f"{name} {value:.3g}" for name, value in left.items() if value > 0]
    return [
        Claim(
            f"{what} by ε = {bar:g}.",
            f"At ε ≤ {bar:g} none on {', '.join(exact) or 'any'}; at most, on the others: "
            + (", ".join(rest) or "there are no others")
            + ".",
            not rest,
        ),
        Claim(
            f"{what} by ε = {bar:g}, on a long stream of continuous values (not in the paper).",
            f"At ε ≤ {bar:g} at most {longest:.3g}.",
            longest == 0,
        ),
    ]
