"""Memory: the summary of a learned memory."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from driftsieve.memory.sums import N_CANDIDATES, Sums

_DRIFTS = ((0.02, "hardly"), (0.08, "slightly"), (0.3, "moderately"), (math.inf, "strongly"))
_SURE = 2.5  # number of standard errors by which the value of a memory must exceed 0
_UNITS = (("day", 86_400.0), ("hour", 3600.0), ("minute", 60.0), ("second", 1.0))


@dataclass(frozen=True, slots=True, repr=False)
class Memory:
    """How long a screener remembers, and what that gains. ``str(memory)`` is a sentence about it.

    Attributes
    ----------
    half_lives : tuple of float
        Half-lives in ticks of the clock, or seconds for dates; ``inf`` for no fading.
    weights : tuple of float
        Share of each half-life in the predicted relevance; they sum to 1.
    values : tuple of float
        For each half-life, the relevance of its best features in later rows, minus that of as many
        random features. Mean of the latest reviews.
    value : float
        The same for the learned memory.
    half_life : float
        The single half-life with the largest value. p-values are computed at it.
    length : float
        Approximate length of the learned memory: the weighted geometric mean of the half-lives. No
        fading counts as the number of rows so far, or as twice the longest other half-life if that
        is less.
    gain : float
        ``value`` relative to that without fading, minus 1; NaN if ``value`` is not clearly above
        what could be chance.
    n_reviews : int
        Number of reviews.
    unit : str
        Unit of the half-lives: "rows", "batches", "seconds", or "" for times without a unit.

    See Also
    --------
    LearnedBank : Its property ``memory`` has the summary of a bank.
    driftsieve.FeatureScreener : Its attribute ``memory_`` has the summary of a screener.

    Examples
    --------
    >>> from driftsieve.memory import LearnedBank
    >>> X = np.random.default_rng(0).normal(size=(4000, 20))
    >>> print(LearnedBank().update(X, X[:, 3] > 0).memory)
    Memory: about 1,700 rows. At present the stream hardly drifts; forgetting gains nothing.
    """

    half_lives: tuple[float, ...]
    weights: tuple[float, ...]
    values: tuple[float, ...]
    value: float
    half_life: float
    length: float
    gain: float
    n_reviews: int
    unit: str

    @classmethod
    def of(
        cls, sums: Sums, k: int, half_lives: tuple[float, ...], n_ticks: float, unit: str
    ) -> Memory:
        """Summarize the reviews of the k best features.

        Parameters
        ----------
        sums : Sums
            Sums over the reviews.
        k : int
            Number of features by which half-lives were compared.
        half_lives : tuple of float
            The half-lives to choose from.
        n_ticks : float
            Ticks since the first row.
        unit : str
            Unit of the half-lives.

        Returns
        -------
        Memory

        Examples
        --------
        >>> Memory.of(Sums.empty(2), 10, (250.0, math.inf), 1000, "rows").weights
        (0.5, 0.5)
        """
        weights = sums.shares()
        mean = sums.captured / max(float(sums.fading[0]), 1e-300)
        values, value = mean[:-N_CANDIDATES], float(mean[-N_CANDIDATES:][sums.best])
        longest = min(n_ticks, 2 * max((h for h in half_lives if h < math.inf), default=math.inf))
        finite = np.minimum(half_lives, max(min(longest, n_ticks), 1e-300))
        is_known = value > _SURE * sums.noise(k) and values[-1] > 0
        gain = value / values[-1] - 1 if is_known else math.nan
        return cls(
            half_lives,
            tuple(weights.tolist()),
            tuple(values.tolist()),
            value,
            half_lives[sums.best_rung()],
            float(np.exp(weights @ np.log(finite))) if n_ticks else 0.0,
            float(gain),
            int(sums.n_reviews),
            unit,
        )

    def __repr__(self) -> str:
        length = _amount(self.length, self.unit)
        return (
            f"<driftsieve.memory.Memory: about {length}, gain {self.gain:.2g}, {self.n_reviews} "
            "reviews>"
        )

    def __str__(self) -> str:
        length = f"Memory: about {_amount(self.length, self.unit)}."
        if not self.n_reviews:
            return f"{length} There are too few rows to learn from."
        if math.isnan(self.gain):
            return f"{length} There is too little evidence to tell whether forgetting helps."
        drift = next(word for most, word in _DRIFTS if self.gain < most)
        if drift == "hardly":
            return f"{length} At present the stream hardly drifts; forgetting gains nothing."
        more = "" if self.gain < 10 else "more than "
        percent = 100 * min(self.gain, 10.0)
        return (
            f"{length} The stream drifts {drift}; forgetting gains {more}{percent:,.0f} % over not "
            "forgetting."
        )


def _amount(number: float, unit: str) -> str:
    """Return the number to two digits with its unit.

    >>> _amount(7312.0, "rows"), _amount(200_000.0, "seconds"), _amount(1.0, "batches")
    ('7,300 rows', '2.3 days', '1 batch')
    """
    if unit == "seconds":
        name, size = next((u for u in _UNITS if number >= 2 * u[1]), _UNITS[-1])
        number, unit = number / size, f"{name}s"
    digits = 1 - math.floor(math.log10(number)) if number > 0 else 0
    number = round(number, digits)
    text = f"{number:,.{max(digits, 0)}f}" if number < 10 else f"{number:,.0f}"
    unit = {"rows": "row", "batches": "batch"}.get(unit, unit) if number == 1 else unit
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text} {unit or 'units of time'}"
