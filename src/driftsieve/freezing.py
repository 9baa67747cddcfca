"""From the compiled states of features to a ``Snapshot``."""

from __future__ import annotations

from typing import Any

import numpy as np

from driftsieve._core import Bank as CoreBank
from driftsieve.bank_header import Header
from driftsieve.snapshot import Snapshot


def frozen(
    core: CoreBank, known: Header, n_bins: int, begin: int, n_features: int, n_threads: int
) -> Snapshot:
    """Features ``begin`` to ``begin + n_features``, as they stand now."""
    classes, place = known.labels.sorted()
    totals = np.array(core.totals(), dtype=np.float64).reshape(-1, 3)[np.argsort(place)]
    class_weight, squared = totals[:, 0].copy(), totals[:, 1]
    weight, mean, centred_mean, var, bin_weights, edges, rank_error = core.freeze(
        begin, n_features, n_bins, place, n_threads
    )
    if weight is None:  # the same for all features
        weight = np.broadcast_to(class_weight[:, None], (len(classes), n_features))
    seen = core.seen(begin, n_features)
    return Snapshot(
        classes=classes,
        class_weight=class_weight,
        class_n_eff=_effective(class_weight, squared),
        n_eff=float(_effective(class_weight.sum(), squared.sum())),
        n_features=n_features,
        feature_names=known.names and known.names[begin : begin + n_features],
        first_feature=begin,
        weight=weight,
        mean=mean,
        var=var,
        bin_weights=bin_weights,
        edges=edges,
        rank_error=rank_error,
        centred_mean=centred_mean,
        seen=None if seen is None else np.frombuffer(seen, dtype=np.bool_),
    )


def _effective(weight: Any, squared: Any) -> Any:
    """(sum w)**2 / sum w**2, as a square so that tiny weights do not vanish; 0 without weight."""
    root = np.sqrt(squared)
    with np.errstate(over="ignore"):  # squares that no rows have, but bytes may
        return np.divide(weight, root, out=np.zeros_like(root), where=root > 0) ** 2
