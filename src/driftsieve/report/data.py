"""The content of a report: numbers, strings, lists and dictionaries only."""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftsieve._arguments import arg
from driftsieve._rows.names import FeatureNames, joined_names, names_of
from driftsieve.history import ScoreHistory
from driftsieve.memory.summary import Memory
from driftsieve.report.headline import headline, places, significance
from driftsieve.report.memory import Alternative
from driftsieve.report.two_valued import values_of_two
from driftsieve.scores import SCORES, Score, ScoreFunction
from driftsieve.scores.ranking import Ranks
from driftsieve.scores.reader import BlockPart, error_shares, parts_of, spread
from driftsieve.snapshot import Floats, Snapshot

MAX_LISTED = 2_000
MAX_SEARCHED = 100_000
MAX_CELLS = 250_000  # numbers in all distributions
_SHARES = "error shares"  # beside the keys of scores
ERROR_RATE = 0.05  # false discovery rate of the features that count as significant


def build(
    snapshot: Snapshot | Sequence[Snapshot] | None = None,
    *,
    score_func: str = "mutual_info",
    history: ScoreHistory | None = None,
    fine: Snapshot | Iterable[Snapshot] | Callable[[NDArray[np.int64]], Iterable[Snapshot]] = (),
    parameters: Mapping[str, Any] | None = None,
    n_rows: int | None = None,
    title: str = "Feature screening",
    unit: str = "rows",
    memory: Memory | None = None,
    alternatives: Sequence[Alternative] = (),
    scores: Floats | None = None,
) -> dict[str, Any]:
    """Build the content of a report for ``to_html``, ``to_json`` and ``to_text``.

    The best 2,000 features are listed by rank; ranks are among all features. The others of the
    best 100,000 have a name and a score, so that they can be searched. The report has all of the
    five scores that can be computed from the snapshot. Each listed feature has its distribution:
    that of ``fine`` if it contains the feature, otherwise the bins of ``snapshot``, the best
    features first, up to 250,000 numbers in total.

    Parameters
    ----------
    snapshot : Snapshot or sequence of Snapshot, optional
        All features, at once or in adjacent blocks. The sequence is read several times, and may
        take its snapshots on access. By default the report has only what is in ``history``.
    score_func : str
        The score by which features are ranked; without a snapshot, that of the history.
    history : ScoreHistory, optional
        Scores over time, to be shown as well.
    fine : Snapshot, iterable of Snapshot, or callable
        Blocks of some features with more bins: ``bank.snapshot(20, slice(f, f + 1))``. A function
        returns the blocks, given the indices of the listed features, the best first.
    parameters : mapping, optional
        Parameters of the run, to be shown. ``epsilon`` is shown beside the error certificate.
    n_rows : int, optional
        Number of rows that were screened.
    title : str
        Title of the report.
    unit : str
        Unit of the positions of the history: ``"rows"``, another word, or ``"unix"`` for seconds
        since 1970, which are shown as dates.
    memory : Memory, optional
        The learned memory.
    alternatives : sequence of Alternative
        The features that each half-life would select.
    scores : array of shape (n_features,), optional
        Scores by which features are ranked, instead of those of the snapshot: the scores of a
        learned memory.

    Returns
    -------
    dict

    Raises
    ------
    ValueError
        If there is neither a snapshot nor a history, or if the snapshot does not have all features.

    See Also
    --------
    of_bank : Builds the report of a bank.

    Examples
    --------
    >>> from driftsieve import Bank, report
    >>> bank = Bank().update([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0], [4.0, 5.0]], [0, 0, 1, 1])
    >>> report.build(bank.snapshot(), score_func="t")["ranks"]["t"]
    [1, 2]
    """
    if score_func not in SCORES:
        names = ", ".join(map(repr, SCORES))
        raise ValueError(f"{arg('score_func')} must be one of {names}, got {score_func!r}.")
    if not isinstance(snapshot, Snapshot | Sequence | None):
        raise TypeError(
            f"snapshot must be a Snapshot, got {type(snapshot).__name__}. Pass bank.snapshot()."
        )
    if history is not None and not len(history):
        history = None
    blocks = [snapshot] if isinstance(snapshot, Snapshot) else snapshot
    if blocks:
        finer = [fine] if isinstance(fine, Snapshot) else fine
        content = _of_blocks(blocks, score_func, finer, scores)
    elif history is not None:
        content = _of_history(history)
    else:
        raise ValueError("A snapshot or a history with a record must be given, got neither.")
    return {
        "format": "driftsieve report",
        "version": 1,
        "title": title,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "n_rows": n_rows,
        **content,
        "headline": headline(history, content, _unit(history, unit)),
        "significance": significance(content),
        "memory": None if memory is None else _of_memory(memory, alternatives),
        "history": None if history is None else _over_time(history, unit),
        "parameters": {str(key): _plain(value) for key, value in (parameters or {}).items()},
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("driftsieve", "numpy", "scipy", "scikit-learn")},
        },
    }


