"""Creation of a ``Snapshot`` from the compiled states of features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftsieve._core import Bank as CoreBank
from driftsieve._state.header import Header
from driftsieve.snapshot import Floats, Snapshot


def take_snapshots(
    core: CoreBank,
    known: Header,
    n_bins: int,
    features: tuple[int, int],
    n_threads: int,
    rungs: Sequence[int],
) -> list[Snapshot]:
    """Return snapshots of a range of features at half-lives by index; 0 bins leaves them out."""
    begin, n_features = features
    labels = known.labels.sorted()
    arrays_by_rung = core.take_snapshots([*rungs], begin, n_features, n_bins, labels[1], n_threads)
    seen = core.seen(begin, n_features)
    names = known.names and known.names[begin : begin + n_features]
    return [
        _snapshot(core, labels, (begin, n_features, names, seen), rung, arrays)
        for rung, arrays in zip(rungs, arrays_by_rung, strict=True)
    ]


class SeenFeatures(NamedTuple):
    """Snapshots that leave out features that were 0 in every row, except one, which is the last.

    They have no names. All those features have the same scores.
    """

    places: NDArray[np.intp] | None
    """Indices in the range of the features that are not left out; None if no feature is."""
    snapshots: list[Snapshot]


def take_seen(
    core: CoreBank,
    known: Header,
    n_bins: int,
    features: tuple[int, int],
    n_threads: int,
    rungs: Sequence[int],
) -> SeenFeatures:
    """Return the same as ``take_snapshots``, without features that were 0 in every row."""
    seen = core.seen(*features)
    if seen is None or b"\0" not in seen:
        return SeenFeatures(None, take_snapshots(core, known, n_bins, features, n_threads, rungs))
    labels, places = known.labels.sorted(), np.flatnonzero(np.frombuffer(seen, np.bool_))
    found = core.take_snapshots([*rungs], *features, n_bins, labels[1], n_threads, seen)
    columns = (0, len(places) + 1, None, None)
    snapshots = [
        _snapshot(core, labels, columns, rung, arrays)
        for rung, arrays in zip(rungs, found, strict=True)
    ]
    return SeenFeatures(places, snapshots)


def take_chosen(
    core: CoreBank,
    known: Header,
    n_bins: int,
    features: NDArray[np.int64],
    rungs: Sequence[int],
) -> list[Snapshot]:
    """Return snapshots of some features, by index and without names."""
    labels = known.labels.sorted()
    arrays_by_rung = core.take_snapshots_of([*rungs], features.astype(np.uint64), n_bins, labels[1])
    return [
        _snapshot(core, labels, (0, len(features), None, None), rung, arrays)
        for rung, arrays in zip(rungs, arrays_by_rung, strict=True)
    ]


def take_stacked(
    core: CoreBank, known: Header, n_bins: int, features: NDArray[np.int64]
) -> Snapshot | None:
    """Return some features at every half-life as one snapshot.

    Weights are relative to all weight at their half-life. The values that a snapshot has for all
    features together are of no half-life: functions of this one may use only arrays by feature.
    None if a half-life has weight in fewer than two classes.
    """
    (classes, place), rungs = known.labels.sorted(), range(len(core.half_lives))
    totals = np.array([core.totals(rung) for rung in rungs]).reshape(len(rungs), -1, 3)
    weights, squares = totals[:, np.argsort(place), 0], totals[:, np.argsort(place), 1]
    all_weight = weights.sum(axis=1)
    present = weights > 1e-300 * np.maximum(1.0, all_weight)[:, None]
    if (present.sum(axis=1) < 2).any():
        return None
    n, unit, chosen = len(features), 1 / all_weight[:, None, None], features.astype(np.uint64)
    arrays_by_rung = [*zip(*core.take_snapshots_of([*rungs], chosen, n_bins, place), strict=True)]
    weight, squared, mean, centred_mean, var, bins, edges = (
        None if parts[0] is None else np.stack(parts) for parts in arrays_by_rung[:7]
    )
    effect = [np.ones(n) if part is None else part for part in arrays_by_rung[-1]]
    if weight is None or squared is None:  # the same for all features
        shape = (len(rungs), len(classes), n)
        weight = np.broadcast_to(weights[:, :, None], shape)
        squared = np.broadcast_to(squares[:, :, None], shape)

    def by_class(array: Any) -> Any:
        return None if array is None else array.transpose(1, 0, 2).reshape(len(classes), -1)

    shares = (weights / all_weight[:, None]).max(axis=0)
    return Snapshot(
        classes=classes,
        class_weight=shares / shares.sum(),
        class_n_eff=np.zeros(len(classes)),
        n_eff=0.0,
        n_features=n * len(rungs),
        feature_names=None,
        first_feature=0,
        weight=by_class(weight * unit),
        mean=by_class(mean),
        var=by_class(var),
        bin_weights=None if bins is None else (bins * unit[..., None]).reshape(-1, *bins.shape[2:]),
        edges=None if edges is None else edges.reshape(n * len(rungs), -1),
        rank_error=None,
        centred_mean=by_class(centred_mean),
        weight_squared=by_class(squared * unit**2),
        design_effect=np.concatenate(effect),
    )


def _snapshot(
    core: CoreBank,
    labels: tuple[NDArray[Any], NDArray[np.uint32]],
    features: tuple[int, int, Any, bytes | None],
    rung: int,
    arrays: tuple[Any, ...],
) -> Snapshot:
    begin, n_features, names, seen = features
    classes, place = labels
    totals = np.empty((len(classes), 3))
    totals[place] = np.reshape(core.totals(rung), (-1, 3))
    class_weight, squared = totals[:, 0].copy(), totals[:, 1]
    n_eff = _effective(
        np.append(class_weight, class_weight.sum()), np.append(squared, squared.sum())
    )
    weight, weight_squared, mean, centred_mean, var, bin_weights, edges, rank_error, effect = arrays
    if weight is None:  # the same for all features
        weight = np.broadcast_to(class_weight[:, None], (len(classes), n_features))
    return Snapshot(
        classes=classes,
        class_weight=class_weight,
        class_n_eff=n_eff[:-1],
        n_eff=float(n_eff[-1]),
        n_features=n_features,
        feature_names=names,
        first_feature=begin,
        weight=weight,
        mean=mean,
        var=var,
        bin_weights=bin_weights,
        edges=edges,
        rank_error=rank_error,
        centred_mean=centred_mean,
        seen=None if seen is None else np.frombuffer(seen, dtype=np.bool_),
        weight_squared=weight_squared,
        design_effect=effect,
    )


def _effective(weight: Floats, squared: Floats) -> Floats:
    """Return (sum w)**2 / sum w**2, 0 without weight; the form keeps tiny weights."""
    root = np.sqrt(squared)
    with np.errstate(over="ignore"):  # deserialized squares may be smaller than any rows could have
        return np.divide(weight, root, out=np.zeros_like(root), where=root > 0) ** 2
