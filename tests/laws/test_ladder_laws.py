"""The laws of a bank with several half-lives: each is what a bank of that half-life alone is."""

from __future__ import annotations

import itertools
import math
import pickle
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import driftsieve as ds
from driftsieve import offline
from driftsieve.snapshot import Snapshot

from .streams import Stream, cuts, pieces, streams

HALF_LIVES = (0.7, 20.0, 400.0, math.inf)
KINDS = st.sampled_from([np.asarray, sparse.csr_array])
NAMES = ("class_weight", "class_n_eff", "weight", "mean", "var", "bin_weights", "edges")


def ladder_of(stream: Stream, **changes: Any) -> ds.Bank:
    return stream.bank(**{"half_life": [*HALF_LIVES], **changes})


def assert_same_bits(a: Snapshot, b: Snapshot) -> None:
    for name in (*NAMES, "rank_error", "weight_squared", "design_effect", "seen"):
        assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


def assert_alike(ours: Snapshot, alone: Snapshot, epsilon: float, exact: bool) -> None:
    """Weights and moments are equal up to rounding; so is all the rest where nothing is pruned."""
    assert_array_equal(ours.classes, alone.classes)
    if ours.n_classes == 0:
        return
    tiny = 1e-12 * max(1e-300, alone.W)
    total = ours.weight.sum(axis=0)
    assert (ours.rank_error <= epsilon * total + tiny).all()
    unpruned = (ours.rank_error == 0) & (alone.rank_error == 0)
    assert unpruned.all() or not exact
    for name in ("class_weight", "weight"):
        assert_allclose(getattr(ours, name), getattr(alone, name), rtol=1e-9, atol=tiny)
    present = alone.weight > tiny
    # sparse zeros that weigh less than 1e-12 of their class count as rounding
    share = (alone.weight / np.maximum(alone.class_weight, 1e-300)[:, None])[present]
    square = max(1.0, (alone.mean**2 + alone.var)[present].max(initial=0.0))
    for name in ("mean", "var"):
        left, right = getattr(ours, name)[present], getattr(alone, name)[present]
        rounding = 1e-9 * np.abs(right) + 1e-12 * square / np.minimum(share, 1.0)
        assert (np.abs(left - right) <= rounding).all(), (name, left, right)
    if ours.weight_squared is not None:
        squared = 1e-9 * max(1e-300, alone.class_weight.max(initial=0.0))
        assert_allclose(ours.weight_squared, alone.weight_squared, rtol=1e-9, atol=squared)
    known = unpruned & (alone.weight.sum(axis=0) > tiny)
    assert_allclose(ours.bin_weights[known], alone.bin_weights[known], rtol=1e-9, atol=tiny)
    assert_array_equal(ours.edges[known], alone.edges[known])


def assert_like_single_banks(
    ladder: ds.Bank, singles: dict[float, ds.Bank], exact: bool = False
) -> None:
    snapshots = ladder.snapshots(n_bins=7)
    assert tuple(snapshots) == ladder.half_lives == tuple(singles)
    for half_life, single in singles.items():
        assert_alike(snapshots[half_life], single.snapshot(n_bins=7), ladder.epsilon, exact)
        assert_same_bits(ladder.snapshot(7, half_life=half_life), snapshots[half_life])


@given(streams(max_rows=2000), KINDS, st.data())
def test_each_half_life_equals_a_bank_of_it_alone(
    stream: Stream, as_input: Any, data: st.DataObject
) -> None:
    ladder = ladder_of(stream)
    singles = {h: stream.bank(half_life=h) for h in HALF_LIVES}
    for rows in pieces(data.draw(cuts(len(stream.y)))):
        part = stream.part(rows)
        part["X"] = as_input(part["X"])
        for bank in (ladder, *singles.values()):
            bank.update(**part)
    assert ladder.n_rows == len(stream.y)
    exact = as_input is np.asarray and len(stream.y) < 1600
    assert_like_single_banks(ladder, singles, exact)