def to_json(data: Mapping[str, Any], *, indent: int | None = None) -> str:
    """Return a report as JSON, with the strings "Infinity", "-Infinity" and "NaN".

    Parameters
    ----------
    data : mapping
        The result of ``build`` or ``of_bank``.
    indent : int, optional
        Spaces of indentation. By default everything is on one line.

    Returns
    -------
    str

    See Also
    --------
    write : Writes a report to a file.

    Examples
    --------
    >>> to_json({"scores": {"t": [1.5, math.inf]}})
    '{"scores": {"t": [1.5, "Infinity"]}}'
    """
    return json.dumps(finite(data), indent=indent, allow_nan=False)


class _Some(NamedTuple):
    """Some features, ordered by index, and a snapshot of them."""

    features: NDArray[np.int64]
    snapshot: Snapshot

    @classmethod
    def all(cls, block: Snapshot) -> _Some:
        """Return the features of a block."""
        begin = block.first_feature
        return cls(np.arange(begin, begin + block.n_features), block)

    @classmethod
    def of(cls, part: BlockPart, listed: NDArray[np.int64]) -> _Some:
        """Return the features that are listed."""
        inside = (listed >= part.range.start) & (listed < part.range.stop)
        features = np.sort(listed[inside])
        return cls(features, part.pick(features))


def _of_blocks(
    blocks: Sequence[Snapshot],
    score: str,
    fine: Iterable[Snapshot] | Callable[[NDArray[np.int64]], Iterable[Snapshot]],
    given: Floats | None,
) -> dict[str, Any]:
    n_features = 0
    larger = SCORES[score].larger_is_better
    best = None if given is None else Ranks.of(given, larger).best(MAX_SEARCHED)
    shown: list[_Some] = []
    places: list[tuple[slice, NDArray[np.intp] | None]] = []
    found: dict[str, list[Floats]] = {_SHARES: []}
    all_names: list[FeatureNames | None] = []
    for part in parts_of(blocks):
        block = part.snapshot
        if part.begin != n_features:
            raise ValueError(
                f"snapshot must have all features, got one that starts at {part.begin}."
            )
        table = _known_scores(block, score)
        for key, entry in table.items():
            found.setdefault(key, []).append(entry.function(block))
        found[_SHARES].append(error_shares(block))
        places.append((part.range, part.seen))
        all_names.append(part.names)
        n_features += part.n_features
        if best is not None:  # the blocks need not be read twice
            shown.append(_Some.of(part, best[:MAX_LISTED]))

    def of_all(key: str) -> Floats:
        values = np.empty(n_features)
        for (where, seen), some in zip(places, found.pop(key), strict=True):
            spread(some, seen, values[where])
        return values

    own = of_all(score) if given is None else given
    if best is None:
        best = Ranks.of(own, larger).best(MAX_SEARCHED)
        shown = [_Some.of(part, best[:MAX_LISTED]) for part in parts_of(blocks)]
    listed, others = best[:MAX_LISTED], best[MAX_LISTED:]
    scores, ranks = {}, {}
    for key, entry in table.items():
        values = own if key == score else of_all(key)
        scores[key] = values[listed].tolist()
        ranks[key] = Ranks.of(values, entry.larger_is_better).at(listed).tolist()
    names = joined_names(all_names)
    finer = [_Some.all(block) for block in (fine(listed) if callable(fine) else fine)]
    pvalues = {
        key: _pvalues(shown, entry.pvalues, listed) if entry.pvalues else None
        for key, entry in table.items()
    }
    return {
        "score": score,
        "n_features": n_features,
        "n_eff": float(block.n_eff),
        "classes": [
            {"label": str(label), "weight": float(weight)}
            for label, weight in zip(block.classes, block.class_weight, strict=True)
        ],
        "certificate": None if block.rank_error is None else _certificate(of_all(_SHARES)),
        "features": listed.tolist(),
        "names": names_of(listed.tolist(), names),
        "scores": scores,
        "ranks": ranks,
        "pvalues": pvalues,
        "largest_significant": {
            key: None if values is None else _largest_significant(values, n_features)
            for key, values in pvalues.items()
        },
        "distributions": _distributions(listed, finer, shown),
        "two_valued": {
            str(feature): values
            for some in shown
            if some.snapshot.mean is not None
            for feature, values in values_of_two(some.features, some.snapshot).items()
        },
        "others": {
            "features": others.tolist(),
            "names": names_of(others.tolist(), names),
            "scores": own[others].tolist(),
        },
    }


def _known_scores(block: Snapshot, score: str) -> dict[str, Score]:
    have = {"moments": block.mean is not None, "quantiles": block.bin_weights is not None}
    if not have[SCORES[score].needs]:
        raise ValueError(
            f"snapshot must have {SCORES[score].needs} for {arg('score_func', score)}, got none."
        )
    return {key: entry for key, entry in SCORES.items() if have[entry.needs]}


