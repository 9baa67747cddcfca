"""Rows of dictionaries with changing keys, and screeners that learned them."""

from __future__ import annotations

import numpy as np

from driftsieve.river import FeatureScreener


def rows_of(n=400, seed=0):
    """Rows with changing keys: a from the start, late from row 100 on, rare sometimes."""
    rng = np.random.default_rng(seed)
    rows, labels = [], []
    for i in range(n):
        y = bool(rng.integers(2))
        x = {"a": rng.normal() + y, "b": float(rng.integers(3)), 7: rng.normal()}
        if i >= 100:
            x["late"] = rng.normal() + 2 * y
        if i % 7 == 3:
            x["rare"] = rng.normal()
        if i % 11 == 5:
            del x["b"]
        rows.append(x)
        labels.append(y)
    return rows, labels


def learned(rows, labels, **parameters):
    screener = FeatureScreener(**({"half_life": None} | parameters))
    for x, y in zip(rows, labels, strict=True):
        screener.learn_one(x, y)
    return screener


def states(screener):
    screener._bank.flush()
    return [bank.to_bytes() for bank in screener._bank._banks]
