"""Tables 1 and 2: processor time of the online quantiles by minibatch size and ε."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from time import process_time
from typing import Any

from numpy.typing import NDArray

from driftsieve.bank import Bank
from driftsieve.reproduce.datasets import COMPARED, QUICK, at_hand
from driftsieve.reproduce.offline_bins import offline_bins
from driftsieve.reproduce.result import Claim, ExperimentRun, RecordTable, Result, listed

EPSILONS = tuple(1 / f for f in (5, 50, 100, 500, 1000, 1500, 2000))
MINIBATCHES = tuple(2**k for k in range(12))
MINIBATCH, EPSILON = 250, 0.001
OFFLINE = "offline"

Times = dict[str, dict[str, float]]
"""Milliseconds by data set and setting."""


def table1(run: ExperimentRun) -> Result:
    """Make Table 1: time by minibatch size, at ε = 0.001."""
    sizes = (1, 16, 128, 1024) if run.quick else MINIBATCHES
    times = _measure(run, [(str(size), size, EPSILON) for size in sizes])
    flat = {
        name: max(found[str(s)] for s in sizes if s >= 128)
        / min(found[str(s)] for s in sizes if s >= 128)
        for name, found in times.items()
    }
    return Result(
        {"": _table("minibatch", times)},
        claims=[
            Claim(
                "Computation times are stable for minibatches larger than 128.",
                f"Slowest over fastest for 128 and more: {listed(flat, '.2f')}.",
                all(ratio < 2 for ratio in flat.values()),
            ),
            Claim(
                "For most data sets the online quantile is faster than the offline one before the "
                "minibatch reaches 128.",
                _fractions(times, "128"),
                _mostly_faster(times, "128"),
            ),
        ],
    )


def table2(run: ExperimentRun) -> Result:
    """Make Table 2: time by ε, with minibatches of 250."""
    epsilons = (0.2, 0.01, 0.001) if run.quick else EPSILONS
    times = _measure(run, [(f"{e:.4g}", MINIBATCH, e) for e in epsilons])
    first, last = f"{epsilons[0]:.4g}", f"{epsilons[-1]:.4g}"
    growth = {name: found[last] / found[first] for name, found in times.items()}
    return Result(
        {"": _table("epsilon", times)},
        claims=[
            Claim(
                "Computation time increases as ε decreases.",
                f"Time at ε = {last} over that at ε = {first}: {listed(growth, '.2f')}.",
                all(ratio > 1.1 for ratio in growth.values()),
            ),
            Claim(
                "With a low ε the online quantile can take longer than the offline one.",
                _fractions(times, last),
                any(found[last] > found[OFFLINE] for found in times.values()),
            ),
        ],
    )


def _measure(run: ExperimentRun, settings: Sequence[tuple[str, int, float]]) -> Times:
    repeats = 1 if run.quick else 2
    times: Times = {}
    names = QUICK if run.quick else COMPARED
    for name, X, y in run.track(at_hand(run.data, names), "timing", len(names)):
        times[name] = {
            key: _best(partial(_online, X, y, size, epsilon), repeats)
            for key, size, epsilon in settings
        }
        times[name][OFFLINE] = _best(partial(offline_bins, X, y), repeats)
    return times


def _online(X: Any, y: NDArray[Any], size: int, epsilon: float) -> None:
    """Compute counts per bin from the data with one thread, as the offline quantiles do."""
    bank = Bank(epsilon, moments=False, n_threads=1)
    for begin in range(0, len(y), size):
        bank.update(X[begin : begin + size], y[begin : begin + size])
    bank.snapshot()


def _best(work: Callable[[], object], repeats: int) -> float:
    """Return the smallest processor time of some runs, in milliseconds.

    It excludes waiting for other processes. What they add by sharing caches is never negative.
    """
    tries = []
    for _ in range(repeats):
        begin = process_time()
        work()
        tries.append(process_time() - begin)
    return 1000 * min(tries)


def _table(first: str, times: Times) -> RecordTable:
    keys = list(next(iter(times.values())))
    return [
        {first: key} | {name: round(found[key], 1) for name, found in times.items()} for key in keys
    ]


def _fractions(times: Times, key: str) -> str:
    ratios = {name: found[key] / found[OFFLINE] for name, found in times.items()}
    return f"Time online over offline at {key}: {listed(ratios, '.2f')}."


def _mostly_faster(times: Times, key: str) -> bool:
    return sum(found[key] < found[OFFLINE] for found in times.values()) > len(times) / 2
