"""Input and output of an experiment: tables, figures, and a verdict on each claim."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from driftsieve.reproduce.synthetic import Correlation

Record = dict[str, Any]
RecordTable = list[Record]
Figure = Callable[[Any], Any]
"""A function of the altair module that returns the chart."""


def _in_silence(items: Iterable[Any], _title: str, _total: int) -> Iterable[Any]:
    return items


@dataclass(frozen=True)
class ExperimentRun:
    """Parameters of the run of an experiment."""

    quick: bool = False
    """Small sizes, which take seconds instead of minutes. The claims are still tested."""
    data: Path | None = None
    """The folder of the real data sets."""
    n_seeds: int | None = None
    """Number of repetitions with other seeds, for the error bars: 5, or 3 if quick."""
    correlation: Correlation = "published"
    """Correlation of the features of the synthetic stream."""
    track: Callable[[Iterable[Any], str, int], Iterable[Any]] = _in_silence
    """Wraps the outermost loop, with its number of turns, to show the progress."""

    @property
    def seeds(self) -> int:
        """Number of seeds."""
        return self.n_seeds or (3 if self.quick else 5)

    def over_seeds(self, work: Callable[[int], RecordTable], title: str) -> RecordTable:
        """Return the records of all seeds, which run in parallel without the GIL."""
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            found = self.track(pool.map(work, range(self.seeds)), title, self.seeds)
            return [record for records in found for record in records]


@dataclass(frozen=True)
class Claim:
    """A claim of the paper (or one that its claims rest on) and the measured result."""

    published: str
    measured: str
    holds: bool


@dataclass(frozen=True)
class Result:
    """Tables and figures by name, in display order."""

    tables: dict[str, RecordTable]
    figures: dict[str, Figure] = field(default_factory=dict)
    claims: list[Claim] = field(default_factory=list)


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds with its standard error."""

    mean: float
    error: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Estimate:
        """Return the estimate from one value per seed; a single one has an error of 0.

        >>> print(Estimate.of([0.9, 1.0, 1.1]))
        1.000 ± 0.058
        """
        n = len(values)
        error = float(np.std(values, ddof=1)) / n**0.5 if n > 1 else 0.0
        return cls(float(np.mean(values)), error)

    def __str__(self) -> str:
        return f"{self.mean:.3f} ± {self.error:.3f}"

    @property
    def positive(self) -> bool:
        """Whether the mean is above 0 by more than two standard errors."""
        return self.mean > 2 * self.error


def listed(values: Mapping[Any, Any], form: str = "") -> str:
    """Return names and values in one line.

    >>> listed({"t": 0.5, "gini": 0.25}, ".2f")
    't 0.50, gini 0.25'
    """
    return ", ".join(f"{name} {value:{form}}" for name, value in values.items())


def mean_over_seeds(records: Iterable[Record], value: str = "rate") -> RecordTable:
    """Return the mean of `value`, its standard error and count, of records equal in all else."""
    return [
        {**same, value: (estimate := Estimate.of(values)).mean, "error": estimate.error}
        | {"seeds": len(values)}
        for same, values in _alike(records, value, "seed")
    ]


def mean_over(records: Iterable[Record], key: str) -> RecordTable:
    """Return the mean rate of records that are equal except for `key`."""
    return [{**same, "rate": float(np.mean(v))} for same, v in _alike(records, "rate", key)]


def _alike(records: Iterable[Record], value: str, key: str) -> Iterator[tuple[Record, list[float]]]:
    groups: dict[tuple[tuple[str, Any], ...], list[float]] = {}
    for record in records:
        same = tuple((k, v) for k, v in record.items() if k not in (value, key))
        groups.setdefault(same, []).append(record[value])
    for same, values in groups.items():
        yield dict(same), values


def gain(records: Sequence[Record], better: Record, worse: Record, value: str = "rate") -> Estimate:
    """Return how much larger `value` is where a record has `better` than where it has `worse`.

    Records are paired by seed: both sides have the same rows.
    """

    def by_seed(wanted: Record) -> dict[int, float]:
        found: dict[int, list[float]] = {}
        for record in records:
            if wanted.items() <= record.items():
                found.setdefault(record["seed"], []).append(record[value])
        return {seed: float(np.mean(values)) for seed, values in found.items()}

    first, second = by_seed(better), by_seed(worse)
    return Estimate.of([first[seed] - second[seed] for seed in sorted(first)])
