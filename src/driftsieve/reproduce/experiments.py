"""The experiments by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from driftsieve.reproduce.figure2 import figure2
from driftsieve.reproduce.figure3 import figure3
from driftsieve.reproduce.result import Result, Run


@dataclass(frozen=True)
class Experiment:
    """A table or figure and how to make it."""

    title: str
    run: Callable[[Run], Result]
    needs_data: bool = False


EXPERIMENTS: dict[str, Experiment] = {
    "figure2": Experiment("Synthetic drift: detection by method, shift and fading", figure2),
    "figure3": Experiment("Synthetic drift: detection by number selected", figure3),
}
