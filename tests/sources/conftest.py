"""A table that all sources must read equally."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from driftsieve.batch import Batch


@pytest.fixture(scope="session")
def mixed() -> dict[str, list[Any]]:
    """A table of 50 rows: integers, floats, booleans, text, labels, weights and times."""
    rng = np.random.default_rng(7)
    colours = ["red", "green", "blue", 'a "quoted", one', "two\nlines", "größe"]
    return {
        "n": rng.integers(-5, 5, 50).tolist(),
        "colour": [colours[min(i // 7, 5)] for i in range(50)],
        "x": rng.normal(size=50).tolist(),
        "kind": rng.choice(["a", "b", "c"], 50).tolist(),
        "label": rng.choice(["ham", "spam"], 50).tolist(),
        "w": rng.uniform(0, 2, 50).tolist(),
        "ts": np.sort(rng.uniform(0, 1e9, 50)).tolist(),
    }


@pytest.fixture(scope="session")
def mixed_batches(mixed: dict[str, list[Any]]) -> list[Batch]:
    """What reading ``mixed`` in batches of 16 must give, written out by hand."""
    names = ["n", "x"]
    batches = []
    for start in range(0, 50, 16):
        rows = range(start, min(start + 16, 50))
        for i in rows:
            for column in ("colour", "kind"):
                name = f"{column}={mixed[column][i]}"
                if name not in names:
                    names.append(name)
        X = np.zeros((len(rows), len(names)))
        for k, i in enumerate(rows):
            X[k, 0], X[k, 1] = mixed["n"][i], mixed["x"][i]
            X[k, names.index(f"colour={mixed['colour'][i]}")] = 1
            X[k, names.index(f"kind={mixed['kind'][i]}")] = 1
        batches.append(
            Batch.of(
                sparse.csr_array(X),
                [mixed["label"][i] for i in rows],
                sample_weight=[mixed["w"][i] for i in rows],
                time=[mixed["ts"][i] for i in rows],
                feature_names=names,
            )
        )
    return batches
