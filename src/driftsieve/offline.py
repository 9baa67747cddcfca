"""The same scores computed from X and y at once: the reference for the one-pass bank.

Simple rather than fast: one column at a time, all rows in memory, as the definitions say.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from driftsieve._arguments import check_choice
from driftsieve._state.settings import HalfLife, half_life_of
from driftsieve.batch import Batch, Missing
from driftsieve.scores import ScoreFunction, score_of
from driftsieve.snapshot import EDGE_TOLERANCE, Floats, Snapshot

# Value, class code, weight and squared weight: one entry per row.
_Column = tuple[Floats, NDArray[np.intp], Floats, Floats]


def scores(
    X: Any,
    y: Any,
    score_func: str | ScoreFunction = "mutual_info",
    n_bins: int = 5,
    sample_weight: ArrayLike | None = None,
    missing: Missing = "error",
) -> Floats:
    """Compute one score per feature from all rows at once.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
        Rows. An absent entry of a sparse matrix is the value 0.
    y : array-like of shape (n_rows,)
        Class labels.
    score_func : str or callable
        A key of ``driftsieve.scores.SCORES``, or a function of a Snapshot.
    n_bins : int
        Number of quantile bins.
    sample_weight : array-like of shape (n_rows,), optional
        Weights of the rows.
    missing : {"error", "ignore"}
        What a NaN is: an error, or a missing value.

    Returns
    -------
    ndarray of shape (n_features,)

    See Also
    --------
    driftsieve.Bank : The same in one pass, with fading.

    Examples
    --------
    >>> X = [[0.0, 1.0], [0.1, 0.0], [0.9, 1.0], [1.0, 0.0]]
    >>> scores(X, ["ham", "ham", "spam", "spam"], score_func="gini")
    array([0. , 0.5])
    """
    return score_of(score_func).function(snapshot(X, y, n_bins, sample_weight, missing))


def snapshot(
    X: Any,
    y: Any,
    n_bins: int = 5,
    sample_weight: ArrayLike | None = None,
    missing: Missing = "error",
) -> Snapshot:
    """Compute class weights, two-pass moments and exact quantile bins of weighted rows.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
        Rows. An absent entry of a sparse matrix is the value 0.
    y : array-like of shape (n_rows,)
        Class labels.
    n_bins : int
        Number of quantile bins. Edges follow ``driftsieve.snapshot.EDGE_TOLERANCE``.
    sample_weight : array-like of shape (n_rows,), optional
        Weights of the rows.
    missing : {"error", "ignore"}
        What a NaN is: an error, or a missing value. A row with a missing value does not count for
        that feature.

    Returns
    -------
    Snapshot

    Raises
    ------
    ValueError
        If ``n_bins`` is less than 2, or if the rows are not valid.

    See Also
    --------
    driftsieve.Bank.snapshot : The same of a bank.

    Examples
    --------
    >>> snapshot([[0.0], [1.0], [2.0]], ["ham", "spam", "spam"]).class_weight
    array([1., 2.])
    """
    if n_bins < 2:
        raise ValueError(f"n_bins must be at least 2, got {n_bins!r}.")
    batch = Batch.of(X, y, sample_weight=sample_weight, missing=missing)
    classes, codes = np.unique(batch.y, return_inverse=True)
    n_classes, p = len(classes), batch.n_features
    row_weight = np.ones(batch.n_rows) if batch.sample_weight is None else batch.sample_weight

    weight, squared, mean, centred, var = np.zeros((5, n_classes, p))
    is_dense = isinstance(batch.X, np.ndarray)
    effect = None if is_dense or batch.sample_weight is None else np.ones(p)
    has_missing = bool(np.isnan(batch.X if isinstance(batch.X, np.ndarray) else batch.X.data).any())
    bin_weights, edges = np.zeros((p, n_bins, n_classes)), np.full((p, n_bins - 1), np.nan)
    columns = _columns(batch, codes, row_weight, n_classes)
    for j, (value, code, entry_weight, entry_squared) in enumerate(columns):
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
        squared[:, j] = np.bincount(code, entry_squared, minlength=n_classes)
        if effect is not None:
            of_class = weight[:, j], squared[:, j]
            effect[j] = _design_effect(*of_class, value != 0, code, entry_weight, entry_squared)
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
        weight_squared=squared if has_missing else None,
        design_effect=effect,
    )


def _columns(
    batch: Batch, codes: NDArray[np.intp], row_weight: Floats, n_classes: int
) -> Iterator[_Column]:
    """Yield the entries of each column that count: positive weight, not missing.

    The absent entries of a sparse column are one entry per class, with their total weight.
    """
    if isinstance(batch.X, np.ndarray):
        for column in batch.X.T:
            counts = (row_weight > 0) & ~np.isnan(column)
            weight = row_weight[counts]
            yield column[counts].astype(np.float64), codes[counts], weight, weight**2
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
        absent_squared = np.add.reduceat(absent[by_class] ** 2, starts) if n_classes else absent
        value = np.concatenate([columns.data[low:high].astype(np.float64), np.zeros(n_classes)])
        code = np.concatenate([codes[rows], every_class])
        weight = np.concatenate([row_weight[rows], absent_weight])
        squared = np.concatenate([row_weight[rows] ** 2, absent_squared])
        counts = (weight > 0) & ~np.isnan(value)
        yield value[counts], code[counts], weight[counts], squared[counts]


def _design_effect(
    class_weight: Floats,
    class_squared: Floats,
    other: NDArray[np.bool_],
    code: NDArray[np.intp],
    weight: Floats,
    squared: Floats,
) -> float:
    """Return the design effect of one column, see `Snapshot.design_effect`."""
    not_0 = np.bincount(code[other], weight[other], minlength=len(class_weight))
    has_weight = class_weight > 0
    expected = (class_squared * not_0)[has_weight] @ (1 / class_weight[has_weight])
    share = not_0.sum() / max(class_weight.sum(), np.finfo(float).tiny)
    if not 0 < share < 1 or expected <= 0:
        return 1.0
    heavier = float(squared[other].sum() / expected)
    effect = heavier * (1 - share) + share * (1 - heavier * share) / (1 - share)
    return float(max(effect, 1e-9))


def _moments(value: Floats, weight: Floats) -> tuple[float, float, float, float]:
    """Return the weight, a pivot value, the distance of the mean from it, and the variance.

    The pivot is the value with the largest weight (0 in a sparse column). A mean close to it keeps
    its digits, and equal values have exactly variance 0.
    """
    total = weight.sum()
    pivot = value[weight.argmax()]
    offset = (weight * (value - pivot)).sum() / total
    return total, pivot, offset, (weight * (value - pivot - offset) ** 2).sum() / total


def _bins(
    value: Floats, code: NDArray[np.intp], weight: Floats, n_classes: int, n_bins: int
) -> tuple[Floats, Floats]:
    """Return the edges (K - 1,) and class weights (K, C) of the quantile bins of one column."""
    order = np.argsort(value, kind="stable")
    value = value[order]
    by_class = np.zeros((len(value) + 1, n_classes))
    by_class[np.arange(1, len(value) + 1), code[order]] = weight[order]
    # Extended precision, as EDGE_TOLERANCE requires. Row r is the weight of the r smallest entries.
    below = np.cumsum(by_class, axis=0, dtype=np.longdouble)
    reached = below.sum(axis=1)
    targets = np.arange(1, n_bins) * reached[-1] / n_bins * (1 - EDGE_TOLERANCE)
    edges = value[np.searchsorted(reached[1:], targets, side="left")]
    up_to_edge = np.searchsorted(value, edges, side="right")
    bounds = np.concatenate([[0], up_to_edge, [len(value)]])
    return edges, np.diff(below[bounds], axis=0).astype(np.float64)


def _n_eff(weight: Floats) -> float:
    """Return (sum w)**2 / sum w**2, 0 without weight."""
    if not weight.any():
        return 0.0
    scaled = weight / weight.max()  # squares of tiny weights would underflow
    return float(scaled.sum() ** 2 / (scaled**2).sum())


def clock_weights(
    rows: int | Sequence[int] | ArrayLike,
    *,
    clock: Literal["row", "batch", "time"] = "row",
    decay: float | None = None,
    half_life: HalfLife | None = None,
) -> Floats:
    """Compute the weight decay**(now - t_i) of each row at the end of a stream.

    The scores of a faded bank equal offline scores with these sample weights, times the caller's
    own.

    Parameters
    ----------
    rows : int or array-like
        The number of rows for ``clock="row"``, the length of each batch for ``"batch"``, the time
        of each row for ``"time"``.
    clock : {"row", "batch", "time"}
        What a tick is.
    decay : float, optional
        What the weight of a row is multiplied by per tick.
    half_life : float, str or timedelta, optional
        Ticks after which a weight has halved, instead of ``decay``.

    Returns
    -------
    ndarray of shape (n_rows,)

    Raises
    ------
    ValueError
        If a parameter is not valid.

    See Also
    --------
    driftsieve.Bank : Fades rows with the same parameters.

    Examples
    --------
    >>> clock_weights(3, decay=0.5)
    array([0.25, 0.5 , 1.  ])
    >>> clock_weights([2, 1], clock="batch", decay=0.5)
    array([0.5, 0.5, 1. ])
    >>> clock_weights([10.0, 30.0, 20.0], clock="time", half_life=10)
    array([0.25, 1.  , 0.5 ])
    """
    check_choice("clock", clock, "row", "batch", "time")
    if clock == "row":
        ticks = np.arange(np.asarray(rows).item())
    elif clock == "batch":
        lengths = np.asarray(rows, dtype=np.intp)
        ticks = np.repeat(np.arange(len(lengths)), lengths)
        now = len(lengths) - 1
    else:
        ticks = np.asarray(rows, dtype=np.float64)
    if not ticks.size:
        return np.empty(0)
    age = (now if clock == "batch" else ticks.max()) - ticks
    ticks_to_half = half_life_of(decay, half_life, clock)
    return np.asarray(np.exp2(-age / ticks_to_half) if decay is None else np.power(decay, age))
