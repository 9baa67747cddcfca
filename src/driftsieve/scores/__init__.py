"""The five screening scores and their p-values: pure functions of a snapshot.

Every function returns one float64 per feature, never NaN. Shared rules:

- A class without weight for a feature does not count there, nor does one that has faded below
  1e-300 of all weight. A feature that counts for fewer than two classes cannot tell them apart: it
  scores 0 (Gini: the impurity of the class weights), p = 1.
- Class means that agree to rounding (4 units in the last place of the mean plus 64 of the standard
  deviation) count as equal: their difference has no correct digit left, and 1e-17 / 0 must not
  become +inf. A constant column scores exactly 0.
- Empty bins and empty cells contribute 0.
- p-values use the effective number of rows n = (sum w)**2 / sum w**2, which is the number of rows
  when all weights are 1. Where values are missing, n shrinks with the weight that counts.
- Values beyond about 1e-150 or 1e+150 have no variance in double precision and no sensible T
  or Fisher score.
"""

from __future__ import annotations

from driftsieve.scores.bins import chi2, gini_index, mutual_info
from driftsieve.scores.blocks import ScoreFunction
from driftsieve.scores.moments import fisher_score, t_score
from driftsieve.scores.pvalues import (
    chi2_pvalues,
    fisher_pvalues,
    mutual_info_pvalues,
    t_pvalues,
)
from driftsieve.scores.ranking import SCORES, Score, rank

__all__ = [
    "SCORES",
    "Score",
    "ScoreFunction",
    "chi2",
    "chi2_pvalues",
    "fisher_pvalues",
    "fisher_score",
    "gini_index",
    "mutual_info",
    "mutual_info_pvalues",
    "rank",
    "t_pvalues",
    "t_score",
]
