"""Small sound states of every kind: what fuzzing mutates, and what golden files hold."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import sparse

import driftsieve as ds


def banks() -> Iterator[tuple[str, ds.Bank]]:
    """Banks of every clock, store and setting, small enough that a mutation hits something."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(24, 2)), np.array([0, 1, 2] * 8)
    holes = np.where(rng.random((24, 2)) < 0.2, np.nan, X)
    few = sparse.csr_array(np.where(rng.random((24, 4)) < 0.3, rng.integers(1, 4, (24, 4)), 0.0))
    weight, t = rng.uniform(0.5, 2.0, 24), np.arange(24.0) * 100.0
    yield "empty", ds.Bank()
    yield "dense", ds.Bank(0.1).update(X, y)
    yield "dense_weighted", ds.Bank(0.1, quantiles=False).update(X, y, sample_weight=weight)
    yield "dense_missing", ds.Bank(0.1, missing="ignore").update(holes, y)
    yield "dense_block", ds.Bank(0.4).update(np.tile(X[:, :1], (12, 1)), np.tile(y, 12))
    faded = ds.Bank(0.4, half_life=50.0).update(np.tile(X[:, :1], (12, 1)), np.tile(y, 12))
    yield "dense_faded", faded
    yield "dense_time", ds.Bank(0.1, clock="time", half_life=3.0).update(X, y, t=t)
    yield "dense_batch", ds.Bank(0.1, clock="batch", alpha=0.9, moments=False).update(X, y)
    yield "sparse", ds.Bank(0.1).update(few, y)
    yield "sparse_text", ds.Bank(0.1).update(few, np.array(["ham", "spam"] * 12))
    late = ds.Bank(0.1, clock="time", half_life=1.0).update(few, y, sample_weight=weight, t=t)
    yield "sparse_time", late
    merged = ds.Bank(0.4, half_life=9.0).update(few, y)
    yield "sparse_merged", merged.merge(ds.Bank(0.4, half_life=9.0).update(few, y), start=24)
    split = ds.Bank(0.4, missing="ignore").update(few * 1.5, y)
    nan = few.copy()
    nan.data[::3] = np.nan
    yield "sparse_missing", split.merge(ds.Bank(0.4, missing="ignore").update(nan, y))
