"""The table of scores, and the order in which they put features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from driftsieve.scores.bins import chi2, gini_index, mutual_info
from driftsieve.scores.blocks import Needs, ScoreFunction
from driftsieve.scores.moments import fisher_score, t_score
from driftsieve.scores.pvalues import (
    chi2_pvalues,
    fisher_pvalues,
    mutual_info_pvalues,
    t_pvalues,
)
from driftsieve.snapshot import Floats


@dataclass(frozen=True, slots=True)
class Score:
    """One row of SCORES."""

    function: ScoreFunction
    pvalues: ScoreFunction | None
    larger_is_better: bool
    needs: Needs


SCORES: dict[str, Score] = {
    "t": Score(t_score, t_pvalues, True, "moments"),
    "fisher": Score(fisher_score, fisher_pvalues, True, "moments"),
    "mutual_info": Score(mutual_info, mutual_info_pvalues, True, "quantiles"),
    "chi2": Score(chi2, chi2_pvalues, True, "quantiles"),
    "gini": Score(gini_index, None, False, "quantiles"),
}


def rank(scores: Floats, larger_is_better: bool) -> NDArray[np.int64]:
    """Rank of each feature: 1 is best, ties go to the lower index.

    Scores are compared to 30 bits, the relative 1e-9 they are promised to: features that tie by
    definition must not be ordered by rounding.

    >>> rank(np.array([0.5, np.inf, 0.5 + 1e-16, 0.1]), larger_is_better=True)
    array([2, 1, 3, 4])
    """
    mantissa, exponent = np.frexp(scores)
    rounded = np.ldexp(np.round(mantissa * 2.0**30), exponent - 30)
    order = np.argsort(-rounded if larger_is_better else rounded, kind="stable")
    ranks = np.empty(len(scores), dtype=np.int64)
    ranks[order] = np.arange(1, len(scores) + 1)
    return ranks
