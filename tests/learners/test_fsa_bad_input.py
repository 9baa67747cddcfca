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
        (
            {"class_weight": {0: -1.0}},
            "class_weight must be numbers from 0 .*, got -1.0 for class 0",
        ),
        ({"class_weight": {1: np.nan}}, "class_weight must be numbers .*, got nan for class 1"),
        ({"class_weight": {1: np.inf}}, "class_weight must be numbers .*, got inf for class 1"),
        ({"class_weight": {0: "1"}}, "class_weight must be numbers .*, got '1' for class 0"),
        (
            {"class_weight": {"0": 1}},
            r"class_weight must be among the classes \[0, 1\], got \['0'\]",
        ),
        ({"class_weight": {0: 1, 1: 1, 2: 1}}, r"must be among the classes \[0, 1\], got \[2\]"),
        ({"half_life": 0}, "half_life == 0, must be > 0"),
        ({"half_life": np.nan}, "half_life must be a number of rows or None, got nan"),
        ({"half_life": "2d"}, "half_life must be an instance of float"),
    ],
)
def test_bad_parameters_are_errors(params: dict[str, Any], message: str) -> None:
    X, y, _ = linear(n=20)
    with pytest.raises((TypeError, ValueError), match=message):
        SparseFSA(**params).fit(X, y)
    with pytest.raises((TypeError, ValueError), match=message):
        SparseFSA(**params).partial_fit(X, y, classes=[0, 1])


def test_invalid_input_is_an_error() -> None:
    X, y, _ = linear(n=20)
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        SparseFSA().partial_fit(X, y)
    with pytest.raises(ValueError, match="greater than one; got 1 class"):
        SparseFSA().fit(X, np.zeros(20, int))
    with pytest.raises(ValueError, match="greater than one; got 1 class"):
        SparseFSA().partial_fit(X, y, classes=[1])
    with pytest.raises(ValueError, match=r"classes must be finite, got \[0, 1, nan\]"):
        SparseFSA().partial_fit(X, y, classes=[0, 1, np.nan])
    with pytest.raises(ValueError, match="classes must be all numbers or all strings, got"):
        SparseFSA().partial_fit(X, y, classes=np.array([0, "a"], dtype=object))
    with pytest.raises(ValueError, match="overflow"):
        SparseFSA().fit(1e200 * X, y)
    with pytest.raises(ValueError, match="negative"):
        SparseFSA().fit(X, y, sample_weight=-np.ones(20))

    model = SparseFSA().partial_fit(X, y, classes=[0, 1])
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=r"labels of y must be among .*, got \[2\]"):
        model.partial_fit(X, y + 1)
    with pytest.raises(ValueError, match="not the same as on last call"):
        model.partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, 1:], y)
    with pytest.raises(ValueError, match="overflow"):
        model.partial_fit(1e200 * X, y)
    with pytest.raises(ValueError, match="class_weight"):
        model.set_params(class_weight={0: -1}).partial_fit(X, y)
    model.set_params(class_weight=None)
    assert pickle.dumps(model) == before, "a refused call changed the model"


def test_masked_values_are_an_error() -> None:
    X, y, _ = linear(n=20)
    model, masked = SparseFSA().fit(X, y), np.ma.array(X, mask=X > 1)
    for use in (lambda X: SparseFSA().fit(X, y), lambda X: model.partial_fit(X, y), model.predict):
        with pytest.raises(
            TypeError, match=r"X must not be a masked array. Leave out the masked rows"
        ):
            use(masked)
    with pytest.raises(TypeError, match="y must not be a masked array"):
        SparseFSA().fit(X, np.ma.array(y))


def test_class_weight_of_some_classes() -> None:
    X, y, _ = linear(n=200)
    for method in ("fit", "partial_fit"):
        some, both, none, empty = (
            getattr(SparseFSA(10, n_epochs=5, class_weight=w, random_state=0), method)(
                X, y, **({"classes": [0, 1]} if method == "partial_fit" else {})
            ).coef_
            for w in ({1: 3}, {0: 1, 1: 3}, None, {})
        )
        np.testing.assert_array_equal(some, both)
        np.testing.assert_array_equal(none, empty)
        assert (some != none).any()
