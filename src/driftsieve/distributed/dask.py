"""Screening of dask arrays and data frames, on any dask scheduler.

Every chunk becomes a bank, which is cut into blocks of features. The blocks are merged in a tree
and scored by the workers. Only the scores are returned to the client.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np

from driftsieve.bank import Bank, ClockName
from driftsieve.distributed.plan import BlockScores, Plan, ScreenOptions, clock_of, located
from driftsieve.scores import rank

if TYPE_CHECKING:
    import pandas as pd

FAN_IN = 8
"""Number of banks that one task merges."""


def screen(
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    time: Any = None,
    clock: ClockName | None = None,
    as_bank: bool = False,
    **options: Unpack[ScreenOptions],
) -> pd.DataFrame | Bank:
    """Score the features of a dask array or data frame.

    The result equals that of one ``Bank`` with all rows while nothing is pruned, and is within its
    guarantee otherwise. It does not depend on the chunks or on lost workers.

    Parameters
    ----------
    X : dask array or dask data frame
        Chunks are numpy arrays, scipy sparse matrices or data frames, with the columns that ``X``
        declares. Columns of a frame are identified by name. Chunks of columns are screened
        separately.
    y : dask array, dask series, str, or array-like
        Labels, or the name of their column in ``X``. A numpy array or list must have the order of
        the rows of ``X``. If the lengths of the chunks of ``X`` are unknown, as in a data frame,
        they are counted first, which reads ``X`` once more.
    sample_weight, time : like y, optional
        Weights and times of the rows.
    clock : {"row", "batch", "time"}, optional
        Default: "time" if ``time`` is given, otherwise "row", in the order of ``X``. With "batch"
        every chunk of rows is one tick.
    as_bank : bool
        Return the merged bank of all features, with moments and quantiles, instead of the scores.
    **options
        ``score_func``, ``n_bins``, ``epsilon``, ``decay``, ``half_life`` and ``missing``: as in
        ``FeatureScreener``, with the same defaults. ``block_size``: number of features that are
        merged and scored together, 1024 by default.

    Returns
    -------
    pandas.DataFrame or Bank
        One row per feature, in the order of ``X``, with the columns feature (name, or index without
        names), score, pvalue and rank. With several half-lives there are that many rows per
        feature, and the first column is half_life.

    Raises
    ------
    TypeError
        If ``X`` is not a dask collection.
    ValueError
        If a parameter, a chunk or its rows are not valid.

    See Also
    --------
    driftsieve.distributed.spark.screen : The same for Spark.
    driftsieve.Bank : Screens in one process.

    Examples
    --------
    >>> import dask.array as da
    >>> X = da.from_array(np.arange(12.0).reshape(6, 2) % 5, chunks=(3, 2))
    >>> screen(X, [0, 0, 1, 1, 0, 1], score_func="fisher")[["feature", "rank"]]
       feature  rank
    0        0     2
    1        1     1
    """
    dask = _dask()
    plan = Plan.of(clock_of(clock, time, "time"), **options, whole_bank=as_bank)
    rows = _Rows.of(X, y, sample_weight, time, join_columns=as_bank)
    if as_bank:
        whole = [dask.delayed(_bank)(plan, *chunk) for chunk in rows.chunks(0)]
        (bank,) = dask.compute(_tree(plan, whole))
        return Bank.from_bytes(bank.to_bytes())  # with all threads instead of one
    tasks = []
    for group, (first, width) in enumerate(rows.column_groups):
        n_blocks = max(1, -(-width // plan.block_size))
        cuts = [
            dask.delayed(_cut_bank, nout=n_blocks)(plan, *chunk) for chunk in rows.chunks(group)
        ]
        for b, parts in enumerate(zip(*cuts, strict=True)):
            merged = _tree(plan, list(parts))
            tasks.append(dask.delayed(plan.scores)(merged, first + b * plan.block_size))
    found = dask.compute(*tasks)
    return _joined(
        plan, [_table(plan, blocks, rows.feature_names) for blocks in zip(*found, strict=True)]
    )


class _Rows(NamedTuple):
    """The chunks of the input, not computed yet."""

    X: list[list[Any]]
    """Chunks of rows, each a list of its chunks of columns."""
    columns: list[list[Any] | None]
    """Chunks of y, sample_weight and time, or names of columns of the chunks of X."""
    declared: list[Any]
    """What each chunk of columns has: how many, or their names."""
    column_groups: list[tuple[int, int]]
    """First feature and number of features of each chunk of columns."""
    feature_names: list[Any] | None

    @classmethod
    def of(cls, X: Any, y: Any, sample_weight: Any, time: Any, *, join_columns: bool) -> _Rows:
        given = {"y": y, "sample_weight": sample_weight, "time": time}
        if hasattr(X, "npartitions") and hasattr(X, "columns"):
            for name, what in given.items():
                if isinstance(what, str) and what not in X.columns:
                    raise ValueError(f"{name} must be a column of X, got {what!r}.")
            grid = [[chunk] for chunk in X.to_delayed()]
            declared = [X.columns]
            named = [what for what in given.values() if isinstance(what, str)]
            names = [column for column in X.columns if column not in named]
            groups = [(0, len(names))]
        elif hasattr(X, "chunks") and hasattr(X, "to_delayed"):
            if X.ndim != 2:
                raise ValueError(f"Expected 2D array, got {X.ndim}D array instead.")
            if np.isnan(X.shape[1]):
                raise ValueError(
                    "X must have a known number of columns, got an unknown one. Call "
                    "X.compute_chunk_sizes() first."
                )
            X = X.rechunk({1: -1}) if join_columns else X
            grid = X.to_delayed().tolist()
            declared, names = list(X.chunks[1]), None
            groups = [(sum(declared[:i]), width) for i, width in enumerate(declared)]
        else:
            raise TypeError(
                f"X must be a dask array or data frame, got {type(X).__name__}. Use "
                "dask.array.from_array, or driftsieve.Bank for data in memory."
            )
        in_memory = [name for name, what in given.items() if _in_memory(what, X)]
        lengths = _lengths(X, grid) if in_memory else None
        columns = [
            None if what is None else _column(what, name, X, len(grid), lengths)
            for name, what in given.items()
        ]
        return cls(grid, columns, declared, groups, names)

    def chunks(self, group: int) -> list[tuple[Any, ...]]:
        """Return the arguments of every chunk of rows, for one chunk of columns.

        They are name, declared columns, X, y, sample_weight and time.
        """
        return [
            (
                f"chunk {i if len(row) == 1 else (i, group)}",
                self.declared[group],
                row[group],
                *(None if column is None else column[i] for column in self.columns),
            )
            for i, row in enumerate(self.X)
        ]


def _in_memory(values: Any, X: Any) -> bool:
    """Return whether these are values, not a dask collection or the name of a column of X."""
    is_name = isinstance(values, str) and hasattr(X, "columns")
    return not (values is None or is_name or hasattr(values, "to_delayed"))


def _lengths(X: Any, grid: list[list[Any]]) -> tuple[int, ...]:
    """Return the numbers of rows of the chunks of X, counted if they are unknown to dask."""
    known = X.chunks[0] if hasattr(X, "chunks") else (np.nan,)
    if not np.isnan(known).any():
        return tuple(known)
    dask = _dask()
    counted = dask.compute(*(dask.delayed(np.shape)(row[0]) for row in grid))
    return tuple(shape[0] for shape in counted)


def _column(
    values: Any, name: str, X: Any, n_chunks: int, lengths: tuple[int, ...] | None
) -> list[Any]:
    """Return the chunks of y, sample_weight or time, split as the rows of X; or a name for each."""
    if isinstance(values, str) and hasattr(X, "columns"):
        return [values] * n_chunks
    if _in_memory(values, X):
        import dask.array as da

        if hasattr(X, "columns") and hasattr(values, "index") and hasattr(values, "iloc"):
            raise TypeError(
                f"{name} must be a dask series, an array or the name of a column of X, got a "
                "pandas Series. Dask does not align its index with that of X: make it a column "
                f"of X, or pass {name}.to_numpy() if its rows have the order of X."
            )
        values = da.from_array(np.asarray(values), chunks=-1)  # dask does not chunk text
    else:
        lengths = X.chunks[0] if hasattr(X, "chunks") and hasattr(values, "chunks") else None
    if values.ndim != 1:
        raise ValueError(
            f"{name} should be a 1d array, got an array of shape {values.shape} instead."
        )
    if lengths is not None and not np.isnan([*lengths, *values.chunks[0]]).any():
        if sum(lengths) != len(values):
            raise ValueError(
                "Found input variables with inconsistent numbers of samples: "
                f"X has {sum(lengths)} rows, {name} has {len(values)}."
            )
        values = values.rechunk((lengths,))
    chunks: list[Any] = np.ravel(values.to_delayed()).tolist()
    if len(chunks) != n_chunks:
        raise ValueError(
            f"{name} must have as many chunks as the rows of X, {n_chunks}, got {len(chunks)}. "
            "Repartition one of them, or make it a column of X."
        )
    return chunks


def _bank(plan: Plan, name: str, declared: Any, X: Any, *given: Any) -> Bank:
    bank = plan.bank()
    with located(name):
        X = _as_declared(X, declared)
        columns = [X[what] if isinstance(what, str) else what for what in given]
        named = [what for what in given if isinstance(what, str)]
        bank.update(X.drop(columns=named) if named else X, *columns)
    return bank


def _as_declared(X: Any, declared: int | pd.Index[Any]) -> Any:
    """Return the chunk with the declared columns.

    Dask does not check them, and blocks of different columns must not be merged.
    """
    if isinstance(declared, int):
        if np.shape(X)[1:] != (declared,):
            raise ValueError(
                f"X must have the {declared} declared columns, got an array of shape {np.shape(X)}."
            )
        return X
    either = X.columns.symmetric_difference(declared, sort=False)
    if len(either) or len(X.columns) != len(declared):
        raise ValueError(
            f"X must have the {len(declared)} declared columns, got {len(X.columns)} columns. Not "
            f"in both: {sorted(either, key=str)}."
        )
    return X if X.columns.equals(declared) else X[declared]


def _cut_bank(plan: Plan, *chunk: Any) -> list[Bank]:
    return [cut for _, cut in plan.cuts(_bank(plan, *chunk))]


def _tree(plan: Plan, parts: list[Any]) -> Any:
    """Merge neighbours, level by level: no task holds more than FAN_IN banks."""
    dask = _dask()
    while len(parts) > 1:
        groups = [parts[i : i + FAN_IN] for i in range(0, len(parts), FAN_IN)]
        parts = [dask.delayed(plan.merged)(group) for group in groups]
    return parts[0]


def _table(plan: Plan, blocks: tuple[BlockScores, ...], names: list[Any] | None) -> pd.DataFrame:
    import pandas as pd

    scores = np.concatenate([block.scores for block in blocks])
    nothing = np.full(len(scores), np.nan)
    return pd.DataFrame(
        {
            "feature": np.arange(len(scores)) if names is None else names,
            "score": scores,
            "pvalue": np.concatenate(
                [nothing[: len(b.scores)] if b.pvalues is None else b.pvalues for b in blocks]
            ),
            "rank": rank(scores, plan.larger_is_better),
        }
    )


def _joined(plan: Plan, tables: list[pd.DataFrame]) -> pd.DataFrame:
    """Return the tables of all half-lives as one."""
    import pandas as pd

    if not plan.has_ladder:
        return tables[0]
    half_lives = np.repeat(plan.bank().half_lives, len(tables[0]))
    table = pd.concat(tables, ignore_index=True)
    table.insert(0, "half_life", half_lives)
    return table


def _dask() -> Any:
    try:
        import dask
    except ImportError as problem:
        message = 'Screening dask collections needs dask: pip install "driftsieve[dask]"'
        raise ImportError(message, name="dask") from problem
    return dask
