"""Snapshot: what a bank knows at one moment, as immutable arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

EDGE_TOLERANCE = 1e-12
"""Edge i is the smallest value whose cumulative weight is >= (i * W / K) * (1 - EDGE_TOLERANCE).

With equal weights W / K is often met exactly, and rounding must not push an edge to the next value.
Whoever computes edges therefore sums weights to well under this relative error (a plain running sum
of a million weights of 0.1 is off by 1e-11: not good enough). Whole-number weights are unaffected
while K * W < 1e12.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """Class weights, moments and quantile bins of p features, seen from now. Read-only.

    A snapshot may be a block of a wider bank: then all arrays, `n_features` and `feature_names`
    speak of the block, and `first_feature` is the bank's index of its first column.
    A class without weight for a feature has mean and variance 0 there; the edges of a feature
    without any weight are NaN.
    """

    classes: NDArray[Any]
    """(C,) labels, sorted as `np.unique` does."""
    class_weight: Floats
    """(C,) N_c, the weight of each class."""
    class_n_eff: Floats
    """(C,) effective number of rows of each class, (sum w)**2 / sum w**2; 0 for a class silent for
    more than 530 half-lives, whose squared weights are below the range of double."""
    n_eff: float
    """The same over all rows."""
    n_features: int
    feature_names: tuple[str, ...] | None
    first_feature: int
    weight: Floats
    """(C, p) class weight that counts for each feature: below N_c where values were missing."""
    mean: Floats | None
    """(C, p); None when the bank keeps no moments."""
    var: Floats | None
    """(C, p) population variance."""
    bin_weights: Floats | None
    """(p, K, C) weight of each class in each quantile bin; None when the bank keeps no quantiles.
    Bin k holds the values x with exactly k edges strictly below x."""
    edges: Floats | None
    """(p, K - 1), ascending; see EDGE_TOLERANCE."""
    rank_error: Floats | None
    """(p,) in units of weight: no true cumulative weight differs by more from the one used."""
    centred_mean: Floats | None = None
    """(C, p) mean less a value that the classes of a feature share. Where a column has a large
    offset, this keeps the digits by which class means differ, and the scores use it."""
    seen: NDArray[np.bool_] | None = None
    """(p,) False for a feature of a sparse bank that was 0 in every row. All of those are alike, so
    that scores need to look at one of them only. None: nothing is known of that."""

    def __post_init__(self) -> None:
        n_classes, p = len(self.classes), self.n_features
        shapes: dict[str, tuple[int, ...]] = {
            "class_weight": (n_classes,),
            "class_n_eff": (n_classes,),
            "weight": (n_classes, p),
            "mean": (n_classes, p),
            "centred_mean": (n_classes, p),
            "var": (n_classes, p),
            "rank_error": (p,),
            "seen": (p,),
        }
        n_bins = self.n_bins
        if n_bins is not None:
            shapes |= {
                "edges": (p, n_bins - 1),
                "bin_weights": (p, n_bins, n_classes),
            }
        for name, shape in shapes.items():
            found = getattr(self, name)
            if found is not None and found.shape != shape:
                raise ValueError(f"Snapshot.{name} must have shape {shape}, got {found.shape}")
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                view = value.view()
                view.flags.writeable = False
                object.__setattr__(self, field.name, view)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies are made anew, so that their arrays are read-only too."""
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @property
    def n_bins(self) -> int | None:
        """K, or None when the bank keeps no quantiles."""
        return None if self.bin_weights is None else self.bin_weights.shape[1]

    @property
    def W(self) -> float:  # noqa: N802 - the design's name
        """Weight of all rows."""
        return float(self.class_weight.sum())

    def columns(self, start: int, stop: int) -> Snapshot:
        """The block of columns start to stop - 1, sharing memory."""
        start, stop, _ = slice(start, stop).indices(self.n_features)
        block = self.pick(slice(start, stop))
        names = None if self.feature_names is None else self.feature_names[start:stop]
        return replace(block, first_feature=self.first_feature + start, feature_names=names)

    def pick(self, columns: slice | NDArray[np.intp]) -> Snapshot:
        """These columns, without their names and numbers."""

        def by_class(array: Floats | None) -> Floats | None:
            return None if array is None else _along(array, 1, columns)

        def by_feature(array: Any) -> Any:
            return None if array is None else _along(array, 0, columns)

        weight = _along(self.weight, 1, columns)
        return replace(
            self,
            n_features=weight.shape[1],
            feature_names=None,
            first_feature=0,
            weight=weight,
            mean=by_class(self.mean),
            var=by_class(self.var),
            bin_weights=by_feature(self.bin_weights),
            edges=by_feature(self.edges),
            rank_error=by_feature(self.rank_error),
            centred_mean=by_class(self.centred_mean),
            seen=by_feature(self.seen),
        )

    @classmethod
    def concat(cls, blocks: Sequence[Snapshot]) -> Snapshot:
        """Join adjacent blocks of one bank, in the order of their columns."""
        if not blocks:
            raise ValueError("Snapshot.concat needs at least one block, got none")
        first = blocks[0]
        expected = first.first_feature
        for block in blocks:
            if block.first_feature != expected:
                raise ValueError(
                    "Snapshot.concat joins adjacent blocks in order: expected one that starts at "
                    f"feature {expected}, got one that starts at {block.first_feature}"
                )
            if not np.array_equal(block.classes, first.classes) or not np.array_equal(
                block.class_weight, first.class_weight
            ):
                raise ValueError(
                    "Snapshot.concat joins blocks frozen from one bank at one moment, "
                    "but their class weights differ"
                )
            expected += block.n_features

        def join(name: str, axis: int) -> Any:
            parts = [getattr(block, name) for block in blocks]
            if all(part is None for part in parts):
                return None
            if any(part is None for part in parts):
                raise ValueError(f"Snapshot.concat: some blocks have `{name}` and some do not")
            return np.concatenate(parts, axis=axis)

        names = [block.feature_names for block in blocks]
        return replace(
            first,
            n_features=sum(block.n_features for block in blocks),
            feature_names=None
            if any(part is None for part in names)
            else tuple(name for part in names for name in part or ()),
            weight=join("weight", 1),
            mean=join("mean", 1),
            var=join("var", 1),
            bin_weights=join("bin_weights", 0),
            edges=join("edges", 0),
            rank_error=join("rank_error", 0),
            centred_mean=join("centred_mean", 1),
            seen=join("seen", 0),
        )


def _along(array: NDArray[Any], axis: int, places: slice | NDArray[np.intp]) -> NDArray[Any]:
    """The places along an axis: a view where they are a slice or all alike."""
    if isinstance(places, slice):
        return array[(slice(None),) * axis + (places,)]
    if array.strides[axis] == 0:
        return array[(slice(None),) * axis + (slice(len(places)),)]
    return array.take(places, axis=axis)
