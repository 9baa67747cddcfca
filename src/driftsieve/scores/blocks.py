"""Checks, blocks of features and arithmetic with weights that all scores share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from driftsieve.snapshot import Floats, Snapshot

Needs = Literal["moments", "quantiles"]
ScoreFunction = Callable[[Snapshot], Floats]

_ROUNDING = 1e-9  # of effective rows and of shares
_BLOCK_CELLS = 1 << 17  # 1 MB per temporary: stays in cache, whatever the number of features


_of_columns: set[ScoreFunction] = set()


def by_column(function: ScoreFunction) -> ScoreFunction:
    """Decorate a function of a snapshot that treats each feature alone, whatever its index."""
    _of_columns.add(function)
    return function


def is_by_column(function: ScoreFunction) -> bool:
    """Return whether a function treats each feature alone; unknown functions may not."""
    return function in _of_columns


def per_feature(needs: Needs) -> Callable[[ScoreFunction], ScoreFunction]:
    """Decorate a score: check the snapshot once, then compute blocks of features."""

    def decorate(kernel: ScoreFunction) -> ScoreFunction:
        @by_column
        @wraps(kernel)
        def score(snap: Snapshot) -> Floats:
            if not isinstance(cast("object", snap), Snapshot):
                return _of_bank(score, snap)
            missing = snap.mean is None if needs == "moments" else snap.bin_weights is None
            if missing:
                raise ValueError(
                    f"The snapshot must have {needs} for {kernel.__name__}, got none. "
                    f"Create the bank with {needs}=True."
                )
            if not has_two_classes(snap):
                present = snap.classes[_present(snap)].tolist()
                found = f"only one class: {present[0]!r}" if len(present) else "no class"
                raise ValueError(
                    f"The data must contain at least 2 classes with positive weight, got {found}."
                )
            with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
                return _once_if_unseen(kernel, _lean(snap, needs))

        return score

    return decorate


def _of_bank(function: ScoreFunction, bank: Any) -> Floats:
    """Apply the function to a bank, read with the default number of bins."""
    if not hasattr(bank, "snapshot"):
        raise TypeError(f"snap must be a Snapshot or a Bank, got {type(bank).__name__}.")
    from driftsieve.scores.reader import read_bank

    return read_bank(bank, function, 5)


def _lean(snap: Snapshot, needs: Needs) -> Snapshot:
    """Drop the arrays that no score uses, so that they are not copied for every block."""
    unused = ("bin_weights",) if needs == "moments" else ("mean", "centred_mean", "var")
    nothing: dict[str, Any] = dict.fromkeys(("feature_names", "edges", "rank_error", *unused))
    return replace(snap, **nothing)


def _once_if_unseen(kernel: ScoreFunction, snap: Snapshot) -> Floats:
    """Compute features that were 0 in every row only once, unless there are few of them."""
    if snap.seen is None or 8 * np.count_nonzero(snap.seen) >= 7 * snap.n_features:
        blocks = _blocks(snap, snap.n_features)
        if len(blocks) == 1:
            return kernel(snap)
        return np.concatenate([np.empty(0), *(kernel(snap.pick(block)) for block in blocks)])
    out = np.empty(snap.n_features)
    seen = np.flatnonzero(snap.seen)
    out.fill(kernel(snap.pick(np.argmin(snap.seen, keepdims=True)))[0])
    for block in _blocks(snap, len(seen)):
        out[seen[block]] = kernel(snap.pick(seen[block]))
    return out


def _blocks(snap: Snapshot, n_features: int) -> list[slice]:
    step = max(1, _BLOCK_CELLS // (snap.n_classes * (snap.n_bins or 1)))
    return [slice(start, start + step) for start in range(0, n_features, step)]


def ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Divide; numerator 0 gives 0, otherwise denominator 0 gives +inf."""
    return np.where(numerator == 0, 0.0, np.divide(numerator, denominator))


def unfaded(weight: Floats, snap: Snapshot) -> Floats:
    """Replace weights near the lower end of double by 0: quotients would overflow."""
    return np.where(weight > 1e-300 * max(1.0, snap.W), weight, 0.0)


def _present(snap: Snapshot) -> NDArray[np.bool_]:
    return unfaded(snap.class_weight, snap) > 0


def has_two_classes(snap: Snapshot) -> bool:
    """Return whether rows of two classes have weight now, which every score needs."""
    return int(np.count_nonzero(_present(snap))) > 1


def class_sizes(snap: Snapshot) -> Floats:
    """Return (C, p) effective sizes of the classes, over the rows that observed a feature."""
    weight = unfaded(snap.weight, snap)
    if snap.weight_squared is None:  # no missing values: the class totals hold
        return np.where(weight > 0, snap.class_n_eff[:, None], 0.0)
    # The root first: squares of tiny weights would underflow.
    root = np.sqrt(snap.weight_squared)
    return np.square(np.divide(weight, root, out=np.zeros_like(root), where=root > 0))


