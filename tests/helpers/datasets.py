"""The real data sets in the folder of the `data_dir` fixture; one that is absent skips the test."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import ParamSpec, TypeVar

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from driftsieve.reproduce import datasets as loaders
from driftsieve.reproduce.datasets import URL_FEATURES, MissingDataError, Target

Given = ParamSpec("Given")
Loaded = TypeVar("Loaded")


def _or_skip(load: Callable[Given, Loaded]) -> Callable[Given, Loaded]:
    @wraps(load)
    def loaded(*args: Given.args, **kwargs: Given.kwargs) -> Loaded:
        try:
            return load(*args, **kwargs)
        except MissingDataError as missing:
            pytest.skip(str(missing))

    return loaded


madelon = _or_skip(loaders.madelon)
dexter = _or_skip(loaders.dexter)
dorothea = _or_skip(loaders.dorothea)
spam = _or_skip(loaders.spam)
news20_dated = _or_skip(loaders.news20_dated)
url_dense = _or_skip(loaders.url_dense)
elec2 = _or_skip(loaders.elec2)


def url_mini(data: Path, day: int) -> tuple[sparse.csr_array, Target]:
    """Some rows of one day (0 to 5), all 3.2 million sparse columns."""
    path = data / f"url/Day{day}_mini.svm.gz"
    if not path.exists():
        pytest.skip(f"the data set {path.name} is not in {data}")
    X, y = load_svmlight_file(str(path), n_features=URL_FEATURES, zero_based=False)
    return sparse.csr_array(X), y.astype(np.int64)
