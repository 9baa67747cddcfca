"""The attributes that a LearnedBank has of its bank with all half-lives."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from driftsieve.bank import Bank
from driftsieve.memory.waiting import Waiting


def _of_ladder(name: str) -> Any:
    """Return a property that reads the same property of the bank with all half-lives."""
    return property(attrgetter(f"_ladder.{name}"), doc=getattr(Bank, name).__doc__)


class OfLadder:
    """Attributes of the bank with all half-lives, which is made when these are known."""

    _ladder: Bank
    _waiting: Waiting | None
    _made: Bank | None

    @property
    def bank(self) -> Bank:
        """Bank with all half-lives; a temporary one while these are not known yet."""
        if self._waiting is None:
            return self._ladder
        if self._made is None:
            self._made = self._waiting.bank_with_rungs()
        return self._made

    epsilon = _of_ladder("epsilon")
    moments = _of_ladder("moments")
    quantiles = _of_ladder("quantiles")
    clock = _of_ladder("clock")
    missing = _of_ladder("missing")
    n_features = _of_ladder("n_features")
    max_features = _of_ladder("max_features")
    max_classes = _of_ladder("max_classes")
    max_bytes = _of_ladder("max_bytes")
    on_limit = _of_ladder("on_limit")
    classes = _of_ladder("classes")
    feature_names = _of_ladder("feature_names")
    n_rows = _of_ladder("n_rows")
    ignored = _of_ladder("ignored")
    now = _of_ladder("now")
    is_whole = _of_ladder("is_whole")
    _columns = property(lambda self: self._ladder._columns)
    _core = property(lambda self: self._ladder._core)
    _taking = property(lambda self: self._ladder._taking)
    _threads = property(lambda self: self._ladder._threads)

    @property
    def half_lives(self) -> tuple[float, ...]:
        """Half-lives to choose from, in ticks of the clock."""
        return self.bank.half_lives

    @property
    def n_threads(self) -> int | None:
        """Number of threads as given; it can be set at any time."""
        return self._ladder.n_threads

    @n_threads.setter
    def n_threads(self, n_threads: int | None) -> None:
        self._ladder.n_threads = n_threads
