"""The laws of a bank: what must hold for every stream and every setting."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import driftsieve as ds
from driftsieve.snapshot import Snapshot

from .streams import Stream, cuts, pieces, streams

EXACT = 0.001  # epsilon at which no stream of these tests is pruned
CSR = sparse.csr_array


def assert_same(a: Snapshot, b: Snapshot, rtol: float = 1e-9) -> None:
    """Equal up to the rounding of sums (1e-9, relative to the weight of everything)."""
    assert_array_equal(a.classes, b.classes)
    tiny = 1e-12 * max(a.W, b.W)
    assert_allclose(a.class_weight, b.class_weight, rtol=rtol, atol=tiny)
    assert_allclose(a.weight, b.weight, rtol=rtol, atol=tiny)
    # The weight of the zeros of a sparse feature is a difference, so a class that is mostly faded
    # or missing loses digits in proportion; one that has faded away is not compared.
    present = b.weight > tiny
    slack = rtol + 1e-14 * max(a.W, b.W) / b.weight[present]
    for ours, theirs in ((a.mean, b.mean), (a.var, b.var)):
        assert ours is not None
        assert theirs is not None
        error = np.abs(ours[present] - theirs[present])
        assert (error <= slack * (np.abs(theirs[present]) + np.abs(b.mean[present])) + 1e-12).all()
    assert_allclose(a.bin_weights, b.bin_weights, rtol=rtol, atol=tiny)
    assert a.edges is not None
    assert b.edges is not None
    known = b.weight.sum(axis=0) > tiny
    assert_array_equal(a.edges[known], b.edges[known])


def fed(bank: ds.Bank, stream: Stream, lengths: list[int]) -> ds.Bank:
    for rows in pieces(lengths):
        bank.update(**stream.part(rows))
    return bank


@given(streams(), st.data())
def test_faded_equals_weighted_offline(stream: Stream, data: st.DataObject) -> None:
    lengths = data.draw(cuts(len(stream.y)))
    bank = fed(stream.bank(epsilon=EXACT), stream, lengths)
    if len(stream.y) == 0:
        assert bank.snapshot().n_classes == 0
        return
    snapshot = bank.snapshot()
    assert_same(snapshot, stream.reference(lengths))
    assert_array_equal(snapshot.rank_error, 0.0)


@given(streams(max_rows=1500, clocks=("row", "time")), st.data())
def test_any_split_gives_the_same_bits(stream: Stream, data: st.DataObject) -> None:
    n = len(stream.y)
    for as_input in (np.asarray, CSR):
        whole = stream.bank().update(**{**stream.part(slice(None)), "X": as_input(stream.X)})
        split = stream.bank(n_threads=data.draw(st.sampled_from([1, 3])))
        for rows in pieces(data.draw(cuts(n))):
            part = stream.part(rows)
            split.update(**{**part, "X": as_input(part["X"])})
        assert split.n_rows == n
        assert split.to_bytes() == whole.to_bytes()
        assert_same_snapshots(split, whole)


@pytest.mark.parametrize("options", [{}, {"half_life": 900.0}, {"quantiles": False}])
@pytest.mark.parametrize("seed", range(4))
def test_any_split_gives_the_same_bits_with_late_classes(
    seed: int, options: dict[str, Any]
) -> None:
    """Over several blocks, the classes coming one after another."""
    rng = np.random.default_rng(seed)
    n = 6000
    X = np.where(rng.random((n, 3)) < 0.02, np.nan, rng.normal(size=(n, 3)))
    known = 1 + np.searchsorted(np.sort(rng.integers(0, n, 5)), np.arange(n))
    y = rng.integers(0, known)
    whole = ds.Bank(missing="ignore", **options).update(X, y)
    for ends in ([1600], np.sort(rng.integers(0, n, 3)), np.arange(250, n, 250)):
        split = ds.Bank(missing="ignore", n_threads=2, **options)
        for rows in np.split(np.arange(n), ends):
            split.update(X[rows], y[rows])
        assert split.to_bytes() == whole.to_bytes()


def assert_same_snapshots(a: ds.Bank, b: ds.Bank) -> None:
    left, right = a.snapshot(), b.snapshot()
    for name in ("class_weight", "class_n_eff", "weight", "mean", "var", "bin_weights", "edges"):
        assert_array_equal(getattr(left, name), getattr(right, name), err_msg=name)
    assert_array_equal(left.rank_error, right.rank_error)


@given(streams())
def test_dense_equals_sparse(stream: Stream) -> None:
    part = stream.part(slice(None))
    dense = stream.bank(epsilon=EXACT).update(**part)
    for X in (CSR(stream.X), sparse.csc_array(stream.X), sparse.coo_matrix(stream.X)):
        assert_same(
            stream.bank(epsilon=EXACT).update(**{**part, "X": X}).snapshot(), dense.snapshot()
        )


@given(streams())
def test_layout_and_precision_of_the_input_do_not_matter(stream: Stream) -> None:
    part = stream.part(slice(None))
    wide = np.repeat(np.repeat(stream.X, 2, axis=0), 3, axis=1)
    for quantiles in (True, False):
        bank = stream.bank(quantiles=quantiles).update(**part)
        for X in (
            np.asfortranarray(stream.X),
            wide[::2, ::3],
            stream.X[::-1][::-1],
            stream.X.astype(np.float32),
        ):
            other = stream.bank(quantiles=quantiles).update(**{**part, "X": X})
            assert other.to_bytes() == bank.to_bytes()


@given(streams(), st.data())
def test_merging_parts_equals_the_whole(stream: Stream, data: st.DataObject) -> None:
    clock = stream.settings["clock"]
    lengths = data.draw(cuts(len(stream.y)))
    whole = fed(stream.bank(epsilon=EXACT), stream, lengths)
    parts = []
    for i, rows in enumerate(pieces(lengths)):
        part = stream.part(rows)
        if data.draw(st.booleans()):
            part["X"] = CSR(part["X"])
        start = {"row": rows.start, "batch": i, "time": None}[clock]
        parts.append((stream.bank(epsilon=EXACT).update(**part), start))
    merged = stream.bank(epsilon=EXACT)
    for bank, start in data.draw(st.permutations(parts)):
        before = bank.to_bytes()
        merged.merge(bank, start=start)
        assert bank.to_bytes() == before
    assert merged.n_rows == whole.n_rows
    if len(stream.y):
        assert_same(merged.snapshot(), whole.snapshot())


@given(streams(), st.randoms(use_true_random=False))
def test_permuted_columns_permute_the_snapshot(stream: Stream, random: object) -> None:
    order = np.arange(stream.X.shape[1])
    random.shuffle(order)  # type: ignore[attr-defined]
    part = stream.part(slice(None))
    for as_input in (np.asarray, CSR):
        plain = stream.bank().update(**{**part, "X": as_input(stream.X)}).snapshot()
        moved = stream.bank().update(**{**part, "X": as_input(stream.X[:, order])}).snapshot()
        assert_array_equal(moved.bin_weights, plain.bin_weights[order])
        assert_array_equal(moved.mean, plain.mean[:, order])
        assert_array_equal(moved.var, plain.var[:, order])
        assert_array_equal(moved.rank_error, plain.rank_error[order])


@given(streams(), st.booleans(), st.data())
def test_encoding_is_lossless(stream: Stream, as_sparse: bool, data: st.DataObject) -> None:
    split = data.draw(st.integers(0, len(stream.y)))
    as_input = CSR if as_sparse else np.asarray
    bank = stream.bank()
    first, rest = stream.part(slice(split)), stream.part(slice(split, None))
    bank.update(**{**first, "X": as_input(first["X"])})
    copies = [
        ds.Bank.from_bytes(bank.to_bytes()),
        pickle.loads(pickle.dumps(bank)),
        copy.copy(bank),
    ]
    bank.update(**{**rest, "X": as_input(rest["X"])})
    for twin in copies:
        twin.update(**{**rest, "X": as_input(rest["X"])})
        assert twin.to_bytes() == bank.to_bytes()


@given(streams(), st.booleans(), st.data())
def test_a_cut_equals_a_bank_of_those_columns(
    stream: Stream, as_sparse: bool, data: st.DataObject
) -> None:
    p = stream.X.shape[1]
    begin = data.draw(st.integers(0, p))
    stop = data.draw(st.integers(begin, p))
    as_input = CSR if as_sparse else np.asarray
    part = stream.part(slice(None))
    bank = stream.bank().update(**{**part, "X": as_input(stream.X)})
    alone = stream.bank().update(**{**part, "X": as_input(stream.X[:, begin:stop])})
    cut = bank.cut(slice(begin, stop))
    assert_same_snapshots(cut, alone)
    assert_array_equal(
        bank.snapshot(features=slice(begin, stop)).bin_weights, cut.snapshot().bin_weights
    )


@given(streams())
def test_reading_changes_nothing(stream: Stream) -> None:
    bank = stream.bank().update(**stream.part(slice(None)))
    before = bank.to_bytes()
    bank.snapshot()
    assert bank.n_rows == len(stream.y)
    assert bank.to_bytes() == before


@given(streams(max_rows=2000))
@settings(max_examples=40)
def test_rank_error_is_within_the_certificate(stream: Stream) -> None:
    """Bins are read at another resolution, to find errors within the five bins as well."""
    for as_input in (np.asarray, CSR):
        part = stream.part(slice(None))
        snapshot = stream.bank().update(**{**part, "X": as_input(stream.X)}).snapshot(n_bins=50)
        if snapshot.n_classes == 0:
            continue
        exact = stream.reference([len(stream.y)], n_bins=2)
        total = snapshot.weight.sum(axis=0)
        rounding = 1e-9 * snapshot.W
        assert (snapshot.rank_error <= stream.settings["epsilon"] * total + rounding).all()
        assert_allclose(snapshot.bin_weights.sum(axis=1).T, exact.weight, atol=rounding)
        weight = row_weights(stream)
        for j in range(stream.X.shape[1]):
            known = ~np.isnan(stream.X[:, j])
            estimated = np.cumsum(snapshot.bin_weights[j].sum(axis=1))[:-1]
            for edge, rank in zip(snapshot.edges[j], estimated, strict=True):
                true = weight[known & (stream.X[:, j] <= edge)].sum()
                assert abs(true - rank) <= snapshot.rank_error[j] + rounding


def row_weights(stream: Stream) -> np.ndarray:
    from driftsieve import offline

    clock = stream.settings["clock"]
    rows = {"row": len(stream.y), "batch": [len(stream.y)], "time": stream.time}[clock]
    weight = offline.clock_weights(rows, clock=clock, half_life=stream.settings["half_life"])
    return weight if stream.sample_weight is None else weight * stream.sample_weight
