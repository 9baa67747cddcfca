"""Results of the quick runs, made once."""

from collections.abc import Callable
from functools import cache

import pytest

from driftsieve.reproduce.experiments import EXPERIMENTS
from driftsieve.reproduce.result import Result, Run


@cache
def _quick(name: str) -> Result:
    return EXPERIMENTS[name].run(Run(quick=True))


@pytest.fixture(scope="session")
def quick() -> Callable[[str], Result]:
    """The result of the quick run of an experiment that needs no data."""
    return _quick
