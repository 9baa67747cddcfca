"""The same scores straight from X and y: the reference that the one-pass bank is held against.

Simple rather than fast: one column at a time, all rows in memory, straight from the definitions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from driftsieve.batch import Batch, Missing
from driftsieve.scores import SCORES
from driftsieve.snapshot import EDGE_TOLERANCE, Floats, Snapshot

_Column = tuple[Floats, NDArray[np.intp], Floats]  # value, class code, weight: one entry per row


def scores(
    X: Any,
    y: Any,
    score: str = "mutual_info",
    n_bins: int = 5,
    sample_weight: ArrayLike | None = None,
    missing: Missing = "error",
) -> Floats:
    """One score per feature, from all rows at once.

    >>> X = [[0.0, 1.0], [0.1, 0.0], [0.9, 1.0], [1.0, 0.0]]
    >>> scores(X, ["ham", "ham", "spam", "spam"], score="gini")
    array([0. , 0.5])
    """
    if score not in SCORES:
        raise ValueError(f"score must be one of {', '.join(map(repr, SCORES))}, got {score!r}")
    return SCORES[score].function(snapshot(X, y, n_bins, sample_weight, missing))


def snapshot(
    X: Any,
    y: Any,
    n_bins: int = 5,
    sample_weight: ArrayLike | None = None,
    missing: Missing = "error",
) -> Snapshot:
    """Class weights, two-pass moments and exact quantile bins of weighted rows.

    X is dense, sparse (an absent entry is the value 0) or a data frame. With `missing="ignore"`
    a row whose value is NaN does not count for that feature. Edges follow EDGE_TOLERANCE.
    """
    if n_bins < 2:
        raise ValueError(f"n_bins must be at least 2, got {n_bins!r}")
    batch = Batch.of(X, y, sample_weight=sample_weight, missing=missing)
    classes, codes = np.unique(batch.y, return_inverse=True)
    n_classes, p = len(classes), batch.n_features
    row_weight = np.ones(batch.n_rows) if batch.sample_weight is None else batch.sample_weight

    weight, mean, centred, var = np.zeros((4, n_classes, p))
    bin_weights, edges = np.zeros((p, n_bins, n_classes)), np.full((p, n_bins - 1), np.nan)
    for j, (value, code, entry_weight) in enumerate(_columns(batch, codes, row_weight, n_classes)):
        pivot, offset = np.zeros((2, n_classes))
        for c in np.unique(code):
            of_class = code == c
            weight[c, j], pivot[c], offset[c], var[c, j] = _moments(
                value[of_class], entry_weight[of_class]
            )
        mean[:, j] = pivot + offset
        heaviest = weight[:, j].argmax() if n_classes else 0
        centre = mean[heaviest, j] if n_classes and abs(mean[heaviest, j]) < 1e150 else 0.0
        centred[:, j] = (pivot - centre) + offset
        if value.size:
            edges[j], bin_weights[j] = _bins(value, code, entry_weight, n_classes, n_bins)

    return Snapshot(
        classes=classes,
        class_weight=np.array([row_weight[codes == c].sum() for c in range(n_classes)]),
        class_n_eff=np.array([_n_eff(row_weight[codes == c]) for c in range(n_classes)]),
        n_eff=_n_eff(row_weight),
        n_features=p,
        feature_names=batch.feature_names,
        first_feature=0,
        weight=weight,
        mean=mean,
        var=var,
        bin_weights=bin_weights,
        edges=edges,
        rank_error=np.zeros(p),
        centred_mean=centred,
    )


def _columns(
    batch: Batch, codes: NDArray[np.intp], row_weight: Floats, n_classes: int
) -> Iterator[_Column]:
    """The entries of each column that count: positive weight, not missing.

    The absent entries of a sparse column come as one entry per class, of their summed weight.
    """
    if isinstance(batch.X, np.ndarray):
        for column in batch.X.T:
            counts = (row_weight > 0) & ~np.isnan(column)
            yield column[counts].astype(np.float64), codes[counts], row_weight[counts]
        return
    by_class = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[by_class], np.arange(n_classes))
    every_class = np.arange(n_classes)
    columns = sparse.csc_array(batch.X)
    for low, high in zip(columns.indptr[:-1], columns.indptr[1:], strict=True):
        rows = columns.indices[low:high]
        absent = row_weight.copy()
        absent[rows] = 0
        absent_weight = np.add.reduceat(absent[by_class], starts) if n_classes else absent
        value = np.concatenate([columns.data[low:high].astype(np.float64), np.zeros(n_classes)])
        code = np.concatenate([codes[rows], every_class])
        weight = np.concatenate([row_weight[rows], absent_weight])
        counts = (weight > 0) & ~np.isnan(value)
        yield value[counts], code[counts], weight[counts]


def _moments(value: Floats, weight: Floats) -> tuple[float, float, float, float]:
    """Weight, a value, the distance of the mean from it, and the population variance.

    The value is the heaviest one (the zeros of a sparse column), so that a mean close to it keeps
    its digits, and equal values have their own value as mean and variance exactly 0.
    """
    total = weight.sum()
    pivot = value[weight.argmax()]
    offset = (weight * (value - pivot)).sum() / total
    return total, pivot, offset, (weight * (value - pivot - offset) ** 2).sum() / total


def _bins(
    value: Floats, code: NDArray[np.intp], weight: Floats, n_classes: int, n_bins: int
) -> tuple[Floats, Floats]:
    """Edges (K - 1,) and class weights (K, C) of the quantile bins of one column."""
    order = np.argsort(value, kind="stable")
    value = value[order]
    by_class = np.zeros((len(value) + 1, n_classes))
    by_class[np.arange(1, len(value) + 1), code[order]] = weight[order]
    # Extended precision, as EDGE_TOLERANCE asks; row r is the weight of the r smallest entries.
    below = np.cumsum(by_class, axis=0, dtype=np.longdouble)
    reached = below.sum(axis=1)
    targets = np.arange(1, n_bins) * reached[-1] / n_bins * (1 - EDGE_TOLERANCE)
    edges = value[np.searchsorted(reached[1:], targets, side="left")]
    up_to_edge = np.searchsorted(value, edges, side="right")
    bounds = np.concatenate([[0], up_to_edge, [len(value)]])
    return edges, np.diff(below[bounds], axis=0).astype(np.float64)


def _n_eff(weight: Floats) -> float:
    """(sum w)**2 / sum w**2, 0 without weight."""
    if not weight.any():
        return 0.0
    scaled = weight / weight.max()  # squares of tiny weights would underflow
    return float(scaled.sum() ** 2 / (scaled**2).sum())


def clock_weights(
    rows: int | Sequence[int] | ArrayLike,
    *,
    clock: Literal["sample", "batch", "time"] = "sample",
    alpha: float = 1.0,
    half_life: float | None = None,
) -> Floats:
    """Weight alpha**(now - t_i) of each row, seen from now: a faded bank equals offline scores
    with these (times the caller's own) sample weights.

    rows: the number of rows for `clock="sample"`, the length of each batch for "batch", the
    timestamp of each row for "time".

    >>> clock_weights(3, alpha=0.5)
    array([0.25, 0.5 , 1.  ])
    >>> clock_weights([2, 1], clock="batch", alpha=0.5)
    array([0.5, 0.5, 1. ])
    >>> clock_weights([10.0, 30.0, 20.0], clock="time", half_life=10)
    array([0.25, 1.  , 0.5 ])
    """
    if half_life is not None and alpha != 1.0:
        raise ValueError(f"give alpha or half_life, not both: got {alpha=} and {half_life=}")
    if clock == "sample":
        ticks = np.arange(np.asarray(rows).item())
    elif clock == "batch":
        lengths = np.asarray(rows, dtype=np.intp)
        ticks = np.repeat(np.arange(len(lengths)), lengths)
        now = len(lengths) - 1
    elif clock == "time":
        ticks = np.asarray(rows, dtype=np.float64)
    else:
        raise ValueError(f'clock must be "sample", "batch" or "time", got {clock!r}')
    if not ticks.size:
        return np.empty(0)
    age = (now if clock == "batch" else ticks.max()) - ticks
    return np.asarray(np.power(alpha, age) if half_life is None else np.exp2(-age / half_life))
