"""What SparseFSA refuses, and is left as it was."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from fsa_rows import linear

from driftsieve.learners import SparseFSA


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"k": 0}, "k == 0, must be >= 1"),
        ({"k": 2.5}, "k must be an instance of"),
        ({"loss": "hinge"}, "loss must be one of"),
        ({"n_epochs": 0}, "n_epochs == 0, must be >= 1"),
        ({"mu": -1}, "mu == -1, must be >= 0"),
        ({"learning_rate": 0}, "learning_rate == 0, must be > 0"),
        ({"shrinkage": -1.0}, "shrinkage == -1.0, must be >= 0"),
        ({"mu": np.inf}, "mu must be finite, got inf"),
        ({"learning_rate": np.nan}, "learning_rate must be finite, got nan"),
        ({"momentum": 1.0}, "momentum == 1.0, must be < 1"),
        ({"batch_size": 0}, "batch_size == 0, must be >= 1"),
        ({"class_weight": "even"}, "class_weight must be a dict, 'balanced' or None"),
    ],
)
def test_bad_parameters(params: dict[str, Any], message: str) -> None:
    X, y, _ = linear(n=20)
    with pytest.raises((TypeError, ValueError), match=message):
        SparseFSA(**params).fit(X, y)
    with pytest.raises((TypeError, ValueError), match=message):
        SparseFSA(**params).partial_fit(X, y, classes=[0, 1])


def test_bad_input() -> None:
    X, y, _ = linear(n=20)
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        SparseFSA().partial_fit(X, y)
    with pytest.raises(ValueError, match="greater than one; got 1 class"):
        SparseFSA().fit(X, np.zeros(20, int))
    with pytest.raises(ValueError, match="greater than one; got 1 class"):
        SparseFSA().partial_fit(X, y, classes=[1])
    with pytest.raises(ValueError, match="overflow"):
        SparseFSA().fit(1e200 * X, y)
    with pytest.raises(ValueError, match="negative"):
        SparseFSA().fit(X, y, sample_weight=-np.ones(20))

    model = SparseFSA().partial_fit(X, y, classes=[0, 1])
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=r"label\(s\) \[2\] in y do not exist"):
        model.partial_fit(X, y + 1)
    with pytest.raises(ValueError, match="not the same as on last call"):
        model.partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, 1:], y)
    with pytest.raises(ValueError, match="overflow"):
        model.partial_fit(1e200 * X, y)
    assert pickle.dumps(model) == before, "a refused call changed the model"


def test_a_mask_is_not_forgotten() -> None:
    X, y, _ = linear(n=20)
    model, masked = SparseFSA().fit(X, y), np.ma.array(X, mask=X > 1)
    for use in (lambda X: SparseFSA().fit(X, y), lambda X: model.partial_fit(X, y), model.predict):
        with pytest.raises(TypeError, match="X is a masked array: leave out the rows"):
            use(masked)
    with pytest.raises(TypeError, match="y is a masked array"):
        SparseFSA().fit(X, np.ma.array(y))
