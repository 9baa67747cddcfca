"""The report of a bank."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftsieve.history import ScoreHistory
from driftsieve.memory import LearnedBank
from driftsieve.memory.reading import AnyBank
from driftsieve.report.data import build
from driftsieve.report.memory import Alternative, alternatives
from driftsieve.report.two_valued import values_of_two
from driftsieve.scores import SCORES
from driftsieve.scores.reader import Blocks
from driftsieve.snapshot import Floats, Snapshot

_N_FINE, _FINE_BINS = 100, 20  # number of features with a fine distribution, and its bins
_MANY_BINS = 1000  # without moments: finds values that have a thousandth of the weight


def of_bank(
    bank: AnyBank,
    history: ScoreHistory | None = None,
    *,
    score_func: str = "mutual_info",
    n_bins: int = 5,
    k: int | None = None,
    title: str = "Feature screening",
    parameters: Mapping[str, Any] | None = None,
    scores: Floats | None = None,
) -> dict[str, Any]:
    """Build the report of a bank for ``to_html``, ``to_json`` and ``to_text``.

    Parameters
    ----------
    bank : Bank or LearnedBank
        The bank.
    history : ScoreHistory, optional
        Scores over time, to be shown as well.
    score_func : str
        The score by which features are ranked.
    n_bins : int
        Number of quantile bins for mutual information, chi-square and Gini.
    k : int, optional
        Number of selected features, by which half-lives are compared. Default: that of the history,
        or a quarter of the features, at most 10.
    title : str
        Title of the report.
    parameters : mapping, optional
        Parameters of the run, to be shown.
    scores : array of shape (n_features,), optional
        The scores of the bank by ``score_func``. By default they are computed.

    Returns
    -------
    dict

    See Also
    --------
    build : Builds a report from snapshots.

    Examples
    --------
    >>> from driftsieve import Bank, report
    >>> bank = Bank().update([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0], [4.0, 5.0]], [0, 0, 1, 1])
    >>> report.of_bank(bank)["names"]
    ['x0', 'x1']
    """
    learned = bank if isinstance(bank, LearnedBank) and bank.score_func == score_func else None
    if learned is not None and scores is None:
        scores = learned.scores(n_bins)
    if k is None:
        k = max(1, min(10, bank.n_features // 4)) if history is None else history.k

    def fine(listed: NDArray[np.int64]) -> list[Snapshot]:
        return [bank.snapshot(_FINE_BINS, slice(f, f + 1)) for f in listed[:_N_FINE].tolist()]

    others: list[Alternative] = []
    if learned is not None and scores is not None:
        others = alternatives(learned, scores, k, larger=SCORES[score_func].larger_is_better)
    content = build(
        Blocks(bank, n_bins),
        score_func=score_func,
        history=history,
        fine=fine,
        parameters={**(parameters or {}), "epsilon": bank.epsilon},
        n_rows=bank.n_rows,
        title=title,
        memory=learned.memory if learned else None,
        alternatives=others,
        scores=scores,
    )
    if bank.quantiles and not bank.moments:
        for f in content["features"][:_N_FINE]:
            found = values_of_two(np.array([f]), bank.snapshot(_MANY_BINS, slice(f, f + 1)))
            content["two_valued"] |= {str(f): values for f, values in found.items()}
    return content
