"""Screening dask arrays and data frames, on any dask scheduler.

Every chunk becomes a bank, cut into blocks of features; the blocks are merged in a tree and scored
where they are. Only the scores come back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np

from driftsieve.bank import Bank, ClockName
from driftsieve.distributed.plan import BlockScores, Options, Plan, clock_of, located
from driftsieve.scores import rank

if TYPE_CHECKING:
    import pandas as pd

FAN_IN = 8
"""Banks that one task merges."""


def screen(
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    t: Any = None,
    clock: ClockName | None = None,
    as_bank: bool = False,
    **options: Unpack[Options],
) -> pd.DataFrame | Bank:
    """Score the features of a dask array or data frame.

    The result is that of one ``Bank`` fed with all rows: the same while nothing is pruned, within
    its guarantee after, however the rows are chunked and whichever worker is lost on the way.

    Parameters
    ----------
    X : dask array or dask data frame
        Chunks are numpy arrays, scipy sparse matrices or data frames, with the columns that ``X``
        declares; those of a frame are found by name. Chunks of columns are screened apart.
    y : dask array, dask series, or str
        Labels; or the name of the column of ``X`` that holds them.
    sample_weight, t : like y, optional
        Weights and times of the rows.
    clock : {"sample", "batch", "time"}, optional
        "time" by default if ``t`` is given, otherwise "sample": rows have the order they have in
        ``X``. With "batch" every chunk of rows is one tick.
    as_bank : bool
        Return the merged bank of all features, with moments and quantiles, instead of the scores.
    **options
        ``score``, ``n_bins``, ``epsilon``, ``alpha``, ``half_life`` and ``missing``: as they are in
        ``FeatureScreener``, defaults included. ``block_size``, 1024 by default: the features that
        are merged and scored in one piece.

    Returns
    -------
    pandas.DataFrame or Bank
        Columns feature (name, or number where there are no names), score, pvalue, rank; one row a
        feature, in the order of ``X``.
    """
    dask = _dask()
    plan = Plan.of(clock_of(clock, t, "t"), **options, whole_bank=as_bank)
    rows = _Rows.of(X, y, sample_weight, t, join_columns=as_bank)
    if as_bank:
        whole = [dask.delayed(_bank)(plan, *chunk) for chunk in rows.chunks(0)]
        (bank,) = dask.compute(_tree(plan, whole))
        return Bank.from_bytes(bank.to_bytes())  # with all threads, no longer a task's share
    tasks = []
    for group, (first, width) in enumerate(rows.column_groups):
        n_blocks = max(1, -(-width // plan.block_size))
        cuts = [
            dask.delayed(_cut_bank, nout=n_blocks)(plan, *chunk) for chunk in rows.chunks(group)
        ]
        for b, parts in enumerate(zip(*cuts, strict=True)):
            merged = _tree(plan, list(parts))
            tasks.append(dask.delayed(plan.scores)(merged, first + b * plan.block_size))
    return _table(plan, dask.compute(*tasks), rows.feature_names)


class _Rows(NamedTuple):
    """The chunks of the input, side by side, none of them computed yet."""

    X: list[list[Any]]
    """Chunks of rows, each a list of its chunks of columns."""
    columns: list[list[Any] | None]
    """Chunks of y, sample_weight and t, or names of columns of the chunks of X."""
    declared: list[Any]
    """What each chunk of columns has: how many, or their names."""
    column_groups: list[tuple[int, int]]
    """First feature and number of features of each chunk of columns."""
    feature_names: list[Any] | None

    @classmethod
    def of(cls, X: Any, y: Any, sample_weight: Any, t: Any, *, join_columns: bool) -> _Rows:
        given = {"y": y, "sample_weight": sample_weight, "t": t}
        if hasattr(X, "npartitions") and hasattr(X, "columns"):
            for name, what in given.items():
                if isinstance(what, str) and what not in X.columns:
                    raise ValueError(f"X has no column {what!r}, which {name} names.")
            grid = [[chunk] for chunk in X.to_delayed()]
            declared = [X.columns]
            named = [what for what in given.values() if isinstance(what, str)]
            names = [column for column in X.columns if column not in named]
            groups = [(0, len(names))]
        elif hasattr(X, "chunks") and hasattr(X, "to_delayed"):
            if X.ndim != 2:
                raise ValueError(f"Expected 2D array, got {X.ndim}D array instead.")
            if np.isnan(X.shape[1]):
                raise ValueError("The number of columns of X is not known: pass chunks of it.")
            X = X.rechunk({1: -1}) if join_columns else X
            grid = X.to_delayed().tolist()
            declared, names = list(X.chunks[1]), None
            groups = [(sum(declared[:i]), width) for i, width in enumerate(declared)]
        else:
            raise TypeError(
                f"X must be a dask array or data frame, got {type(X).__name__}: use "
                "dask.array.from_array, or driftsieve.Bank for what fits in memory."
            )
        columns = [
            None if what is None else _column(what, name, X, len(grid))
            for name, what in given.items()
        ]
        return cls(grid, columns, declared, groups, names)

    def chunks(self, group: int) -> list[tuple[Any, ...]]:
        """Name, declared columns, X, y, sample_weight and t of every chunk of rows, for one chunk
        of columns.
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


def _column(values: Any, name: str, X: Any, n_chunks: int) -> list[Any]:
    """The chunks of y, sample_weight or t, cut as the rows of X are; or a name for each."""
    if isinstance(values, str) and hasattr(X, "columns"):
        return [values] * n_chunks
    if not hasattr(values, "to_delayed"):
        import dask.array as da

        values = da.from_array(np.asarray(values), chunks=-1)  # dask cuts no text by itself
    if values.ndim != 1:
        raise ValueError(
            f"{name} should be a 1d array, got an array of shape {values.shape} instead."
        )
    if hasattr(values, "chunks") and hasattr(X, "chunks"):
        lengths = X.chunks[0]
        if not np.isnan([*lengths, *values.chunks[0]]).any():
            if sum(lengths) != len(values):
                raise ValueError(
                    "Found input variables with inconsistent numbers of samples: "
                    f"X has {sum(lengths)} rows, {name} has {len(values)}."
                )
            values = values.rechunk((lengths,))
    chunks: list[Any] = np.ravel(values.to_delayed()).tolist()
    if len(chunks) != n_chunks:
        raise ValueError(
            f"X has {n_chunks} chunks of rows and {name} has {len(chunks)}: they must be chunked "
            "alike."
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
    """The chunk with as many columns, or with those, that were declared: dask does not look, and
    blocks of other columns would be merged.
    """
    if isinstance(declared, int):
        if np.shape(X)[1:] != (declared,):
            raise ValueError(f"X has shape {np.shape(X)}, but {declared} columns were declared.")
        return X
    either = X.columns.symmetric_difference(declared, sort=False)
    if len(either) or len(X.columns) != len(declared):
        raise ValueError(
            f"X has {len(X.columns)} columns, but {len(declared)} were declared; not in both: "
            f"{sorted(either, key=str)}."
        )
    return X if X.columns.equals(declared) else X[declared]


def _cut_bank(plan: Plan, *chunk: Any) -> list[Bank]:
    return [cut for _, cut in plan.cuts(_bank(plan, *chunk))]


def _tree(plan: Plan, parts: list[Any]) -> Any:
    """Merge neighbours, level by level: no task ever holds more than FAN_IN banks."""
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


def _dask() -> Any:
    try:
        import dask
    except ImportError as problem:
        message = 'Screening dask collections needs dask: pip install "driftsieve[dask]"'
        raise ImportError(message, name="dask") from problem
    return dask
