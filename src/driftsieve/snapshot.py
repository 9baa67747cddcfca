"""Snapshot: the state of a bank at one moment, as immutable arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftsieve._rows.names import FeatureNames, joined_names

Floats = NDArray[np.float64]

EDGE_TOLERANCE = 1e-12
"""Edge i is the smallest value whose cumulative weight is >= (i * W / K) * (1 - EDGE_TOLERANCE).

With equal weights the cumulative weight often equals i * W / K exactly, and rounding must not move
an edge to the next value. Code that computes edges must therefore sum weights with a relative error
well below this (a plain running sum of a million weights of 0.1 is off by 1e-11, which is too
much). Integer weights are not affected while K * W < 1e12.
"""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Snapshot:
    """Class weights, moments and quantile bins of p features at one moment. Read-only.

    A snapshot can be a block of a wider bank. Then all arrays, `n_features` and `feature_names`
    describe the block, and `first_feature` is the index of its first column in the bank.
    Where a class has no weight for a feature, its mean and variance are 0. The edges of a feature
    without any weight are NaN.

    See Also
    --------
    driftsieve.Bank.snapshot : Takes a snapshot of a bank.
    driftsieve.offline.snapshot : Computes a snapshot from all rows at once.

    Examples
    --------
    >>> import driftsieve as ds
    >>> bank = ds.Bank().update([[0.0, 5.0], [1.0, 5.0], [2.0, 5.0]], ["ham", "spam", "spam"])
    >>> snap = bank.snapshot(n_bins=2)
    >>> snap
    <driftsieve.Snapshot: 2 features, 2 classes, weight 3, moments and 2 bins>
    >>> snap.mean
    array([[0. , 5. ],
           [1.5, 5. ]])
    """

    classes: NDArray[Any]
    """(C,) labels, sorted as `np.unique` does."""
    class_weight: Floats
    """(C,) N_c, the weight of each class."""
    class_n_eff: Floats
    """(C,) effective sample size of each class, (sum w)**2 / sum w**2; 0 for a class without rows
    for more than 530 half-lives, whose squared weights underflow."""
    n_eff: float
    """The same over all rows."""
    n_features: int
    """Number of features p."""
    feature_names: FeatureNames | None
    """Names of the features, if the rows had names."""
    first_feature: int
    """Index of the first feature in the bank."""
    weight: Floats
    """(C, p) class weight of the rows in which each feature was observed; N_c without missing
    values."""
    mean: Floats | None
    """(C, p) mean of each class; None if the bank keeps no moments."""
    var: Floats | None
    """(C, p) population variance."""
    bin_weights: Floats | None
    """(p, K, C) weight of each class in each quantile bin; None if the bank keeps no quantiles. Bin
    k contains the values x with exactly k edges strictly below x."""
    edges: Floats | None
    """(p, K - 1) edges of the bins, ascending; see EDGE_TOLERANCE."""
    rank_error: Floats | None
    """(p,) bound, in units of weight, of the error of every cumulative weight."""
    centred_mean: Floats | None = None
    """(C, p) mean minus a value common to the classes of a feature. It keeps the digits by which
    class means differ when a column has a large offset. The scores use it."""
    seen: NDArray[np.bool_] | None = None
    """(p,) False for a feature of a sparse bank that was 0 in every row. All of those have the same
    scores, which are computed once. None: unknown."""
    weight_squared: Floats | None = None
    """(C, p) sum of the squared weights of the rows in which each feature was observed. None
    without missing values: then `class_n_eff` holds for every feature."""
    design_effect: Floats | None = None
    """(p,) for sparse features: the variance of "not 0" from the weights of the non-zero rows,
    relative to that from the weights of all rows. It is above 1 for a new word in a faded stream,
    whose rows weigh more than others. None means 1."""

    def __post_init__(self) -> None:
        n_classes, p = len(self.classes), self.n_features
        shapes: dict[str, tuple[int, ...]] = {
            "class_weight": (n_classes,),
            "class_n_eff": (n_classes,),
            "weight": (n_classes, p),
            "weight_squared": (n_classes, p),
            "mean": (n_classes, p),
            "centred_mean": (n_classes, p),
            "var": (n_classes, p),
            "rank_error": (p,),
            "seen": (p,),
            "design_effect": (p,),
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
                raise ValueError(f"Snapshot.{name} must have shape {shape}, got {found.shape}.")
        for name in ("classes", *shapes):
            value = getattr(self, name)
            if value is not None and value.flags.writeable:
                view = value.view()
                view.flags.writeable = False
                object.__setattr__(self, name, view)

    def __reduce__(self) -> tuple[Any, ...]:
        """Rebuild copies from their fields, so that their arrays are read-only too."""
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    def __repr__(self) -> str:
        kept = [] if self.mean is None else ["moments"]
        kept += [] if self.n_bins is None else [f"{self.n_bins} bins"]
        return (
            f"<driftsieve.Snapshot: {self.n_features} features, {self.n_classes} classes, weight "
            f"{self.W:.6g}, {' and '.join(kept)}>"
        )

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def n_bins(self) -> int | None:
        """Number of quantile bins K, or None if the bank keeps no quantiles."""
        return None if self.bin_weights is None else self.bin_weights.shape[1]

    @property
    def W(self) -> float:  # noqa: N802 - the design's name
        """Weight of all rows."""
        return float(self.class_weight.sum())

    def columns(self, start: int, stop: int) -> Snapshot:
        """Return the block of columns start to stop - 1, which shares memory.

        Parameters
        ----------
        start, stop : int
            Range of columns, as in a slice.

        Returns
        -------
        Snapshot
            With the names and indices of these columns.

        See Also
        --------
        concat : Joins blocks.

        Examples
        --------
        >>> import driftsieve as ds
        >>> snap = ds.offline.snapshot([[0.0, 5.0, 1.0], [1.0, 5.0, 3.0]], ["ham", "spam"])
        >>> snap.columns(1, 3).mean
        array([[5., 1.],
               [5., 3.]])
        """
        start, stop, _ = slice(start, stop).indices(self.n_features)
        block = self.pick(slice(start, stop))
        names = None if self.feature_names is None else self.feature_names[start:stop]
        return replace(block, first_feature=self.first_feature + start, feature_names=names)

    def pick(self, columns: slice | NDArray[np.intp]) -> Snapshot:
        """Return some columns, without their names and indices.

        Parameters
        ----------
        columns : slice or ndarray of int
            The columns.

        Returns
        -------
        Snapshot

        See Also
        --------
        columns : Adjacent columns, with their names and indices.

        Examples
        --------
        >>> import numpy as np
        >>> from driftsieve import Bank
        >>> snap = Bank().update([[1.0, 5.0, 2.0], [5.0, 3.0, 4.0]], [0, 1]).snapshot()
        >>> snap.pick(np.array([2, 0])).mean
        array([[2., 1.],
               [4., 5.]])
        """
        picked: dict[str, Any] = {
            name: None if (array := getattr(self, name)) is None else _along(array, axis, columns)
            for name, axis in _FEATURE_AXIS.items()
        }
        n_features = picked["weight"].shape[1]
        return replace(self, n_features=n_features, feature_names=None, first_feature=0, **picked)

    @classmethod
    def concat(cls, blocks: Sequence[Snapshot]) -> Snapshot:
        """Join adjacent blocks of one bank, in the order of their columns.

        Parameters
        ----------
        blocks : sequence of Snapshot
            Blocks of one bank at one moment.

        Returns
        -------
        Snapshot

        Raises
        ------
        ValueError
            If the blocks are not adjacent, or not of one bank at one moment.

        See Also
        --------
        columns : Takes a block.

        Examples
        --------
        >>> import driftsieve as ds
        >>> snap = ds.offline.snapshot([[0.0, 5.0, 1.0], [1.0, 5.0, 3.0]], ["ham", "spam"])
        >>> ds.Snapshot.concat([snap.columns(0, 1), snap.columns(1, 3)]).n_features
        3
        """
        if not blocks:
            raise ValueError("blocks must contain at least one snapshot, got none.")
        first = blocks[0]
        expected = first.first_feature
        for block in blocks:
            if block.first_feature != expected:
                raise ValueError(
                    "blocks must be adjacent and in order, got one that starts at feature "
                    f"{block.first_feature} instead of {expected}."
                )
            if not np.array_equal(block.classes, first.classes) or not np.array_equal(
                block.class_weight, first.class_weight
            ):
                raise ValueError(
                    "blocks must be of one bank at one moment, got different class weights."
                )
            expected += block.n_features

        def join(name: str, axis: int) -> Any:
            parts = [getattr(block, name) for block in blocks]
            if all(part is None for part in parts):
                return None
            if any(part is None for part in parts):
                raise ValueError(
                    f"Either all blocks or none must have `{name}`, got some with and some without."
                )
            return np.concatenate(parts, axis=axis)

        return replace(
            first,
            n_features=sum(block.n_features for block in blocks),
            feature_names=joined_names([block.feature_names for block in blocks]),
            **{name: join(name, axis) for name, axis in _FEATURE_AXIS.items()},
        )


_FEATURE_AXIS = dict.fromkeys(("weight", "mean", "var", "centred_mean", "weight_squared"), 1)
_FEATURE_AXIS |= dict.fromkeys(("bin_weights", "edges", "rank_error", "seen", "design_effect"), 0)
"""The axis of the features in each array that has one."""


def _along(array: NDArray[Any], axis: int, places: slice | NDArray[np.intp]) -> NDArray[Any]:
    """Take entries along an axis; return a view for a slice, or if all entries are the same."""
    if isinstance(places, slice):
        return array[(slice(None),) * axis + (places,)]
    if array.strides[axis] == 0:
        one = array[(slice(None),) * axis + (slice(1),)]
        shape = (*array.shape[:axis], len(places), *array.shape[axis + 1 :])
        return np.broadcast_to(one, shape)  # maybe wider: columns may be repeated
    return array.take(places, axis=axis)
