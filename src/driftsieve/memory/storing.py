"""Serialization of a LearnedBank: the ladder, the fresh rows and the sums over reviews."""

from __future__ import annotations

from dataclasses import fields, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from driftsieve._core import Turn
from driftsieve._storage import envelope
from driftsieve._storage.envelope import require
from driftsieve.bank import Bank
from driftsieve.memory.fresh import Fresh, FreshBank, FreshSums
from driftsieve.memory.period import Period
from driftsieve.memory.sums import Sums
from driftsieve.memory.waiting import Waiting

if TYPE_CHECKING:
    from driftsieve.memory.bank import LearnedBank

    L = TypeVar("L", bound=LearnedBank)

KIND = "learned bank"
_COUNTS = ("rows", "n_rows", "n_values", "turn", "most")
_ARRAYS = ("features", "before", "recent")
_FRESH = ("origin", "sums", "totals")


def to_bytes(learned: LearnedBank) -> bytes:
    """Return the envelope of all there is."""
    if not isinstance(learned.score_func, str):
        raise ValueError("score_func must be a name to be stored, got a function.")
    period, waiting = learned._period, learned._waiting
    meta: dict[str, Any] = {
        "score_func": learned.score_func,
        "n_bins": int(learned.n_bins),
        "choices": None if learned.choices == "auto" else list(map(str, learned.choices)),
        "k": None if learned.k is None else int(learned.k),
        "period": [int(getattr(period, name)) for name in _COUNTS],
        "waiting": None,
    }
    arrays: dict[str, NDArray[Any]] = {name: getattr(period, name) for name in _ARRAYS}
    arrays |= {f.name: getattr(learned._sums, f.name) for f in fields(learned._sums)}
    if waiting is not None:
        meta["waiting"], rows = waiting.stored()
        arrays |= rows
    fresh = period.fresh
    if isinstance(fresh, FreshSums):
        arrays |= {f"fresh {name}": getattr(fresh, name) for name in _FRESH}
    parts = [
        envelope.pack_arrays("sums", meta, arrays),
        learned._ladder.to_bytes(),
        fresh.bank.to_bytes() if isinstance(fresh, FreshBank) else b"",
    ]
    return envelope.pack({"kind": KIND, "parts": [len(part) for part in parts]}, *parts)


def from_bytes(cls: type[L], data: bytes | memoryview, n_threads: int | None) -> L:
    """Return what ``to_bytes`` stored; StateError if it cannot have."""
    header, payload = envelope.unpack(data, KIND)
    learned = cls.__new__(cls)
    try:
        sizes = header["parts"]
        require(len(sizes) == 3 and all(type(n) is int and n >= 0 for n in sizes), "parts")
        require(sum(sizes) == len(payload), "parts")
        ends = np.cumsum([0, *sizes]).tolist()
        parts = [payload[a:b] for a, b in pairwise(ends)]
        meta, arrays = envelope.unpack_arrays(parts[0], "sums")
        ladder = Bank.from_bytes(parts[1], n_threads=n_threads)
        fresh = Bank.from_bytes(parts[2], n_threads=n_threads) if sizes[2] else None
        _restore(learned, meta, arrays, ladder, fresh)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise envelope.malformed(error) from error
    return learned


def _restore(
    learned: Any,
    meta: dict[str, Any],
    arrays: dict[str, NDArray[Any]],
    ladder: Bank,
    fresh: Bank | None,
) -> None:
    from driftsieve.scores import score_of

    waiting, choices = meta["waiting"], meta["choices"]
    learned.choices = "auto" if choices is None else tuple(map(float, choices))
    require(choices is None or learned.choices == ladder.half_lives, "half-lives")
    learned.score_func, learned.n_bins, learned.k = meta["score_func"], meta["n_bins"], meta["k"]
    keeps = score_of(learned.score_func).keeps
    for bank in (ladder, *([fresh] if fresh else [])):
        require(all(getattr(bank, name) >= kept for name, kept in keeps.items()), "banks")
    require(type(learned.n_bins) is int and learned.n_bins >= 2, "n_bins")
    require(learned.k is None or (type(learned.k) is int and learned.k >= 1), "k")
    sums = Sums(*(arrays[f.name] for f in fields(Sums)))
    n_rungs = len(ladder.half_lives) if waiting is None else sums.answers.shape[-1]
    empty = Sums.empty(n_rungs)
    for f in fields(Sums):
        array = getattr(sums, f.name)
        require(array.shape == getattr(empty, f.name).shape, f.name)
        require(bool(np.isfinite(array).all()), f.name)
    counts = meta["period"]
    require(
        len(counts) == len(_COUNTS) and all(type(n) is int and n >= 0 for n in counts), "counts"
    )
    features, before, recent = (arrays[name] for name in _ARRAYS)
    m = len(features)
    require(features.ndim == recent.ndim == 1, "features")
    rising = bool((np.diff(features) > 0).all()) and (not m or features[0] >= 0)
    require(rising and (not m or features[-1] < ladder.n_features), "features")
    require(before.shape == (n_rungs, m) and bool(np.isfinite(before).all()), "relevances")
    require(bool((recent >= 0).all()), "columns")
    rows, n_rows, n_values, turn, most = counts
    require(n_rows < rows or waiting is not None or ladder.clock == "batch", "counts")
    learned._period = Period(
        rows,
        features,
        before,
        _fresh(learned, arrays, ladder, fresh, m),
        n_rows,
        n_values,
        recent,
        turn,
        most,
    )
    learned._ladder, learned._sums, learned._made = ladder, sums, None
    learned._turn = Turn()
    learned._waiting = None if waiting is None else Waiting.restored(ladder, waiting, arrays)


def _fresh(
    learned: Any, arrays: dict[str, NDArray[Any]], ladder: Bank, fresh: Bank | None, m: int
) -> Fresh | None:
    """Return the fresh rows of m features."""
    if not m:
        require(fresh is None, "fresh rows")
        return None
    if fresh is not None:
        require(fresh.n_features in (0, m), "fresh rows")
        return FreshBank(fresh, learned.score_func, learned.n_bins)
    if f"fresh {_FRESH[0]}" not in arrays:  # in a pause
        return None
    origin, sums, totals = (arrays[f"fresh {name}"] for name in _FRESH)
    require(origin.ndim == 2 and origin.shape[1] == m and not np.isinf(origin).any(), "fresh rows")
    empty = FreshSums.empty(origin.astype(np.float64), learned.score_func, ladder)
    n_classes = totals.shape[-1]
    require(totals.shape == (2, n_classes) and n_classes <= len(ladder._header.labels), "totals")
    require(sums.shape == (len(empty.sums), n_classes, m), "fresh rows")
    require(not empty.are_moments or len(origin) == 1, "fresh rows")
    for array in (sums, totals):
        require(bool(np.isfinite(array).all()) and array.dtype == np.float64, "fresh rows")
    require(bool((totals >= 0).all()), "totals")
    return replace(empty, sums=sums.copy(), totals=totals.copy())
