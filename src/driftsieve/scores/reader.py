"""Scores of a bank of any width, in blocks of features, and the certificate of its ranks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from driftsieve._core import Bank as CoreBank
from driftsieve._rows.names import FeatureNames
from driftsieve._state.snapshots import SeenFeatures
from driftsieve.scores.blocks import ScoreFunction, by_column, has_two_classes, is_by_column
from driftsieve.snapshot import Floats, Snapshot


class Readable(Protocol):
    """A bank of any kind: what scores are read from."""

    @property
    def classes(self) -> NDArray[Any]:
        """Labels seen so far."""

    @property
    def n_features(self) -> int:
        """Number of features."""

    @property
    def _core(self) -> CoreBank: ...

    @property
    def feature_names(self) -> FeatureNames | None:
        """Names of the features, if the rows had names."""

    @property
    def half_lives(self) -> tuple[float, ...]:
        """Half-lives that can be read, the shortest first."""

    def snapshot(
        self, n_bins: int | None = 5, features: slice | None = None, half_life: Any = None
    ) -> Snapshot:
        """Return a snapshot of some features at a half-life."""

    def _seen_at(self, half_life: Any, n_bins: int | None, features: slice) -> SeenFeatures: ...

    def _chosen_at(
        self, half_life: Any, n_bins: int | None, features: NDArray[np.int64]
    ) -> Snapshot: ...


_NUMBERS = 1 << 20  # per block: 8 MB, which malloc keeps for the next one
_STEP = 4096  # features whose number that occurred is counted together
_FEW = 64  # features that are read alone, instead of all


def spread(found: Floats, seen: NDArray[np.intp] | None, values: Floats) -> None:
    """Write the value of every feature, given those of the features seen and of all others.

    >>> values = np.empty(4)
    >>> spread(np.array([5.0, 6.0, 0.0]), np.array([1, 3]), values)
    >>> values
    array([0., 5., 0., 6.])
    """
    if seen is None:
        values[:] = found
    else:
        values[:] = found[-1]
        values[seen] = found[:-1]


class BlockPart(NamedTuple):
    """Consecutive features and a snapshot of them, maybe without those that were always 0."""

    begin: int
    n_features: int
    names: FeatureNames | None
    seen: NDArray[np.intp] | None
    """Indices in the range of all but the last feature of the snapshot, which stands for the
    others; None if the snapshot has all features."""
    snapshot: Snapshot

    @classmethod
    def whole(cls, block: Snapshot) -> BlockPart:
        """Return a part that has all features."""
        return cls(block.first_feature, block.n_features, block.feature_names, None, block)

    @property
    def range(self) -> slice:
        """The indices of the features."""
        return slice(self.begin, self.begin + self.n_features)

    def pick(self, features: NDArray[np.int64]) -> Snapshot:
        """Return a snapshot of some of the features, by their numbers in the bank."""
        places = features - self.begin
        if self.seen is None:
            return self.snapshot.pick(places)
        at = np.searchsorted(self.seen, places)
        known = np.append(self.seen, -1)[at] == places
        return self.snapshot.pick(np.where(known, at, len(self.seen)))


class Blocks(Sequence[Snapshot]):
    """Snapshots of consecutive blocks of features, or one without features if the bank has none.

    Each snapshot is taken on access and is not cached. Without bins if ``n_bins`` is None.
    """

    def __init__(self, bank: Readable, n_bins: int | None, half_life: float | None = None) -> None:
        self._bank, self._n_bins, self._half_life = bank, n_bins, half_life
        self._slices = feature_slices(bank, n_bins)

    def __len__(self) -> int:
        return len(self._slices)

    def __getitem__(self, i: int) -> Snapshot:  # type: ignore[override]  # without slices
        return self._bank.snapshot(self._n_bins, self._slices[i], self._half_life)

    def parts(self) -> Iterator[BlockPart]:
        """Yield the blocks without features that were always 0."""
        for features in seen_slices(self._bank, self._n_bins):
            begin, end, _ = features.indices(self._bank.n_features)
            seen, (snapshot,) = self._bank._seen_at(self._half_life, self._n_bins, features)
            names = self._bank.feature_names
            part = names and names[features]
            yield BlockPart(begin, max(0, end - begin), part, seen, snapshot)

    def parts_for(self, function: ScoreFunction) -> Iterator[BlockPart]:
        """Yield what a function is applied to: all features, unless it treats each alone."""
        return self.parts() if is_by_column(function) else map(BlockPart.whole, self)

    def some(self, features: NDArray[np.int64]) -> Snapshot:
        """Return some features, which ascend, without names."""
        return self._bank._chosen_at(self._half_life, self._n_bins, features)


def parts_of(blocks: Sequence[Snapshot]) -> Iterator[BlockPart]:
    """Yield blocks as parts, those of a bank without features that were always 0."""
    return blocks.parts() if isinstance(blocks, Blocks) else map(BlockPart.whole, blocks)


def feature_slices(bank: Readable, n_bins: int | None, n_half_lives: int = 1) -> list[slice]:
    """Return the blocks of features that are read together; one without features if none are."""
    size = _block_size(bank, n_bins, n_half_lives)
    return [slice(start, start + size) for start in range(0, max(1, bank.n_features), size)]


def seen_slices(bank: Readable, n_bins: int | None, n_half_lives: int = 1) -> list[slice]:
    """Return the same where features that were 0 in every row are not read."""
    seen = bank._core.seen(0, bank.n_features)
    if not seen:
        return feature_slices(bank, n_bins, n_half_lives)
    size = _block_size(bank, n_bins, n_half_lives)
    starts = np.arange(0, len(seen), min(size, _STEP))
    n_seen = np.add.reduceat(np.frombuffer(seen, np.uint8), starts, dtype=np.int64)
    is_new = np.diff((n_seen.cumsum() - n_seen) // size, prepend=-1) > 0
    ends = [*starts[is_new].tolist(), len(seen)]
    return [slice(*ends) for ends in pairwise(ends)]


def _block_size(bank: Readable, n_bins: int | None, n_half_lives: int) -> int:
    each = ((n_bins or 0) + 4) * max(
        1, len(bank.classes)
    )  # numbers: bins, weight, mean, variance...
    return max(1, _NUMBERS // (each * n_half_lives))


class Certificate(NamedTuple):
    """Bound of the rank errors behind the quantile bins, as a share of the weight."""

    largest: float
    n_exact: int

    @classmethod
    def of(cls, shares: Floats) -> Certificate:
        """Return the certificate of all features, given ``error_shares`` of each."""
        return cls(float(shares.max(initial=0.0)), int((shares == 0).sum()))


@by_column
def error_shares(snapshot: Snapshot) -> Floats:
    """Return the rank error of each feature as a share of its weight."""
    weight = snapshot.weight.sum(axis=0)
    error = np.zeros_like(weight) if snapshot.rank_error is None else snapshot.rank_error
    shares: Floats = np.divide(error, weight, out=np.zeros_like(weight), where=weight > 0)
    return shares


def certificate(bank: Readable, half_life: float | None = None) -> Certificate:
    """Return the certificate of all features of a bank."""
    return Certificate.of(read_bank(bank, error_shares, 2, half_life=half_life))


def read_bank(
    bank: Readable,
    function: ScoreFunction,
    n_bins: int | None,
    one_class: float | None = None,
    half_life: float | None = None,
) -> Floats:
    """Apply a function of a snapshot to every feature of a bank.

    ``one_class`` is the result while there are rows of fewer than two classes. If it is None, that
    is an error. ``half_life`` is one of several that a bank keeps.
    """
    values = np.empty(bank.n_features)
    for part in Blocks(bank, n_bins, half_life).parts_for(function):
        block = part.snapshot
        if one_class is not None and not has_two_classes(block):
            values[part.range] = one_class
        elif block.n_features:
            spread(_checked(function(block), block.n_features), part.seen, values[part.range])
    return values


def read_some(blocks: Blocks, function: ScoreFunction, features: NDArray[np.int64]) -> Floats:
    """Return a function of some features, which it treats alone.

    >>> from driftsieve import Bank
    >>> bank = Bank().update([[1.0, 5.0], [2.0, 5.0], [3.0, 6.0], [4.0, 5.0]], [0, 0, 1, 1])
    >>> from driftsieve.scores import t
    >>> read_some(Blocks(bank, 5), t, np.array([1, 0])).round(3).tolist()
    [1.414, 4.0]
    """
    values = np.empty(len(features))
    order = np.argsort(features)
    if 0 < len(features) <= _FEW:
        values[order] = function(blocks.some(features[order]))
        return values
    done = 0
    for part in blocks.parts() if len(features) else ():
        stop = np.searchsorted(features, part.range.stop, sorter=order)
        chosen = order[done:stop]
        done = int(stop)
        if len(chosen) == part.n_features:
            every = np.empty(part.n_features)
            spread(function(part.snapshot), part.seen, every)
            values[chosen] = every
        elif len(chosen):
            values[chosen] = function(part.pick(features[chosen]))
        if done == len(features):
            break
    return values


def _checked(values: Floats, n_features: int) -> Floats:
    values = np.asarray(values)
    if values.shape != (n_features,):
        raise ValueError(
            f"score_func must return one number for each of {n_features} features, got shape "
            f"{values.shape}."
        )
    return values


def can_score(bank: Readable) -> bool:
    """Return whether rows of two classes have weight now, which every score needs."""
    return has_two_classes(bank.snapshot(features=slice(0), half_life=bank.half_lives[-1]))
