"""Other libraries for the same work. Each gets its data in the form that is fastest for it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

BATCH = 250


def read(*arrays: NDArray[Any]) -> None:
    """Sum the arrays in one pass; numpy is limited by memory as C++ is, within 4 %.

    Whole numbers are summed as 64-bit ones, since numpy would convert narrower ones on the way.
    """
    for array in arrays:
        flat = array.reshape(-1)
        if flat.dtype == np.int32:
            flat = flat[: flat.size // 2 * 2].view(np.int64)
        np.add.reduce(flat)


def gaussian_nb(X: Floats, y: Labels) -> Any:
    from sklearn.naive_bayes import GaussianNB

    model = GaussianNB()
    for i in range(0, len(X), BATCH):
        model.partial_fit(X[i : i + BATCH], y[i : i + BATCH], classes=[0, 1])
    return model


def f_classif(X: Any, y: Labels) -> Any:
    from sklearn.feature_selection import f_classif as score

    return score(X, y)


def polars_frame(X: Floats, y: Labels) -> Any:
    import polars as pl

    return pl.DataFrame(X, schema=[f"f{j}" for j in range(X.shape[1])]).with_columns(y=y)


def polars_moments(frame: Any) -> Any:
    import polars as pl

    features = pl.selectors.starts_with("f")
    return frame.group_by("y").agg(
        features.mean().name.suffix("_m"), features.var().name.suffix("_v")
    )


def kll_size(epsilon: float) -> int:
    """The smallest k with this guaranteed rank error (in 99 of 100 trials)."""
    from datasketches import kll_doubles_sketch as sketch

    low, high = 8, 65535
    while low < high:
        middle = (low + high) // 2
        if sketch.get_normalized_rank_error(middle, False) <= epsilon:
            high = middle
        else:
            low = middle + 1
    return low


def by_class(columns: Floats, y: Labels) -> list[Floats]:
    """The values of each column and class, contiguous."""
    return [np.ascontiguousarray(column[y == c]) for column in columns for c in (0, 1)]


def kll(parts: list[Floats], epsilon: float) -> list[Any]:
    """A sketch for every feature and class."""
    from datasketches import kll_doubles_sketch

    k, sketches = kll_size(epsilon), []
    for part in parts:
        sketch = kll_doubles_sketch(k)
        sketch.update(part)
        sketches.append(sketch)
    return sketches


def kll_rows(X: NDArray[np.float32], y: Labels, epsilon: float) -> Any:
    """Row by row into a vector of sketches for each class."""
    from datasketches import vector_of_kll_floats_sketches

    k = kll_size(epsilon)
    vectors = [vector_of_kll_floats_sketches(k, X.shape[1]) for _ in range(2)]
    for row, c in zip(X, y.tolist(), strict=True):
        vectors[c].update(row)
    return vectors


def welford_rows(X: Floats, y: Labels) -> Any:
    """Row by row, class means and sums of squares."""
    count, mean, m2 = np.zeros(2), np.zeros((2, X.shape[1])), np.zeros((2, X.shape[1]))
    for row, c in zip(X, y.tolist(), strict=True):
        count[c] += 1
        delta = row - mean[c]
        mean[c] += delta / count[c]
        m2[c] += delta * (row - mean[c])
    return mean, m2


def select_k_best() -> Any:
    """SelectKBest of river, with its most common similarity."""
    from river import feature_selection, stats

    return feature_selection.SelectKBest(similarity=stats.PearsonCorr(), k=10)


def xgboost_bins(X: Any, y: Labels) -> Any:
    """Its default of 256 bins."""
    from xgboost import QuantileDMatrix

    return QuantileDMatrix(X, label=y, nthread=1)


def one_hot(y: Labels) -> Floats:
    return np.eye(2)[y].T.copy()


def one_hot_moments(classes: Floats, X: sparse.csr_array) -> Any:
    """Class sums of the values and of their squares."""
    squares = sparse.csr_array((X.data**2, X.indices, X.indptr), shape=X.shape)
    return classes @ X, classes @ squares