def _of_history(history: ScoreHistory) -> dict[str, Any]:
    """Return the ranking of the followed features at the newest record."""
    return {
        "score": history.score_func,
        "n_features": history.n_features,
        "n_eff": None,
        "classes": [],
        "certificate": None,
        "features": history.features.tolist(),
        "names": list(history.names),
        "scores": {history.score_func: history.scores[-1].tolist()},
        "ranks": {history.score_func: history.ranks[-1].tolist()},
        "pvalues": {history.score_func: None},
        "largest_significant": {history.score_func: None},
        "distributions": [],
        "two_valued": {},
        "others": {"features": [], "names": [], "scores": []},
    }


def _certificate(share: Floats) -> dict[str, Any]:
    return {
        "largest": float(share.max(initial=0.0)),
        "median": float(np.median(share)) if share.size else 0.0,
        "n_exact": int((share == 0).sum()),
    }


def _largest_significant(pvalues: list[float], n_features: int) -> float:
    """Return the largest p-value that is significant, or -1 if none is.

    This is the procedure of Benjamini and Hochberg for all features. Features that are not listed
    count as not significant.
    """
    ordered = np.sort(pvalues)
    limits = ERROR_RATE * np.arange(1, len(ordered) + 1) / n_features
    return float(ordered[ordered <= limits].max(initial=-1.0))


def _pvalues(
    shown: Iterable[_Some], function: ScoreFunction, listed: NDArray[np.int64]
) -> list[float]:
    """Return the p-values of the listed features."""
    values = np.concatenate([function(some.snapshot) for some in shown])
    features = np.concatenate([some.features for some in shown])
    found: list[float] = values[np.searchsorted(features, listed)].tolist()
    return found


def _distributions(
    listed: NDArray[np.int64], fine: list[_Some], shown: list[_Some]
) -> list[dict[str, Any]]:
    """Return edges and class weights of the listed features, by number of bins.

    Each feature is read from the first snapshot that has it.
    """
    groups: dict[int, dict[str, Any]] = {}
    left, cells = listed, MAX_CELLS
    for i, (features, s) in enumerate([*fine, *shown]):
        if s.bin_weights is None or s.edges is None:
            continue
        n_bins, n_classes = s.bin_weights.shape[1:]
        each = n_bins - 1 + n_bins * n_classes
        if i >= len(fine):  # the best features first, whatever their blocks
            left = left[: cells // each]
        inside = np.isin(left, features)
        taken = left[inside][: cells // each]
        left, cells = left[~inside], cells - taken.size * each
        rows = np.searchsorted(features, taken)
        empty = {"n_bins": n_bins, "features": [], "edges": [], "weights": []}
        group = groups.setdefault(n_bins, empty)
        group["features"] += taken.tolist()
        group["edges"] += s.edges[rows].tolist()
        group["weights"] += s.bin_weights[rows].tolist()
    return list(groups.values())


def _of_memory(memory: Memory, alternatives: Sequence[Alternative]) -> dict[str, Any]:
    """Return the values of a memory, with strings for numbers that JSON does not have."""
    values = {key: list(v) if isinstance(v, tuple) else v for key, v in asdict(memory).items()}
    others = [asdict(alternative) for alternative in alternatives]
    found: dict[str, Any] = finite({"text": str(memory), **values, "alternatives": others})
    return found


def _unit(history: ScoreHistory | None, unit: str) -> str:
    return unit if history is None or history.times is None else "unix"


def _over_time(history: ScoreHistory, unit: str) -> dict[str, Any]:
    stability = history.stability_over_time()
    weights, events = history.memory_weights, history.events
    return {
        "score": history.score_func,
        "k": history.k,
        "margin": history.margin,
        "every": history.every,
        "unit": _unit(history, unit),
        "rows": history.positions.tolist() if history.times is not None else None,
        "positions": places(history, history.positions),
        "half_lives": [] if weights is None else finite(list(history.half_lives)),
        "memory_weights": [] if weights is None else weights.T.tolist(),
        "features": history.features.tolist(),
        "names": list(history.names),
        "scores": history.scores.T.tolist(),
        "ranks": history.ranks.T.tolist(),
        "members": history.members.tolist(),
        "events": [
            asdict(event) | {"position": place}
            for event, place in zip(
                events, places(history, [event.position for event in events]), strict=True
            )
        ],
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
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def finite(value: Any) -> Any:
    """Replace infinite numbers and NaN, which JSON does not have, by strings."""
    if isinstance(value, Mapping):
        return {key: finite(v) for key, v in value.items()}
    if isinstance(value, list):
        with suppress(TypeError):  # a list of numbers, which usually are finite
            if all(map(math.isfinite, value)):
                return value
        return [finite(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value
