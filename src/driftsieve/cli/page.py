"""Reports as files: HTML, JSON or text, as the suffix says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from driftsieve import report
from driftsieve.atomic import replacing
from driftsieve.bank import Bank
from driftsieve.cli.ranking import Blocks, scores
from driftsieve.history import ScoreHistory
from driftsieve.scores import SCORES, rank

WRITERS = {".html": report.to_html, ".json": report.to_json, ".txt": report.to_text}
_N_FINE, _FINE_BINS = 100, 20  # how many of the best are shown in how many bins when clicked


def build(
    bank: Bank | None,
    history: ScoreHistory | None,
    *,
    score: str,
    n_bins: int,
    title: str,
    parameters: Mapping[str, Any],
) -> dict[str, Any]:
    """The content of a report on a bank, a history or both."""
    if bank is None:
        return report.build(history=history, title=title, parameters=parameters)
    larger_is_better = SCORES[score].larger_is_better
    best = np.argsort(rank(scores(bank, score, n_bins), larger_is_better))[:_N_FINE]
    return report.build(
        Blocks(bank, n_bins),
        score=score,
        history=history,
        fine=[bank.freeze(_FINE_BINS, slice(f, f + 1)) for f in best.tolist()],
        parameters={"epsilon": bank.epsilon, **parameters},
        n_rows=bank.n_rows,
        title=title,
    )


def write(path: Path, content: dict[str, Any]) -> None:
    """Replace the file."""
    data = WRITERS[path.suffix.lower()](content).encode()
    with replacing(path) as file:
        file.write(data)
