from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture(scope="package")
def rows():
    """600 rows of six features; b, then e, separate the classes."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(600, 6))
    return X, np.where(X[:, 1] + 0.5 * X[:, 4] + rng.normal(size=600) > 0, "spam", "ham")
