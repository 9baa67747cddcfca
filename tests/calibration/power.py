"""How often a true shift of one class is found, compared with a t-test of the present rows."""

import numpy as np
from scipy.stats import ttest_ind

from driftsieve.scores import SCORES

from .noise import TESTED, Noise, labels, sample_weights, screened, values

LEVEL = 0.001
BY_HAND = "t-test by hand"
STREAMS = {
    "two classes, 300 rows": Noise(rows=300),
    "two classes, one of 1 %, 3,000 rows": Noise(share=0.01),
    "the same, tenfold weight on the rare class": Noise(share=0.01, weights="class"),
    "random weights (exponential), one class of 10 %": Noise(share=0.1, weights="random"),
    "faded": Noise(share=0.1, fading=True),
    "faded, a class in the last 4 % of the rows only": Noise(fading=True, timing="new"),
    "faded, a class silent for four half-lives": Noise(fading=True, timing="silent"),
    "95 % missing at random": Noise(missing=0.95),
    "faded, the first 95 % missing": Noise(missing=0.95, missing_by="time", fading=True),
    "20 classes": Noise(classes=20),
}


def power(noise, n_features, seed=0):
    """Share of p-values below LEVEL, by test. The last class is shifted so far that a t-test finds
    about four features in five.

    The test by hand has for each class the newest rows in which the feature is known, as many as
    their effective number, all with the same weight.
    """
    rng = np.random.default_rng(seed)
    y, X = labels(noise, rng), values(noise, rng, n_features)
    w = sample_weights(noise, y, rng)
    age = np.arange(noise.rows)[::-1] / (noise.rows / 5 if noise.fading else np.inf)
    seen = np.exp2(-age) * (1.0 if w is None else w)
    known = np.isfinite(X)
    rows, sizes = [], []
    for of_class in (y == noise.classes - 1, y != noise.classes - 1):
        weight = np.where(known & of_class[:, None], seen[:, None], 0.0)
        size = np.maximum(2, np.round(weight.sum(axis=0) ** 2 / (weight**2).sum(axis=0)))
        is_newest = np.cumsum((weight > 0)[::-1], axis=0)[::-1] <= size
        rows.append(np.where((weight > 0) & is_newest, X, np.nan))
        sizes.append(size)
    shift = 4.2 * np.sqrt(1 / sizes[0] + 1 / sizes[1])
    rows[0] = rows[0] + shift
    X[y == noise.classes - 1] += shift
    by_hand = ttest_ind(*rows, nan_policy="omit").pvalue
    snap = screened(noise, X, y, w)
    found = {name: SCORES[name].pvalues(snap) for name in TESTED}
    return {name: float(np.mean(p < LEVEL)) for name, p in {BY_HAND: by_hand, **found}.items()}
