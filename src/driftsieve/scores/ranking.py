"""The table of scores, and the ranking of features by them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftsieve._arguments import arg
from driftsieve.scores.bins import chi2, gini, mutual_info
from driftsieve.scores.blocks import ScoreFunction
from driftsieve.scores.moments import fisher, t
from driftsieve.scores.pvalues import (
    chi2_pvalues,
    fisher_pvalues,
    mutual_info_pvalues,
    t_pvalues,
)
from driftsieve.snapshot import Floats

_LAST_BITS = (1 << 23) - 1  # of the mantissa


@dataclass(frozen=True, slots=True)
class Score:
    """A score, its p-values if it has any, and what a bank must keep for it.

    Parameters
    ----------
    function : callable
        Computes the score of each feature from a Snapshot.
    pvalues : callable or None
        Computes the p-value of each feature from a Snapshot.
    larger_is_better : bool
        Whether larger scores rank first.
    needs : {"moments", "quantiles", "both"}
        What a bank must keep.

    See Also
    --------
    score_of : Return the score of a name.

    Examples
    --------
    >>> SCORES["gini"].needs, SCORES["gini"].larger_is_better
    ('quantiles', False)
    """

    function: ScoreFunction
    pvalues: ScoreFunction | None
    larger_is_better: bool
    needs: str  # "moments", "quantiles" or "both"

    @property
    def keeps(self) -> dict[str, Any]:
        """Arguments ``moments`` and ``quantiles`` of a bank for this score."""
        return {name: self.needs in (name, "both") for name in ("moments", "quantiles")}

    def bins(self, n_bins: int) -> int | None:
        """Return the number of bins to read from a bank for this score.

        Parameters
        ----------
        n_bins : int
            Number of quantile bins.

        Returns
        -------
        int or None
            None for a score that needs no bins.

        See Also
        --------
        driftsieve.Bank.snapshot : Reads a bank.

        Examples
        --------
        >>> SCORES["t"].bins(5), SCORES["gini"].bins(5)
        (None, 5)
        """
        return None if self.needs == "moments" else n_bins


SCORES: dict[str, Score] = {
    "t": Score(t, t_pvalues, True, "moments"),
    "fisher": Score(fisher, fisher_pvalues, True, "moments"),
    "mutual_info": Score(mutual_info, mutual_info_pvalues, True, "quantiles"),
    "chi2": Score(chi2, chi2_pvalues, True, "quantiles"),
    "gini": Score(gini, None, False, "quantiles"),
}


def score_of(score_func: str | ScoreFunction) -> Score:
    """Return the score with a name, or wrap a function of a snapshot as a score.

    Parameters
    ----------
    score_func : str or callable
        A key of ``SCORES``, or a function that takes a Snapshot and returns one number per feature.
        A function has no p-values, and its larger values are better.

    Returns
    -------
    Score

    Raises
    ------
    ValueError
        If there is no score with that name.

    See Also
    --------
    rank : Ranks features by their scores.

    Examples
    --------
    >>> score_of("gini").larger_is_better
    False
    """
    if callable(score_func):
        return Score(score_func, None, True, "both")
    if not isinstance(score_func, str) or score_func not in SCORES:
        names = ", ".join(map(repr, SCORES))
        raise ValueError(
            f"{arg('score_func')} must be one of {names} or a function of a Snapshot, got "
            f"{score_func!r}."
        )
    return SCORES[score_func]


def rank(scores: Floats, larger_is_better: bool) -> NDArray[np.int64]:
    """Rank the features: 1 is best, ties go to the lower index.

    Scores are compared to 30 bits, which is their relative precision of 1e-9. Features that tie by
    definition are therefore not ordered by rounding errors.

    Parameters
    ----------
    scores : ndarray of shape (n_features,)
        One score per feature.
    larger_is_better : bool
        Whether larger scores rank first.

    Returns
    -------
    ndarray of shape (n_features,) of int64
        The rank of each feature, from 1 on.

    See Also
    --------
    driftsieve.selection.functions.top_k : Selects the best features.

    Examples
    --------
    >>> rank(np.array([0.5, np.inf, 0.5 + 1e-16, 0.1]), larger_is_better=True)
    array([2, 1, 3, 4])
    """
    ranks = np.empty(len(scores), dtype=np.int64)
    ranks[Ranks.of(scores, larger_is_better).order()] = np.arange(1, len(scores) + 1)
    return ranks


class Ranks(NamedTuple):
    """The ranks of ``rank``, of some features or as an order of all.

    Most features of a wide sparse bank have the same score, that of no evidence. They are neither
    sorted nor listed.

    >>> ranks = Ranks.of(np.array([0.0, 2.0, 0.0, 0.0, 1.0, 0.0, -1.0]), larger_is_better=True)
    >>> ranks.at(np.array([6, 5, 1])), ranks.best(3), ranks.order()
    (array([7, 6, 1]), array([1, 4, 0]), array([1, 4, 0, 2, 3, 5, 6]))
    """

    n_features: int
    others: NDArray[np.int64]
    """The features without the common score, ascending."""
    sorted: NDArray[np.int64]
    """The same by index in ``others``, the best first."""
    n_before: int
    """How many of them are better than the common score."""

    @classmethod
    def of(cls, scores: Floats, larger_is_better: bool) -> Ranks:
        """Rank the features by their scores."""
        sign, n = -1 if larger_is_better else 1, len(scores)
        sample = np.sort(scores[:: max(1, n // 1000)])
        differ = scores != sample[len(sample) // 2 :][:1]
        others = np.flatnonzero(differ)
        if 2 * len(others) < n:
            common = _to_30_bits(sign * scores[differ.argmin()])
            rounded = _to_30_bits(sign * scores[others])
            if not (rounded == common).any():
                n_before = int(np.count_nonzero(rounded < common))
                return cls(n, others, _stable_order(rounded), n_before)
        return cls(n, np.arange(n), _stable_order(_to_30_bits(sign * scores)), n)

    def order(self) -> NDArray[np.int64]:
        """Return all features, the best first."""
        order, n_common = self.others[self.sorted], self.n_features - len(self.others)
        if not n_common:
            return order
        is_common = np.ones(self.n_features, bool)
        is_common[self.others] = False
        common = np.flatnonzero(is_common)
        return np.concatenate([order[: self.n_before], common, order[self.n_before :]])

    def best(self, k: int) -> NDArray[np.int64]:
        """Return the k best features, the best first."""
        if k <= self.n_before:
            return self.others[self.sorted[:k]]
        return self.order()[:k]

    def at(self, features: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the ranks of some features."""
        n_common = self.n_features - len(self.others)
        places = np.empty(len(self.others) + 1, np.int64)
        places[self.sorted] = np.arange(1, len(self.others) + 1)
        places[self.sorted[self.n_before :]] += n_common
        at = np.searchsorted(self.others, features)
        is_other = np.append(self.others, -1)[at] == features
        return np.where(is_other, places[at], self.n_before + features + 1 - at)


def _to_30_bits(values: Any) -> Any:
    mantissa, exponent = np.frexp(values)
    with np.errstate(over="ignore"):  # the largest numbers become infinite
        return np.ldexp(np.round(mantissa * 2.0**30), exponent - 30)


def _stable_order(rounded: Floats) -> NDArray[np.int64]:
    """Return the order of numbers of 30 bits, equal ones by their index.

    A number leaves the last 23 of its 64 bits free, which hold the index. Such integers are sorted
    up to ten times as fast as by a stable argsort.
    """
    bits = (rounded + 0.0).view(np.int64)  # 0.0 for -0.0
    if len(bits) > _LAST_BITS or (bits & _LAST_BITS).any() or np.isnan(rounded).any():
        return np.argsort(rounded, kind="stable")
    bits ^= (bits >> 63) & np.iinfo(np.int64).max  # integers in the order of the numbers
    bits &= ~_LAST_BITS
    bits |= np.arange(len(bits))
    bits.sort()
    return bits & _LAST_BITS
