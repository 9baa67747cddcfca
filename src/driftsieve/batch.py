"""A batch of labelled rows: the only place where input is validated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date
from typing import Any, Literal, TypeAlias

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from driftsieve._core import are_canonical, find_bad_value
from driftsieve.labels import labels_of, refuse_masked
from driftsieve.row_error import RowError

MAX_WEIGHT = 1e140  # sums of squares must stay within the range of double
Missing = Literal["error", "ignore"]
Matrix: TypeAlias = NDArray[Any] | sparse.csr_array


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Rows that passed every check; whoever holds a ``Batch`` checks nothing again.

    ``X`` is 2-D, float32 or float64, without infinities, and without NaN unless it was made with
    ``missing="ignore"``. A dense float matrix is the caller's own memory, whatever its strides; a
    sparse one is CSR with sorted indices and duplicates summed. ``y`` holds integers, booleans or
    strings. Weights are between 0 and 1e140, clock readings are finite. Zero rows are
    fine.

    >>> batch = Batch.of([[1.0, 2.0], [3.0, 4.0]], ["ham", "spam"])
    >>> batch.n_rows, batch.n_features
    (2, 2)
    >>> Batch.of([[1.0], [float("inf")]], [0, 1])
    Traceback (most recent call last):
    ...
    driftsieve.row_error.RowError: Input X contains infinity: inf at row 1, column 0.
    """

    X: Matrix
    y: NDArray[Any]
    sample_weight: NDArray[np.float64] | None
    t: NDArray[np.float64] | None
    feature_names: tuple[str, ...] | None
    has_no_nan: bool = False  # as far as was looked
    was_looked_at: bool = True  # else nothing is known of values and indices of X

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        return int(self.X.shape[1])

    def part(self, rows: NDArray[np.bool_], n_features: int) -> Batch:
        """These rows, and the first ``n_features`` columns; the same arrays if that is all."""
        X, y, weight, t, names, *looked = (getattr(self, name) for name in self.__slots__)
        if not rows.all():
            X, y = X[rows], y[rows]
            weight, t = (None if column is None else column[rows] for column in (weight, t))
        if n_features < self.n_features:
            X, names = X[:, :n_features], None if names is None else names[:n_features]
        return Batch(X, y, weight, t, names, *looked)

    def looked_at(self, missing: Missing) -> Batch:
        """The same rows, checked whatever was known of them; the same ``X`` if that is in order."""
        X = self.X if isinstance(self.X, np.ndarray) else _canonical(self.X)
        check_finite(X, self.feature_names, allow_nan=missing == "ignore")
        return replace(self, X=X, has_no_nan=missing == "error", was_looked_at=True)

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any,
        *,
        sample_weight: ArrayLike | None = None,
        t: ArrayLike | None = None,
        missing: Missing = "error",
        feature_names: Sequence[str] | None = None,
        look: bool = True,
    ) -> Batch:
        """Check the input and carry it, without copying a dense float matrix.

        ``X`` is an array, a scipy sparse matrix of any format (never modified), or a data frame
        of numeric and boolean columns (pandas, polars, pyarrow), whose names are carried along.
        Integral float labels become integers. Datetimes in ``t`` become seconds since 1970; those
        without a time zone are taken to be in UTC.
        With ``look=False`` the values of the matrix, and whether the indices of a sparse one are
        sorted, are left to whoever takes the batch: a ``Bank`` sees what is wrong while it sums
        up, for less than a pass of its own.
        """
        if missing not in ("error", "ignore"):
            raise ValueError(f'missing must be "error" or "ignore", got {missing!r}.')
        check_readable(X)
        # asking narwhals costs more than all the rest for a row of a thousand numbers
        is_array = isinstance(X, np.ndarray) or sparse.issparse(X)
        if not is_array and nw.dependencies.is_into_dataframe(X):
            X, frame_names = _matrix_of_frame(X)
            feature_names = frame_names if feature_names is None else feature_names
        matrix = _csr(X, look) if sparse.issparse(X) else _dense(X)
        n_rows, n_features = matrix.shape
        names = None if feature_names is None else _names(feature_names, n_features)
        if look:
            check_finite(matrix, names, allow_nan=missing == "ignore")
        labels = labels_of(y)
        weight = None if sample_weight is None else _column(sample_weight, "sample_weight")
        clock = None if t is None else _column(t, "t")
        for what, column in (("y", labels), ("sample_weight", weight), ("t", clock)):
            if column is not None and len(column) != n_rows:
                raise ValueError(
                    "Found input variables with inconsistent numbers of samples: "
                    f"X has {n_rows} rows, {what} has {len(column)}."
                )
        if weight is not None:
            _check_weight(weight)
        return cls(matrix, labels, weight, clock, names, look and missing == "error", look)


