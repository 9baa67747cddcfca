"""Validation of the parameters and classes of SparseFSA."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_scalar

from driftsieve._rows.vectors import MAX_WEIGHT
from driftsieve.learners.annealing import CURVATURE


def check_params(model: Any) -> None:
    """Raise TypeError or ValueError unless the parameters of a SparseFSA are valid."""
    if model.loss not in CURVATURE:
        raise ValueError(f"loss must be one of {list(CURVATURE)}, got {model.loss!r}.")
    if model.class_weight not in (None, "balanced") and not isinstance(model.class_weight, dict):
        raise ValueError(
            f"class_weight must be a dict, 'balanced' or None, got {model.class_weight!r}."
        )
    if isinstance(model.class_weight, dict):
        check_class_weight(model.class_weight)
    if model.half_life is not None:
        check_scalar(model.half_life, "half_life", Real, min_val=0, include_boundaries="neither")
        if np.isnan(model.half_life):
            raise ValueError("half_life must be a number of rows or None, got nan.")
    for name in ("k", "n_epochs", "batch_size"):
        if (name, model.batch_size) != ("batch_size", None):
            check_scalar(getattr(model, name), name, Integral, min_val=1)
    for name, bounds in (
        ("mu", {"min_val": 0}),
        ("learning_rate", {"min_val": 0, "include_boundaries": "neither"}),
        ("shrinkage", {"min_val": 0}),
        ("momentum", {"min_val": 0, "max_val": 1, "include_boundaries": "left"}),
    ):
        value = check_scalar(getattr(model, name), name, Real, **bounds)
        if not np.isfinite(value):
            raise ValueError(f"{name} must be finite, got {value}.")


def unique_classes(classes: ArrayLike) -> NDArray[Any]:
    """Return the sorted classes; raise ValueError if they cannot be sorted or are not finite."""
    try:
        named = np.unique(classes)
    except TypeError:
        raise ValueError(
            f"classes must be all numbers or all strings, got {classes!r}. Convert them."
        ) from None
    if named.dtype.kind == "f" and not np.isfinite(named).all():
        raise ValueError(f"classes must be finite, got {classes!r}. Leave out missing values.")
    return named


def check_class_weight(class_weight: dict[Any, Any]) -> None:
    """Raise ValueError unless all values are valid factors of weights."""
    for c, value in class_weight.items():
        if not (isinstance(value, Real) and 0 <= float(value) <= MAX_WEIGHT):
            raise ValueError(
                f"The values of class_weight must be numbers from 0 to {MAX_WEIGHT:g}, "
                f"got {value!r} for class {c!r}."
            )