@given(streams(max_rows=20_000, clocks=("row", "time")), st.data())
@settings(max_examples=25)
def test_ranks_are_within_the_certificate_of_each_half_life(
    stream: Stream, data: st.DataObject
) -> None:
    """Of one bank, and of two that were merged."""
    ladder = ladder_of(stream)
    split = data.draw(st.integers(0, len(stream.y)))
    ladder.update(**stream.part(slice(split)))
    later = ladder_of(stream).update(**stream.part(slice(split, None)))
    ladder.merge(later, start=split if stream.settings["clock"] == "row" else None)
    whole = ladder_of(stream).update(**stream.part(slice(None)))
    rows = {"row": len(stream.y), "time": stream.time}[stream.settings["clock"]]
    for half_life, bank in itertools.product(HALF_LIVES, (ladder, whole)):
        snapshot = bank.snapshot(n_bins=50, half_life=half_life)
        if snapshot.n_classes == 0:
            continue
        weight = offline.clock_weights(rows, clock=stream.settings["clock"], half_life=half_life)
        if stream.sample_weight is not None:
            weight = weight * stream.sample_weight
        rounding = 1e-9 * snapshot.W
        total = snapshot.weight.sum(axis=0)
        assert (snapshot.rank_error <= stream.settings["epsilon"] * total + rounding).all()
        for j in range(stream.X.shape[1]):
            known = ~np.isnan(stream.X[:, j])
            assert_allclose(total[j], weight[known].sum(), rtol=1e-9, atol=rounding)
            estimated = np.cumsum(snapshot.bin_weights[j].sum(axis=1))[:-1]
            for edge, rank in zip(snapshot.edges[j], estimated, strict=True):
                true = weight[known & (stream.X[:, j] <= edge)].sum()
                assert abs(true - rank) <= snapshot.rank_error[j] + rounding


@given(streams(max_rows=2000, clocks=("row", "time")), KINDS, st.data())
def test_any_split_gives_the_same_bits(stream: Stream, as_input: Any, data: st.DataObject) -> None:
    whole = ladder_of(stream).update(**{**stream.part(slice(None)), "X": as_input(stream.X)})
    split = ladder_of(stream, n_threads=data.draw(st.sampled_from([1, 3])))
    for rows in pieces(data.draw(cuts(len(stream.y)))):
        part = stream.part(rows)
        split.update(**{**part, "X": as_input(part["X"])})
    assert split.to_bytes() == whole.to_bytes()


@given(streams(), KINDS, KINDS, st.data())
def test_merged_half_lives_equal_merged_banks(
    stream: Stream, ours: Any, theirs: Any, data: st.DataObject
) -> None:
    split = data.draw(st.integers(0, len(stream.y)))
    first, rest = stream.part(slice(split)), stream.part(slice(split, None))
    start = {"row": split, "batch": 1, "time": None}[stream.settings["clock"]]
    merged = []
    for half_life in ([*HALF_LIVES], *HALF_LIVES):
        bank = stream.bank(half_life=half_life).update(**{**first, "X": ours(first["X"])})
        other = stream.bank(half_life=half_life).update(**{**rest, "X": theirs(rest["X"])})
        merged.append(bank.merge(other, start=start))
    ladder, *singles = merged
    assert_like_single_banks(ladder, dict(zip(HALF_LIVES, singles, strict=True)))


@given(streams(), KINDS, st.data())
def test_bytes_hold_all_half_lives(stream: Stream, as_input: Any, data: st.DataObject) -> None:
    split = data.draw(st.integers(0, len(stream.y)))
    first, rest = stream.part(slice(split)), stream.part(slice(split, None))
    bank = ladder_of(stream).update(**{**first, "X": as_input(first["X"])})
    twins = [ds.Bank.from_bytes(bank.to_bytes()), pickle.loads(pickle.dumps(bank))]
    bank.update(**{**rest, "X": as_input(rest["X"])})
    for twin in twins:
        assert twin.half_lives == bank.half_lives
        twin.update(**{**rest, "X": as_input(rest["X"])})
        assert twin.to_bytes() == bank.to_bytes()


@given(streams(), KINDS, st.data())
def test_a_cut_equals_a_bank_of_those_columns(
    stream: Stream, as_input: Any, data: st.DataObject
) -> None:
    begin = data.draw(st.integers(0, stream.X.shape[1]))
    stop = data.draw(st.integers(begin, stream.X.shape[1]))
    part = stream.part(slice(None))
    cut = ladder_of(stream).update(**{**part, "X": as_input(stream.X)}).cut(slice(begin, stop))
    alone = ladder_of(stream).update(**{**part, "X": as_input(stream.X[:, begin:stop])})
    for half_life in HALF_LIVES:
        assert_same_bits(cut.snapshot(half_life=half_life), alone.snapshot(half_life=half_life))