def check_readable(X: Any) -> None:
    """TypeError for what numpy and scikit-learn would take for something else."""
    if np.ma.isMaskedArray(X):
        raise TypeError("X is a masked array: pass X.filled(np.nan) and missing='ignore' instead.")
    if nw.dependencies.is_polars_lazyframe(X):
        raise TypeError("X is a LazyFrame, which has no rows yet: pass X.collect().")


def _dense(X: Any) -> NDArray[Any]:
    matrix = np.asarray(X)
    _check_numeric(matrix.dtype, "X")
    if matrix.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {matrix.ndim}D array instead. Reshape your data using "
            "array.reshape(-1, 1) for a single feature or array.reshape(1, -1) for a single row."
        )
    # Only a matrix that C++ cannot address (fields of packed records, say) is copied.
    return np.require(_as_float(matrix), requirements="A")


def _csr(X: Any, look: bool) -> sparse.csr_array:
    _check_numeric(X.dtype, "X")
    if X.ndim != 2:
        raise ValueError(f"Expected 2D sparse array, got {X.ndim}D instead.")
    csr = sparse.csr_array(X)
    csr.indices, csr.indptr = map(np.ascontiguousarray, (csr.indices, csr.indptr))
    kinds = csr.indices.dtype, csr.indptr.dtype
    if look or kinds not in ((np.int32, np.int32), (np.int64, np.int64)):
        csr = _canonical(csr)
    csr.data = np.ascontiguousarray(_as_float(csr.data))
    return csr


def _canonical(csr: sparse.csr_array) -> sparse.csr_array:
    """Indices of one kind, sorted, and duplicates summed; the same object where that is so."""
    if csr.indices.dtype == csr.indptr.dtype and are_canonical(
        csr.indices, csr.indptr, csr.shape[1]
    ):
        return csr
    # Both are made of one kind. An index out of range would be read outside the array, and scipy
    # looks for none where the last pointer is 0.
    if (np.diff(csr.indptr) < 0).any():
        raise ValueError("Sparse X: index pointer values must form a non-decreasing sequence.")
    csr.check_format(full_check=True)
    csr = csr.copy()  # the constructor shares the caller's arrays
    csr.sum_duplicates()
    return csr


def _as_float(values: NDArray[Any]) -> NDArray[Any]:
    return values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)


def _check_numeric(dtype: np.dtype[Any], what: str) -> None:
    if dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {what} has dtype {dtype}.")
    if dtype.kind not in "fiub":
        raise TypeError(f"{what} must hold numbers, got an array of dtype {dtype}.")


def _matrix_of_frame(native: Any) -> tuple[NDArray[Any], tuple[str, ...] | None]:
    frame = nw.from_native(native, eager_only=True)
    for name, dtype in frame.schema.items():
        if not (dtype.is_numeric() or dtype == nw.Boolean):
            if hasattr(frame.get_column(name).to_native(), "sparse"):
                raise TypeError(
                    f"Column {name!r} is sparse: pass X.sparse.to_coo() if all columns are, else "
                    "X.astype(float)."
                )
            raise TypeError(
                f"Column {name!r} is not numeric ({dtype}): driftsieve.as_batches makes one "
                "feature per category of text and categorical columns."
            )
    if not frame.columns:
        return np.empty((len(frame), 0)), ()
    # pandas has other floats too (Arrow's, nullable ones), of which it makes a matrix of objects
    kinds = set(native.dtypes if frame.implementation.is_pandas_like() else frame.schema.values())
    single = kinds in ({np.dtype("f4")}, {np.dtype("f8")}, {nw.Float32()}, {nw.Float64()})
    matrix = frame.to_numpy() if single else np.stack([*map(floats, frame.iter_columns())]).T
    return matrix, names_of_frame(frame.columns)


def names_of_frame(columns: Sequence[Any]) -> tuple[str, ...] | None:
    """The names of the features if they are strings, as scikit-learn has it."""
    strings = [isinstance(name, str) for name in columns]
    if any(strings) and not all(strings):
        raise TypeError(
            "Feature names are only supported if all input features have string names, got "
            "names of several types: convert them with X.columns = X.columns.astype(str)."
        )
    return tuple(columns) if all(strings) else None


