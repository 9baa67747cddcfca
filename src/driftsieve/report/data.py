"""The content of a report: numbers, texts, lists and dictionaries, and nothing else."""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftsieve.history import ScoreHistory
from driftsieve.scores import SCORES, Score, rank
from driftsieve.snapshot import Floats, Snapshot

MAX_LISTED = 100_000
MAX_CELLS = 1_500_000  # numbers spent on distributions: 5 bins of 2 classes for 100,000 features


def build(
    snapshot: Snapshot | Sequence[Snapshot] | None = None,
    *,
    score: str = "mutual_info",
    history: ScoreHistory | None = None,
    fine: Snapshot | Iterable[Snapshot] = (),
    parameters: Mapping[str, Any] | None = None,
    n_rows: int | None = None,
    title: str = "Feature screening",
    unit: str = "rows",
) -> dict[str, Any]:
    """Everything a report shows, for ``to_html``, ``to_json`` and ``to_text``.

    Features are listed by rank, the best 100,000 of them; ranks are among all features. All five
    scores are there, as far as the snapshot has what they need. Each feature listed has its
    distribution: that of ``fine`` where it is in there, otherwise the bins of ``snapshot``, best
    first, up to 1.5 million numbers in all.

    Parameters
    ----------
    snapshot : Snapshot or several, optional
        All features, at once or in blocks that follow each other, which may be frozen anew each
        time they are gone through. Without it, the report tells what ``history`` knows.
    score : str
        The score that ranks; without a snapshot, that of the history.
    history : ScoreHistory, optional
        For what is shown over time.
    fine : Snapshot or several
        Blocks frozen with more bins: ``bank.freeze(20, slice(f, f + 1))`` of the features worth it.
    parameters : mapping, optional
        What to show as parameters of the run. ``epsilon`` stands beside the error certificate.
    n_rows : int, optional
        How many rows were screened.
    title : str
        What was screened, in a few words.
    unit : str
        What the positions of the history count: ``"rows"``, another word, or ``"unix"`` for
        seconds since 1970, which are shown as dates.
    """
    if score not in SCORES:
        raise ValueError(f"score={score!r} is unknown; expected one of {', '.join(SCORES)}")
    if not isinstance(snapshot, Snapshot | Sequence | None):
        raise TypeError(
            f"snapshot must be a Snapshot, got {type(snapshot).__name__}: pass bank.freeze()"
        )
    if history is not None and not len(history):
        history = None
    blocks = [snapshot] if isinstance(snapshot, Snapshot) else snapshot
    if blocks:
        finer = [fine] if isinstance(fine, Snapshot) else list(fine)
        content = _of_blocks(blocks, score, finer)
    elif history is not None:
        content = _of_history(history)
    else:
        raise ValueError("there is nothing to report: give a snapshot, or a history with a record")
    return {
        "format": "driftsieve report",
        "version": 1,
        "title": title,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "n_rows": n_rows,
        **content,
        "history": None if history is None else _over_time(history, unit),
        "parameters": {str(key): _plain(value) for key, value in (parameters or {}).items()},
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("driftsieve", "numpy", "scipy", "scikit-learn")},
        },
    }


def to_json(data: Mapping[str, Any], *, indent: int | None = None) -> str:
    """The report as JSON. What JSON lacks is a text there: "Infinity", "-Infinity", "NaN".

    >>> to_json({"scores": {"t": [1.5, math.inf]}})
    '{"scores": {"t": [1.5, "Infinity"]}}'
    """
    return json.dumps(finite(data), indent=indent, allow_nan=False)


class _Part(NamedTuple):
    """What is kept of a block: some numbers a feature, not some for each of its bins."""

    scores: dict[str, Floats]
    pvalues: dict[str, Floats]
    error_shares: Floats
    names: tuple[str, ...] | None

    @classmethod
    def of(cls, block: Snapshot, table: Mapping[str, Score]) -> _Part:
        return cls(
            {key: entry.function(block) for key, entry in table.items()},
            {key: entry.pvalues(block) for key, entry in table.items() if entry.pvalues},
            _error_shares(block),
            block.feature_names,
        )


