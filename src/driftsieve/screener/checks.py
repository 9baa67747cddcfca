"""What a screener asks of its input, its parameters and the bank that it has."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array

from driftsieve.bank import Bank
from driftsieve.batch import check_readable
from driftsieve.labels import labels_of
from driftsieve.limits import Limits
from driftsieve.scores import SCORES


def is_frame(X: Any) -> bool:
    """Whether X is a data frame of any kind that narwhals knows."""
    return bool(nw.dependencies.is_into_dataframe(X))


def matrix_of(X: Any, estimator: BaseEstimator) -> Any:
    """X as a frame, a CSR matrix or an array of floats; all else is for the bank to check."""
    check_readable(X)
    if not is_frame(X):
        return check_array(
            X,
            accept_sparse="csr",
            dtype=(np.float64, np.float32),
            ensure_all_finite=False,
            estimator=estimator,
            input_name="X",
        )
    shape = nw.from_native(X).shape
    for what, size in zip(("sample", "feature"), shape, strict=True):
        if size == 0:
            raise ValueError(
                f"Found array with 0 {what}(s) (shape={shape}) while a minimum of 1 is required "
                f"by {type(estimator).__name__}."
            )
    return X


def check_choices(**parameters: tuple[Any, Iterable[str]]) -> None:
    """ValueError where a parameter is none of its choices."""
    for name, (value, choices) in parameters.items():
        if not isinstance(value, str) or value not in choices:
            expected = ", ".join(map(repr, choices))
            raise ValueError(f"{name} must be one of {expected}, got {value!r}.")


def declared_classes(classes: Any) -> NDArray[Any]:
    """The labels that partial_fit was given, sorted."""
    try:
        return np.unique(labels_of(classes))
    except (TypeError, ValueError) as error:
        raise ValueError(f"`classes={classes!r}` are no labels: {error}") from error


def check_declared(y: Any, declared: NDArray[Any]) -> None:
    """ValueError where a label is none of those that partial_fit was given."""
    unknown = np.setdiff1d(labels_of(y), declared)
    if unknown.size:
        raise ValueError(
            f"y contains the labels {unknown.tolist()}, which are not in the classes "
            f"{declared.tolist()} given to partial_fit."
        )


def check_width(n_features: int, bank: Bank) -> None:
    """LimitError for rows with too many columns, of which none can be left out."""
    Limits(bank.max_features).check_features(
        n_features,
        "Raise max_features. (on_limit='ignore_new' leaves columns out of sparse rows only, with "
        "new_features='grow'.)",
    )


def check_same_settings(bank: Bank, fresh: Bank) -> None:
    """ValueError where the parameters of a bank with rows were changed."""
    for name in ("epsilon", "clock", "half_life", "missing"):
        was, now = getattr(bank, name), getattr(fresh, name)
        if was != now:
            as_alpha = f" (alpha={fresh.alpha:.6g})" if name == "half_life" else ""
            raise ValueError(
                f"{name} was {was!r} when the first rows came and is {now!r} now{as_alpha}: "
                "call fit to start anew with it, or set it back."
            )


def check_kept(bank: Bank, score: str) -> None:
    """ValueError where the bank has not kept what the score needs."""
    needs = SCORES[score].needs
    if not getattr(bank, needs):
        able = [name for name in SCORES if getattr(bank, SCORES[name].needs)]
        raise ValueError(
            f"score={score!r} needs {needs}, which this screener did not keep as it learned with "
            f"another score: set it to one of {', '.join(map(repr, able))}, or call fit anew."
        )