def floats(series: nw.Series[Any]) -> NDArray[np.float64]:
    """The numbers of a series, NaN where there is none; rounded where they have too many digits."""
    if has_integers(series):
        return series.to_numpy().astype(np.float64)  # pyarrow casts none that is to be rounded
    return series.cast(nw.Float64).to_numpy()


def has_integers(series: nw.Series[Any]) -> bool:
    """Whether it holds integers of a size that numpy knows."""
    return series.dtype.is_integer() and series.dtype not in (nw.Int128, nw.UInt128)


def _names(names: Sequence[str], n_features: int) -> tuple[str, ...]:
    result = tuple(names)
    if len(result) != n_features:
        raise ValueError(
            f"X has {n_features} features, but {len(result)} feature_names were given."
        )
    for name in result:
        if not isinstance(name, str):
            raise TypeError(f"feature_names must be strings, got {name!r}.")
    if len(set(result)) != n_features:
        twice = Counter(result).most_common(1)[0][0]
        raise ValueError(f"feature_names must differ, got {twice!r} twice.")
    return result


def check_finite(matrix: Matrix, names: tuple[str, ...] | None, *, allow_nan: bool) -> None:
    """Raise for the first infinity, or NaN unless allowed, naming where it is."""
    if isinstance(matrix, np.ndarray):
        bad = find_bad_value(matrix, allow_nan)
        if bad is None:
            return
        row, column = bad
        value = float(matrix[row, column])
    else:
        bad = find_bad_value(matrix.data.reshape(1, -1), allow_nan)
        if bad is None:
            return
        entry = bad[1]
        row = int(np.searchsorted(matrix.indptr, entry, side="right")) - 1
        column = int(matrix.indices[entry])
        value = float(matrix.data[entry])
    raise bad_value(value, row, column, names[column] if names else None)


def bad_value(value: float, row: int, column: int, name: str | None) -> RowError:
    """What is wrong with NaN or infinity."""
    where = f", column {column}" + ("." if name is None else f" ({name!r}).")
    if np.isnan(value):
        hint = ' Pass missing="ignore" to leave missing values out.'
        return RowError("Input X contains NaN", row, where + hint)
    return RowError(f"Input X contains infinity: {value}", row, where)


def _column(values: ArrayLike, what: str) -> NDArray[np.float64]:
    refuse_masked(values, what)
    has_zone = getattr(getattr(values, "dtype", None), "tz", None) is not None
    given = np.asarray(values, dtype="datetime64[us]" if has_zone else None)  # pandas: in UTC
    if given.ndim != 1:
        raise ValueError(
            f"{what} should be a 1d array, got an array of shape {given.shape} instead."
        )
    array = seconds_of(given) if what == "t" and given.dtype.kind in "MO" else given
    _check_numeric(array.dtype, what)
    column = np.ascontiguousarray(array, dtype=np.float64)
    bad = ~np.isfinite(column)
    if bad.any():
        row = int(bad.argmax())
        raise RowError(f"{what} must be finite, got {given[row]}", row)
    return column


def seconds_of(moments: NDArray[Any]) -> NDArray[Any]:
    """Seconds since 1970 of datetimes, in UTC where they say no other; NaN where there is none."""
    if moments.dtype.kind == "O":
        if not all(isinstance(moment, date | np.datetime64 | None) for moment in moments):
            raise TypeError("t must hold numbers or datetimes, all of one kind, got other objects.")
        moments = np.array([*map(_in_utc, moments)], dtype="datetime64[us]")
    seconds = moments.astype("datetime64[us]").astype(np.int64) / 1e6
    seconds[np.isnat(moments)] = np.nan
    return seconds


def _in_utc(moment: Any) -> Any:
    """A datetime as numpy takes it: without a zone, and None for the NaT of pandas."""
    if moment != moment:
        return None
    if getattr(moment, "tzinfo", None) is None:
        return moment
    return moment.astimezone(UTC).replace(tzinfo=None)


def _check_weight(weight: NDArray[np.float64]) -> None:
    if (weight < 0).any():
        row = int(np.argmax(weight < 0))
        raise RowError(f"sample_weight must not be negative, got {float(weight[row])}", row)
    if (weight > MAX_WEIGHT).any():
        row = int(np.argmax(weight > MAX_WEIGHT))
        raise RowError(
            f"sample_weight must be at most 1e140, got {float(weight[row])}",
            row,
            ": divide all weights by the same number.",
        )