class Evidence(NamedTuple):
    """Effective sample size of each feature, and how its statistics are distributed."""

    n: Floats  # (p,) n*, the number of rows if all weights are 1
    n_classes: NDArray[np.int64]  # (p,) classes with weight
    freedom: Floats  # (p,) degrees of freedom between the classes, C - 1 if all weights are 1
    scale: Floats  # (p,) scale of a statistic's distance from its mean, 1 if all weights are 1

    def adjusted(self, statistic: Floats, n_free: Floats | float = 1.0) -> tuple[Floats, Floats]:
        """Return a statistic and its degrees of freedom, corrected for unequal weights.

        ``statistic`` is computed from n* rows. With unit weights it would have ``n_free * (C - 1)``
        degrees of freedom.
        """
        free = n_free * self.freedom
        moved = free + self.scale * (statistic - n_free * (self.n_classes - 1))
        return np.where(statistic > 0, np.maximum(moved, 0.0), 0.0), free


def evidence(snap: Snapshot) -> Evidence:
    """Return the evidence of each feature.

    n* = (C - 1) / sum_c p_c (1 - p_c) / n_c corrects the mean of a statistic. Where the rows of one
    class weigh more than those of another, the statistic is a sum of chi-squares of unequal size.
    The degrees of freedom correct its variance and skewness (Buckley and Eagleson 1988).
    """
    n, n_classes, share, A = _evidence_of_mean(snap)
    # The sizes of the chi-squares are the eigenvalues of A - a a', A diagonal; these are the sums
    # of their first, second and third powers.
    a_a, a_A_a, a_A2_a = ((share * A * A**power).sum(axis=0) for power in range(3))
    second = (A**2).sum(axis=0) - 2 * a_A_a + a_a**2
    third = (A**3).sum(axis=0) - 3 * a_A2_a + 3 * a_a * a_A_a - a_a**3
    several = (n_classes > 2) & (third > 0)
    return Evidence(
        n / design_effect(snap),
        n_classes,
        np.where(several, second**3 / third**2, n_classes - 1.0),
        np.where(several, second / (third * n), 1.0),
    )


def effective_rows(snap: Snapshot) -> tuple[Floats, NDArray[np.int64]]:
    """Return (p,) n* and the number of classes with weight, as in ``evidence``."""
    n, n_classes = _evidence_of_mean(snap)[:2]
    return n / design_effect(snap), n_classes


def _evidence_of_mean(
    snap: Snapshot,
) -> tuple[Floats, NDArray[np.int64], Floats, Floats]:
    """Return n*, the number of classes, and the share of each class, alone and by its size."""
    weight = unfaded(snap.weight, snap)
    share = ratio(weight, weight.sum(axis=0))
    A = ratio(share, class_sizes(snap))
    n_classes = (weight > 0).sum(axis=0)
    first = (A * (1 - share)).sum(axis=0)
    return np.where(first > 0, (n_classes - 1) / first, 0.0), n_classes, share, A


def design_effect(snap: Snapshot) -> Floats:
    """Return the (p,) divisors of effective sizes, see `Snapshot.design_effect`.

    They are at least 1: rows that happen to have low weights are not more evidence.
    """
    if snap.design_effect is None:
        return np.ones(snap.n_features)
    return np.maximum(snap.design_effect, 1.0)


def observed_share(snap: Snapshot) -> Floats:
    """Return the (p,) share of the weight in which each feature was observed, 1 up to rounding."""
    share = unfaded(snap.weight, snap).sum(axis=0) / unfaded(snap.class_weight, snap).sum()
    return np.where(share > 1 - _ROUNDING, 1.0, share)


def has_two_rows(weight: Floats, size: Floats) -> NDArray[np.bool_]:
    """Return whether there are at least two effective rows: one row is no evidence.

    An effective size of 0 is unknown: the squares of very small weights underflow.
    """
    enough: NDArray[np.bool_] = (weight > 0) & ((size >= 2 - _ROUNDING) | (size == 0))
    return enough


def can_be_tested(snap: Snapshot) -> NDArray[np.bool_]:
    """Return (p,) whether two classes have at least two effective rows."""
    enough = has_two_rows(unfaded(snap.weight, snap), class_sizes(snap))
    tested: NDArray[np.bool_] = enough.sum(axis=0) >= 2
    return tested


def smallest_pvalue(*sizes: Floats) -> Floats:
    """Return 1 / (number of ways to assign the rows to the classes), a bound of p-values."""
    each = np.stack(sizes)
    ways = gammaln(each.sum(axis=0) + 1) - gammaln(each + 1).sum(axis=0)
    return np.asarray(np.exp(-np.maximum(ways, 0.0)))
