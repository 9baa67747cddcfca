"""The five screening scores and their p-values.

Each score is a pure function of a :class:`~driftsieve.Snapshot` or a :class:`~driftsieve.Bank`. It
returns one float64 per feature, never NaN. Rules that all of them share:

- A class without weight for a feature does not count for that feature. Nor does a class whose
  weight has faded below 1e-300 of the total. A feature with fewer than two such classes scores 0
  (Gini: the impurity of the class weights) and has p-value 1.
- Class means that agree up to rounding count as equal. The tolerance is 4 units in the last place
  of the mean plus 64 units in the last place of the standard deviation. Without it, a rounding
  error divided by a variance of 0 would give +inf. A constant column scores exactly 0.
- Empty bins and empty cells contribute 0.
- MI, Fisher and the decrease of Gini are those of the rows in which a feature was observed, times
  their share of the present weight.
- p-values use effective sample sizes of each class, (Σ w)² / Σ w² over the rows in which
  the feature was observed. They are the numbers of rows when all weights are 1.
- Values beyond about 1e-150 or 1e+150 have no variance in double precision, so their T and Fisher
  scores mean nothing.
"""

from __future__ import annotations

from driftsieve.scores.bins import chi2, gini, mutual_info
from driftsieve.scores.blocks import ScoreFunction
from driftsieve.scores.moments import fisher, t
from driftsieve.scores.pvalues import (
    chi2_pvalues,
    fisher_pvalues,
    mutual_info_pvalues,
    t_pvalues,
)
from driftsieve.scores.ranking import SCORES, Score, rank, score_of

__all__ = [
    "SCORES",
    "Score",
    "ScoreFunction",
    "chi2",
    "chi2_pvalues",
    "fisher",
    "fisher_pvalues",
    "gini",
    "mutual_info",
    "mutual_info_pvalues",
    "rank",
    "score_of",
    "t",
    "t_pvalues",
]
