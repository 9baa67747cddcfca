"""Validation of the input and the parameters of a screener."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array

from driftsieve._rows.frames import as_frame
from driftsieve._rows.labels import labels_of
from driftsieve._rows.matrix import check_readable
from driftsieve._state.limits import Limits
from driftsieve.memory.bank import LearnedBank
from driftsieve.memory.reading import AnyBank
from driftsieve.scores import SCORES, ScoreFunction, score_of


def is_frame(X: Any) -> bool:
    """Return whether X is a data frame that narwhals supports."""
    return bool(nw.dependencies.is_into_dataframe(X))


def matrix_of(X: Any, estimator: BaseEstimator, least_rows: int) -> Any:
    """Return X as a frame, a CSR matrix or an array of floats; the bank checks the rest."""
    check_readable(X)
    if not is_frame(X):
        return check_array(
            X,
            accept_sparse="csr",
            dtype=(np.float64, np.float32),
            ensure_all_finite=False,
            ensure_min_samples=least_rows,
            estimator=estimator,
            input_name="X",
        )
    shape = as_frame(X).shape
    for what, size, least in zip(("sample", "feature"), shape, (least_rows, 1), strict=True):
        if size < least:
            raise ValueError(
                f"Found array with 0 {what}(s) (shape={shape}) while a minimum of 1 is required "
                f"by {type(estimator).__name__}."
            )
    return X


def declared_classes(classes: Any) -> NDArray[Any]:
    """Return the classes given to partial_fit, sorted."""
    try:
        return np.unique(labels_of(classes))
    except (TypeError, ValueError) as error:
        raise ValueError(f"classes must be labels, got {classes!r}: {error}") from error


def check_declared(y: Any, declared: NDArray[Any]) -> None:
    """ValueError where a label is none of those that partial_fit was given."""
    unknown = np.setdiff1d(labels_of(y), declared)
    if unknown.size:
        raise ValueError(
            f"The labels of y must be among the classes {declared.tolist()} given to partial_fit, "
            f"got {unknown.tolist()}."
        )


def check_width(n_features: int, bank: AnyBank) -> None:
    """LimitError for rows with too many columns, of which none can be left out."""
    Limits(bank.max_features).check_features(
        n_features,
        "Raise max_features. (on_limit='ignore_new' leaves columns out of sparse rows only, with "
        "new_features='grow'.)",
    )


def check_unchanged(bank: AnyBank, fresh: AnyBank) -> None:
    """ValueError where parameters were changed after a bank has had rows."""
    for name, was, found in _differences(bank, fresh):
        is_number = name == "half_life" and isinstance(found, float)
        as_decay = f" (decay={fresh.decay:.6g})" if is_number else ""
        raise ValueError(
            f"{name} must be {was!r}, as in the first update, got {found!r}{as_decay}. Set it "
            "back, or call fit to start again."
        )


def check_mergeable(bank: AnyBank, other: AnyBank) -> None:
    """ValueError where the parameters of two banks differ."""
    for name, ours, theirs in _differences(bank, other):
        raise ValueError(
            f"Screeners must have the same {name} to be merged, got {ours!r} and {theirs!r}."
        )


def _differences(bank: AnyBank, other: AnyBank) -> Iterator[tuple[str, Any, Any]]:
    for name in ("epsilon", "clock", "half_life", "missing"):
        ours, theirs = _setting(bank, name), _setting(other, name)
        if ours != theirs:
            yield name, ours, theirs


def _setting(bank: AnyBank, name: str) -> Any:
    return (
        bank.choices
        if name == "half_life" and isinstance(bank, LearnedBank)
        else getattr(bank, name)
    )


def check_bins(n_bins: Any) -> None:
    """Raise ValueError if this is not a possible number of quantile bins."""
    if not isinstance(n_bins, Integral) or int(n_bins) < 2:
        raise ValueError(f"n_bins must be a whole number of at least 2, got {n_bins!r}.")


def check_kept(bank: AnyBank, score_func: str | ScoreFunction) -> None:
    """Raise ValueError if the bank has not kept the sums that the score needs."""
    if isinstance(bank, LearnedBank) and bank.score_func != score_func:
        raise ValueError(
            f"score_func must be {bank.score_func!r}, with which this screener has learned the "
            f"half-life, got {score_func!r}. Set it back, or call fit again."
        )
    missing = [
        name for name, kept in score_of(score_func).keeps.items() if kept > getattr(bank, name)
    ]
    if missing:
        able = [name for name, score in SCORES.items() if getattr(bank, score.needs)]
        raise ValueError(
            f"score_func must be one of {', '.join(map(repr, able))}, got {score_func!r}, which "
            f"needs {missing[0]}. This screener has none, because it was fitted with another "
            "score_func: set it back, or call fit again."
        )
