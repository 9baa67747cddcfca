"""Batch: validated labelled rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

from numpy.typing import ArrayLike

from driftsieve._arguments import check_choice
from driftsieve._rows.matrix import Missing, validated_matrix
from driftsieve._rows.raw import RawRows, raw_rows

__all__ = ["Batch", "Missing", "validated"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Batch(RawRows):
    """Validated rows. Functions that take a ``Batch`` do not check its values again.

    ``X`` has two dimensions, is float32 or float64, and has no infinities. It has NaN only with
    ``missing="ignore"``. A dense float matrix shares the memory of the caller, with any strides. A
    sparse matrix is CSR with sorted indices and without duplicates. ``y`` has integers, booleans or
    strings. Weights are between 0 and 1e140, times are finite. A batch may have no rows.

    See Also
    --------
    Batch.of : Validates rows.
    driftsieve.as_batches : Reads batches from a source.

    Examples
    --------
    >>> batch = Batch.of([[1.0, 2.0], [3.0, 4.0]], ["ham", "spam"])
    >>> batch
    <driftsieve.Batch: 2 dense rows, 2 features>
    >>> Batch.of([[1.0], [float("inf")]], [0, 1])
    Traceback (most recent call last):
    ...
    driftsieve.exceptions.RowError: Input X contains infinity: inf at row 1, column 0.
    """

    missing: Missing = "error"
    """``"ignore"`` if ``X`` may have NaN."""

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any,
        *,
        sample_weight: ArrayLike | None = None,
        time: ArrayLike | None = None,
        missing: Missing = "error",
        feature_names: Sequence[str] | None = None,
        has_dates: bool = False,
    ) -> Batch:
        """Validate rows. A dense float matrix is not copied.

        Parameters
        ----------
        X : array, sparse matrix or data frame
            Numbers and booleans: an array, a scipy sparse matrix of any format (never modified), or
            a data frame (pandas, polars, pyarrow), whose names are used.
        y : array of shape (n_rows,)
            Labels: integers, booleans or strings. Integral floats become integers.
        sample_weight : array of shape (n_rows,), optional
            The weight of each row.
        time : array of shape (n_rows,), optional
            Numbers, or datetimes, which become seconds since 1970; those without a time zone are
            in UTC.
        missing : {"error", "ignore"}
            Whether NaN in ``X`` is an error.
        feature_names : sequence of str, optional
            The names of the columns.
        has_dates : bool
            Whether the numbers in ``time`` are such seconds.

        Returns
        -------
        Batch
            The validated rows.

        Raises
        ------
        RowError
            For a bad value; it has the index of the row.
        ValueError, TypeError
            For a wrong shape or type.

        See Also
        --------
        driftsieve.as_batches : Reads batches from a source.

        Examples
        --------
        >>> from driftsieve import Batch
        >>> Batch.of([[1.0], [2.0]], ["ham", "spam"], sample_weight=[1, 3]).sample_weight
        array([1., 3.])
        """
        check_choice("missing", missing, *get_args(Missing))
        rows = raw_rows(X, y, sample_weight, time, feature_names, has_dates=has_dates)
        return validated(rows, missing)


def validated(rows: RawRows, missing: Missing) -> Batch:
    """Return the rows as a batch; validate them unless they are a batch that is valid already."""
    if isinstance(rows, Batch) and (rows.missing == "error" or missing == "ignore"):
        return rows
    X = validated_matrix(rows.X, rows.feature_names, missing)
    given = (rows.y, rows.sample_weight, rows.time, rows.feature_names, rows.has_dates)
    return Batch(X, *given, missing)
