"""Scores of a bank of any width, in blocks of features, and the certificate of its ranks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from driftsieve.scores.blocks import ScoreFunction, has_two_classes
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
    def half_lives(self) -> tuple[float, ...]:
        """Half-lives that can be read, the shortest first."""

    def snapshot(
        self, n_bins: int | None = 5, features: slice | None = None, half_life: Any = None
    ) -> Snapshot:
        """Return a snapshot of some features at a half-life."""


_NUMBERS = 1 << 22  # per block: 32 MB, whatever the number of features, bins and classes


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


def feature_slices(bank: Readable, n_bins: int | None, n_half_lives: int = 1) -> list[slice]:
    """Return the blocks of features that are read together; one without features if none are."""
    each = ((n_bins or 0) + 4) * max(
        1, len(bank.classes)
    )  # numbers: bins, weight, mean, variance...
    size = max(1, _NUMBERS // (each * n_half_lives))
    return [slice(start, start + size) for start in range(0, max(1, bank.n_features), size)]


class Certificate(NamedTuple):
    """Bound of the rank errors behind the quantile bins, as a share of the weight."""

    largest: float
    n_exact: int

    @classmethod
    def of(cls, shares: Iterable[Floats]) -> Certificate:
        """Return the certificate of all features, given ``error_shares`` of their snapshots."""
        joined = np.concatenate([np.empty(0), *shares])
        return cls(float(joined.max(initial=0.0)), int((joined == 0).sum()))


def error_shares(snapshot: Snapshot) -> Floats:
    """Return the rank error of each feature as a share of its weight."""
    weight = snapshot.weight.sum(axis=0)
    error = np.zeros_like(weight) if snapshot.rank_error is None else snapshot.rank_error
    shares: Floats = np.divide(error, weight, out=np.zeros_like(weight), where=weight > 0)
    return shares


def certificate(bank: Readable, half_life: float | None = None) -> Certificate:
    """Return the certificate of all features of a bank."""
    return Certificate.of(map(error_shares, Blocks(bank, 2, half_life)))


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
    for block in Blocks(bank, n_bins, half_life):
        place = slice(block.first_feature, block.first_feature + block.n_features)
        if one_class is not None and not has_two_classes(block):
            values[place] = one_class
        elif block.n_features:
            values[place] = _checked(function(block), block.n_features)
    return values


def read_some(
    blocks: Sequence[Snapshot], function: ScoreFunction, features: NDArray[np.int64]
) -> Floats:
    """Return the function of some features, given snapshots that follow each other.

    >>> from driftsieve import Bank
    >>> bank = Bank().update([[1.0, 5.0], [2.0, 5.0], [3.0, 6.0], [4.0, 5.0]], [0, 0, 1, 1])
    >>> from driftsieve.scores import t
    >>> read_some(Blocks(bank, 5), t, np.array([1, 0])).round(3).tolist()
    [1.414, 4.0]
    """
    values = np.empty(len(features))
    order = np.argsort(features)
    done = 0
    for block in blocks if len(features) else ():
        stop = np.searchsorted(features, block.first_feature + block.n_features, sorter=order)
        chosen = order[done:stop]
        done = int(stop)
        if len(chosen):
            is_all = len(chosen) == block.n_features
            some = block if is_all else block.pick(features[chosen] - block.first_feature)
            values[chosen] = function(some)
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
