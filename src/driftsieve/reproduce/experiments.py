"""The experiments by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from driftsieve.reproduce.accuracy import table3, table4, table5
from driftsieve.reproduce.figure2 import figure2
from driftsieve.reproduce.figure3 import figure3
from driftsieve.reproduce.halflife import half_life_drift, half_life_real
from driftsieve.reproduce.memory import memory
from driftsieve.reproduce.memory_cost import memory_cost
from driftsieve.reproduce.memory_real import memory_real
from driftsieve.reproduce.real import news20, spam, url
from driftsieve.reproduce.result import ExperimentRun, Result
from driftsieve.reproduce.timing import table1, table2


@dataclass(frozen=True)
class Experiment:
    """A table or figure and the function that makes it."""

    title: str
    run: Callable[[ExperimentRun], Result]


EXPERIMENTS: dict[str, Experiment] = {
    "table1": Experiment("Time against the size of minibatches, online and offline", table1),
    "table2": Experiment("Time against ε, online and offline", table2),
    "table3": Experiment("Differences in counts against ε", table3),
    "table4": Experiment("Differences in scores against ε", table4),
    "table5": Experiment("Ranking errors among the best tenth against ε", table5),
    "figure2": Experiment("Synthetic drift: detection by method, shift and fading", figure2),
    "figure3": Experiment("Synthetic drift: detection by number selected", figure3),
    "news20": Experiment("20 Newsgroups by date: screens and learners", news20),
    "url": Experiment("URLs day by day: screens and learners", url),
    "spam": Experiment("Spam by time: screens and learners (not in the paper)", spam),
    "half-life": Experiment(
        "Synthetic drift against half-life (not in the paper)", half_life_drift
    ),
    "half-life-real": Experiment(
        "Real streams against half-life (not in the paper)", half_life_real
    ),
    "memory": Experiment("Learned memory against half-lives (not in the paper)", memory),
    "memory-real": Experiment("Learned memory on real streams (not in the paper)", memory_real),
    "memory-cost": Experiment("Processor time of learning (not in the paper)", memory_cost),
}
