"""Fixtures shared by all tests."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# How long an example takes says more about the machine than about the code.
settings.register_profile("driftsieve", deadline=None)
settings.load_profile("driftsieve")

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real data sets, which are not part of the project.

    It is the one DRIFTSIEVE_DATA names, or else a `shared/data` folder beside the checkout.
    """
    named = os.environ.get("DRIFTSIEVE_DATA")
    folder = Path(named) if named else ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"no data sets in {folder}: set DRIFTSIEVE_DATA to the folder that holds them")
    return folder
