"""What all scores share: checks, blocks of features, and arithmetic with weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import wraps
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from driftsieve.snapshot import Floats, Snapshot

Needs = Literal["moments", "quantiles"]
ScoreFunction = Callable[[Snapshot], Floats]

_BLOCK_CELLS = 1 << 17  # 1 MB per temporary: stays in cache, whatever the number of features


def per_feature(needs: Needs) -> Callable[[ScoreFunction], ScoreFunction]:
    """Check the snapshot once, then run the kernel over blocks of features."""

    def decorate(kernel: ScoreFunction) -> ScoreFunction:
        @wraps(kernel)
        def score(snap: Snapshot) -> Floats:
            missing = snap.mean is None if needs == "moments" else snap.bin_weights is None
            if missing:
                raise ValueError(
                    f"{kernel.__name__} needs {needs}, which this snapshot does not have: "
                    f"build the bank with {needs}=True"
                )
            if not has_two_classes(snap):
                present = snap.classes[_present(snap)].tolist()
                found = f"only one class: {present[0]!r}" if len(present) else "no class"
                raise ValueError(
                    "Scoring needs rows of at least 2 classes with positive weight, "
                    f"but the data contains {found}"
                )
            with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
                return _once_if_unseen(kernel, _lean(snap, needs))

        return score

    return decorate


def _lean(snap: Snapshot, needs: Needs) -> Snapshot:
    """Without what no score looks at, which then need not be picked out for every block."""
    lean = replace(snap, feature_names=None, edges=None, rank_error=None)
    if needs == "moments":
        return replace(lean, bin_weights=None)
    return replace(lean, mean=None, centred_mean=None, var=None)


def _once_if_unseen(kernel: ScoreFunction, snap: Snapshot) -> Floats:
    """Features that were 0 in every row are all alike: one is enough, unless they are few."""
    out = np.empty(snap.n_features)
    if snap.seen is None or 8 * np.count_nonzero(snap.seen) >= 7 * snap.n_features:
        for block in _blocks(snap, snap.n_features):
            out[block] = kernel(snap.pick(block))
        return out
    seen = np.flatnonzero(snap.seen)
    out.fill(kernel(snap.pick(np.argmin(snap.seen, keepdims=True)))[0])
    for block in _blocks(snap, len(seen)):
        out[seen[block]] = kernel(snap.pick(seen[block]))
    return out


def _blocks(snap: Snapshot, n_features: int) -> Iterator[slice]:
    step = max(1, _BLOCK_CELLS // (snap.n_classes * (snap.n_bins or 1)))
    return (slice(start, start + step) for start in range(0, n_features, step))


def ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Divide; numerator 0 gives 0, otherwise denominator 0 gives +inf."""
    return np.where(numerator == 0, 0.0, np.divide(numerator, denominator))


def unfaded(weight: Floats, snap: Snapshot) -> Floats:
    """0 in place of weights near the end of the range of double, whose quotients would leave it."""
    return np.where(weight > 1e-300 * max(1.0, snap.W), weight, 0.0)


def _present(snap: Snapshot) -> NDArray[np.bool_]:
    return unfaded(snap.class_weight, snap) > 0


def has_two_classes(snap: Snapshot) -> bool:
    """Whether rows of two classes have weight now, without which nothing can be scored."""
    return int(np.count_nonzero(_present(snap))) > 1


def class_sizes(snap: Snapshot) -> Floats:
    """(C, p) effective number of rows of each class that count for each feature."""
    return unfaded(snap.weight, snap) * ratio(snap.class_n_eff, snap.class_weight)[:, None]


def n_eff(snap: Snapshot) -> Floats:
    """(p,) effective number of rows behind each feature."""
    weight = unfaded(snap.weight, snap)
    shares = ratio(weight, weight.sum(axis=0))
    per_row = ratio(shares**2, class_sizes(snap)).sum(axis=0)
    return np.where(per_row > 0, 1 / per_row, 0.0)
