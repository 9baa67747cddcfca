"""Streams in which no feature depends on the class, and how many p-values are small in them."""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

import driftsieve as ds
from driftsieve.scores import SCORES

TESTED = tuple(name for name, score in SCORES.items() if score.pvalues is not None)
LEVELS = (0.05, 0.001)
DENSE = ("normal", "tied", "flag", "rare")
SPARSE = ("flag", "rare", "real")


@dataclass(frozen=True)
class Noise:
    """One cell of the grid."""

    rows: int = 3000
    classes: int = 2
    share: float | None = None  # of the last class; None: all equal
    weights: str = "unit"  # unit, random, class (tenfold for the last)
    fading: bool = False  # half-life: a fifth of the rows
    timing: str = "even"  # even; new: the last class in the last rows only; silent: has no rows
    missing: float = 0.0
    missing_by: str = "chance"  # chance, time (the first rows)
    values: str = "normal"  # tied: Poisson; flag, rare: 1 in 20 % and 1 % of rows; real: in 2 %
    storage: str = "dense"  # dense, sparse, recent (sparse, not 0 in the last rows only)

    def __str__(self):
        default = Noise()
        parts = [f"{self.rows} rows"]
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if name != "rows" and value != getattr(default, name):
                parts.append(f"{name} {value}")
        return ", ".join(parts)


def labels(noise, rng):
    n, last = noise.rows, noise.classes - 1
    share = np.full(noise.classes, 1 / noise.classes)
    if noise.share is not None:
        share = np.append(np.full(last, (1 - noise.share) / last), noise.share)
    y = rng.choice(noise.classes, size=n, p=share)
    others = rng.integers(0, last, n) if last else y
    if noise.timing == "new":
        y[: n - n // 25] = others[: n - n // 25]
    if noise.timing == "silent":
        y[n // 5 :] = others[n // 5 :]
    for c in (0, last):  # two rows of each at least
        at = {"new": slice(-2 - 2 * (c == 0), None), "silent": slice(4)}.get(noise.timing, slice(4))
        y[at][2 * (c == 0) :][:2] = c
    return y


def values(noise, rng, p):
    n = noise.rows
    if noise.values == "normal":
        X = rng.standard_normal((n, p))
    elif noise.values == "tied":
        X = rng.poisson(1.5, (n, p)).astype(float)
    else:
        density = {"flag": 0.2, "rare": 0.01, "real": 0.02}[noise.values]
        X = (rng.random((n, p)) < density).astype(float)
        if noise.values == "real":
            X *= rng.gamma(2.0, size=(n, p))
    if noise.storage == "recent":
        X[: n - n // 10] = 0.0
    if noise.missing:
        if noise.missing_by == "time":
            X[: int(noise.missing * n)] = np.nan
        else:
            X[rng.random((n, p)) < noise.missing] = np.nan
    return X


def sample_weights(noise, y, rng):
    if noise.weights == "random":
        return rng.standard_exponential(noise.rows)
    return np.where(y == noise.classes - 1, 10.0, 1.0) if noise.weights == "class" else None


def screened(noise, X, y, weight):
    """The snapshot of a bank of these rows."""
    bank = ds.Bank(
        missing="ignore" if noise.missing else "error",
        half_life=noise.rows / 5 if noise.fading else None,
    )
    if noise.storage != "dense":
        X = sparse.csr_array(X)
    return bank.update(X, y, sample_weight=weight).snapshot()


def rates(noise, n_features, seed=0, per_stream=250):
    """Share of p-values below each level, {score: (at 0.05, at 0.001)}. Labels are drawn for every
    ``per_stream`` features, so that no single draw decides.
    """
    below = {name: np.zeros(len(LEVELS)) for name in TESTED}
    for part, start in enumerate(range(0, n_features, per_stream)):
        rng = np.random.default_rng([seed, part])
        y, X = labels(noise, rng), values(noise, rng, min(per_stream, n_features - start))
        snap = screened(noise, X, y, sample_weights(noise, y, rng))
        for name in TESTED:
            p = SCORES[name].pvalues(snap)
            below[name] += [np.count_nonzero(p < level) for level in LEVELS]
    return {name: tuple(count / n_features) for name, count in below.items()}


def grid():
    """Every kind of stream with every kind of feature that it can have."""
    streams = []
    classes = [(2, None), (2, 0.1), (2, 0.01), (3, None), (20, None), (100, None)]
    for rows in (30, 300, 3000, 10_000):
        for n_classes, share in classes:
            if rows * (share or 1 / n_classes) < 1:
                continue
            plain = Noise(rows=rows, classes=n_classes, share=share)
            streams += [plain, replace(plain, fading=True)]
            if rows in (300, 3000):
                streams += [replace(plain, weights="random"), replace(plain, weights="class")]
                streams += [replace(plain, weights="class", fading=True)]
                streams += [
                    replace(plain, fading=True, timing=timing) for timing in ("new", "silent")
                ]
    cells = [replace(stream, values=kind) for stream in streams for kind in DENSE]
    for stream in streams:
        cells += [replace(stream, values=kind, storage="sparse") for kind in SPARSE]
        if stream.fading and stream.timing == "even":  # else flag and class both depend on time
            cells += [replace(stream, values=kind, storage="recent") for kind in ("flag", "rare")]
        if stream.rows in (300, 3000) and stream.weights != "random":
            cells += [
                replace(stream, missing=missing, missing_by=by, values=kind)
                for missing in ((0.5,) if stream.rows == 300 else (0.5, 0.95))
                for by in ("chance", "time")
                for kind in ("normal", "flag")
            ]
    return cells
