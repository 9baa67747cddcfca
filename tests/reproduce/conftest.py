"""Quick runs of the experiments. Each is used by one test alone, so that workers share none."""

from collections.abc import Callable
from pathlib import Path

import pytest

from driftsieve.reproduce.experiments import EXPERIMENTS
from driftsieve.reproduce.result import ExperimentRun, Result


@pytest.fixture
def quick() -> Callable[[str], Result]:
    """Run an experiment that needs no data."""
    return lambda name: EXPERIMENTS[name].run(ExperimentRun(quick=True))


@pytest.fixture
def quick_on_data(data_dir: Path) -> Callable[[str], Result]:
    """Run an experiment on the real data sets."""
    return lambda name: EXPERIMENTS[name].run(ExperimentRun(quick=True, data=data_dir))