def _of_blocks(blocks: Sequence[Snapshot], score: str, fine: list[Snapshot]) -> dict[str, Any]:
    parts: list[_Part] = []
    n_features = 0
    for block in blocks:
        if block.first_feature != n_features:
            raise ValueError(
                f"the snapshot begins at feature {block.first_feature}; freeze all features"
            )
        table = _known_scores(block, score)
        parts.append(_Part.of(block, table))
        n_features += block.n_features
    scores = {key: np.concatenate([part.scores[key] for part in parts]) for key in table}
    ranks = {key: rank(scores[key], entry.larger_is_better) for key, entry in table.items()}
    listed = np.argsort(ranks[score])[:MAX_LISTED]
    names = [name for part in parts for name in part.names or ()]
    return {
        "score": score,
        "n_features": n_features,
        "n_eff": float(block.n_eff),
        "classes": [
            {"label": str(label), "weight": float(weight)}
            for label, weight in zip(block.classes, block.class_weight, strict=True)
        ],
        "certificate": None if block.rank_error is None else _certificate(parts),
        "features": listed.tolist(),
        "names": [str(names[f]) if names else f"x{f}" for f in listed.tolist()],
        "scores": {key: values[listed].tolist() for key, values in scores.items()},
        "ranks": {key: values[listed].tolist() for key, values in ranks.items()},
        "pvalues": {
            key: np.concatenate([part.pvalues[key] for part in parts])[listed].tolist()
            if entry.pvalues
            else None
            for key, entry in table.items()
        },
        "distributions": _distributions(listed, fine, blocks),
    }


def _known_scores(block: Snapshot, score: str) -> dict[str, Score]:
    have = {"moments": block.mean is not None, "quantiles": block.bin_weights is not None}
    if not have[SCORES[score].needs]:
        raise ValueError(
            f"score={score!r} needs {SCORES[score].needs}, which this snapshot does not have"
        )
    return {key: entry for key, entry in SCORES.items() if have[entry.needs]}


def _of_history(history: ScoreHistory) -> dict[str, Any]:
    """The ranking of the features followed, as of the newest record."""
    return {
        "score": history.score,
        "n_features": history.n_features,
        "n_eff": None,
        "classes": [],
        "certificate": None,
        "features": history.features.tolist(),
        "names": list(history.names),
        "scores": {history.score: history.scores[-1].tolist()},
        "ranks": {history.score: history.ranks[-1].tolist()},
        "pvalues": {history.score: None},
        "distributions": [],
    }


def _error_shares(block: Snapshot) -> Floats:
    """How far the ranks behind the bins may be from the true ones, as shares of the weight."""
    weight = block.weight.sum(axis=0)  # less than W where values are missing
    error = np.zeros(weight.size) if block.rank_error is None else block.rank_error
    shares: Floats = np.divide(error, weight, out=np.zeros(weight.size), where=weight > 0)
    return shares


def _certificate(parts: list[_Part]) -> dict[str, Any]:
    share = np.concatenate([part.error_shares for part in parts])
    return {
        "largest": float(share.max(initial=0.0)),
        "median": float(np.median(share)) if share.size else 0.0,
        "n_exact": int((share == 0).sum()),
    }


def _distributions(
    listed: NDArray[np.int64], fine: list[Snapshot], blocks: Iterable[Snapshot]
) -> list[dict[str, Any]]:
    """Edges and class weights of the features listed, each from the first snapshot that has it.

    One entry for each number of bins.
    """
    groups: dict[int, dict[str, Any]] = {}
    left, cells = listed, MAX_CELLS
    for i, s in enumerate(chain(fine, blocks)):
        if s.bin_weights is None or s.edges is None:
            continue
        n_bins, n_classes = s.bin_weights.shape[1:]
        each = n_bins - 1 + n_bins * n_classes
        if i >= len(fine):  # there is room for the best, whatever blocks they are in
            left = left[: cells // each]
        inside = (left >= s.first_feature) & (left < s.first_feature + s.n_features)
        taken = left[inside][: cells // each]
        left, cells = left[~inside], cells - taken.size * each
        empty = {"n_bins": n_bins, "features": [], "edges": [], "weights": []}
        group = groups.setdefault(n_bins, empty)
        group["features"] += taken.tolist()
        group["edges"] += s.edges[taken - s.first_feature].tolist()
        group["weights"] += s.bin_weights[taken - s.first_feature].tolist()
    return list(groups.values())


def _over_time(history: ScoreHistory, unit: str) -> dict[str, Any]:
    stability = history.stability_over_time()
    return {
        "score": history.score,
        "k": history.k,
        "margin": history.margin,
        "every": history.every,
        "unit": unit,
        "positions": history.positions.tolist(),
        "features": history.features.tolist(),
        "names": list(history.names),
        "scores": history.scores.T.tolist(),
        "ranks": history.ranks.T.tolist(),
        "members": history.members.tolist(),
        "events": [asdict(event) for event in history.events],
        "n_events": history.n_events,
        "stability": {
            "all": history.stability(),
            "nogueira": stability["nogueira"].tolist(),
            "jaccard": stability["jaccard"].tolist(),
        },
    }


def _plain(value: Any) -> str | int | float | bool | None:
    if isinstance(value, np.generic):
        value = value.item()
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def finite(value: Any) -> Any:
    """The same with texts in place of the numbers that JSON lacks."""
    if isinstance(value, Mapping):
        return {key: finite(v) for key, v in value.items()}
    if isinstance(value, list):
        with suppress(TypeError):  # a list of numbers, most often all finite
            if all(map(math.isfinite, value)):
                return value
        return [finite(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value
