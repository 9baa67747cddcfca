"""What a history looks like to others: a long table, and an altair chart of it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from driftsieve.history.core import ScoreHistory


def long_form(history: ScoreHistory) -> dict[str, Any]:
    """One entry for each record of each feature followed then, by position, then rank."""
    ranks = history.ranks
    order = np.argsort(ranks, axis=1)
    row = np.repeat(np.arange(len(history)), ranks.shape[1])
    known = ranks[row, order.ravel()] > 0
    row, column = row[known], order.ravel()[known]
    names = history.names
    return {
        "position": history.positions[row],
        "feature": history.features[column],
        "name": [names[c] for c in column.tolist()],
        "score": history.scores[row, column],
        "rank": ranks[row, column],
    }


def line_chart(history: ScoreHistory, what: Literal["rank", "score"], top: int) -> Any:
    """The ranks or the scores of the ``top`` best of now over time."""
    if what not in ("rank", "score"):
        raise ValueError(f"what={what!r}; expected 'rank' or 'score'")
    try:
        alt: Any = import_module("altair")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            'plot needs altair: pip install "driftsieve[report]"', name="altair"
        ) from error
    table = long_form(history)
    shown = dict(zip(history.features[:top].tolist(), history.names, strict=False))
    rows = zip(*(np.asarray(column).tolist() for column in table.values()), strict=True)
    values = [dict(zip(table, row, strict=True)) for row in rows if row[1] in shown]
    if what == "score":  # JSON has no infinity, and a chart could not show it
        values = [value for value in values if np.isfinite(value["score"])]
    # Best on top: rank 1, or the best score where lower is better.
    down = what == "rank" or history.score == "gini"
    return (
        alt.Chart(alt.Data(values=values))
        .mark_line(point=len(history) < 30, interpolate="monotone")
        .encode(
            x=alt.X("position:Q").title("position").scale(zero=False),
            y=alt.Y(f"{what}:Q")
            .title(what if what == "rank" else history.score)
            .scale(reverse=down, zero=False, nice=what == "score"),
            # By number, not by name: two features may share a name.
            color=alt.Color("name:N").title("feature").sort(list(shown.values())),
            detail="feature:N",
            tooltip=["name:N", "position:Q", "rank:Q", "score:Q"],
        )
    )
