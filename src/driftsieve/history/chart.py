"""A history as a long table, and as an altair chart."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from driftsieve.history.core import ScoreHistory


LABELS = {
    "t": "T score",
    "fisher": "Fisher score",
    "mutual_info": "mutual information",
    "chi2": "chi-square",
    "gini": "Gini index",
}
UNITS = {"mutual_info": " (nats)"}


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


def line_chart(
    history: ScoreHistory, what: Literal["rank", "score"], top: int, unit: str = "rows"
) -> Any:
    """Draw the ranks or the scores of the ``top`` best features of now over time."""
    if what not in ("rank", "score"):
        raise ValueError(f"what must be 'rank' or 'score', got {what!r}.")
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
    if (times := history.times) is not None:
        when = dict(zip(history.positions.tolist(), (1000 * times).tolist(), strict=True))
        values = [value | {"time": when[value["position"]]} for value in values]
    # Best on top: rank 1, or the best score where lower is better.
    down = what == "rank" or history.score_func == "gini"
    label = LABELS[history.score_func]
    y = alt.Y(f"{what}:Q").scale(reverse=down, zero=False, nice=what == "score")
    x = alt.X("position:Q").title(unit) if times is None else alt.X("time:T").title("time")
    subject = "Rank by " + label if what == "rank" else label[0].upper() + label[1:]
    return (
        alt.Chart(alt.Data(values=values))
        .mark_line(point=len(history) < 30, interpolate="monotone")
        .encode(
            x=x.scale(zero=False).axis(labelFlush=False) if times is None else x,
            y=y.title("rank").axis(format="d", tickMinStep=1)
            if what == "rank"
            else y.title(label + UNITS.get(history.score_func, "")),
            # By number, not by name: two features may share a name.
            color=alt.Color("name:N").title("feature").sort(list(shown.values())),
            detail="feature:N",
            tooltip=["name:N", "position:Q", "rank:Q", "score:Q"],
        )
        .properties(title=f"{subject} of the best {len(shown)} features")
    )
