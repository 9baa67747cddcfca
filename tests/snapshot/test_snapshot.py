import copy
import pickle
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

import driftsieve as ds
from driftsieve import offline
from driftsieve.snapshot import Snapshot


@pytest.fixture
def snap() -> Snapshot:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 7)), rng.integers(0, 3, 40)
    return replace(offline.snapshot(X, y, n_bins=4), feature_names=tuple("abcdefg"))


ARRAYS = ("weight", "mean", "var", "bin_weights", "edges", "rank_error")


def assert_same(a: Snapshot, b: Snapshot) -> None:
    for name in (*ARRAYS, "classes", "class_weight", "class_n_eff"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    for name in ("n_eff", "n_features", "feature_names", "first_feature"):
        assert getattr(a, name) == getattr(b, name)


def test_sizes_are_those_of_the_arrays(snap):
    assert (snap.n_classes, snap.n_bins, snap.n_features, snap.W) == (3, 4, 7, 40.0)
    assert replace(snap, bin_weights=None, edges=None, rank_error=None).n_bins is None


def test_is_read_only_and_leaves_the_callers_arrays_alone(snap):
    mine = np.ones((3, 7))
    held = replace(snap, mean=mine)
    for name in ARRAYS:
        with pytest.raises(ValueError, match="read-only"):
            getattr(held, name)[...] = 0
    with pytest.raises(FrozenInstanceError):
        held.n_eff = 1.0
    mine[0, 0] = 2.0


def test_broadcast_weight_is_kept_as_a_view(snap):
    broadcast = np.broadcast_to(snap.class_weight[:, None], (3, 7))
    assert replace(snap, weight=broadcast).weight.strides[1] == 0


@pytest.mark.parametrize("name", ARRAYS)
def test_wrong_shapes_are_named(snap, name):
    with pytest.raises(ValueError, match=r"Snapshot\.\w+ must have shape"):
        replace(snap, **{name: np.ones((2, 5, 9))})


def test_columns_cut_a_block_and_concat_joins_it_again(snap):
    block = snap.columns(2, 5)
    assert (block.n_features, block.first_feature) == (3, 2)
    assert block.feature_names == ("c", "d", "e")
    np.testing.assert_array_equal(block.bin_weights, snap.bin_weights[2:5])
    np.testing.assert_array_equal(block.mean, snap.mean[:, 2:5])
    assert np.shares_memory(block.mean, snap.mean)
    assert block.columns(1, 9).feature_names == ("d", "e")
    cuts = [snap.columns(0, 2), block, snap.columns(5, 5), snap.columns(5, 100)]
    assert_same(Snapshot.concat(cuts), snap)
    assert_same(Snapshot.concat(cuts[1:2]), block)


def test_concat_without_families_or_names(snap):
    bare = replace(
        snap, mean=None, var=None, bin_weights=None, edges=None, rank_error=None, feature_names=None
    )
    joined = Snapshot.concat([bare.columns(0, 3), bare.columns(3, 7)])
    assert joined.mean is None
    assert joined.bin_weights is None
    assert joined.feature_names is None
    np.testing.assert_array_equal(joined.weight, snap.weight)


def test_concat_rejects_blocks_that_do_not_fit(snap):
    with pytest.raises(ValueError, match="at least one snapshot"):
        Snapshot.concat([])
    with pytest.raises(ValueError, match="starts at feature 3 instead of 2"):
        Snapshot.concat([snap.columns(0, 2), snap.columns(3, 4)])
    later = replace(snap.columns(2, 4), class_weight=snap.class_weight * 0.5)
    with pytest.raises(ValueError, match="different class weights"):
        Snapshot.concat([snap.columns(0, 2), later])
    with pytest.raises(ValueError, match="all blocks or none must have `mean`"):
        Snapshot.concat([snap.columns(0, 2), replace(snap.columns(2, 4), mean=None)])


@pytest.mark.parametrize("copied", [lambda s: pickle.loads(pickle.dumps(s)), copy.deepcopy])
def test_copies_are_equal_and_read_only_too(snap, copied):
    twin = copied(snap)
    assert_same(twin, snap)
    for name in (*ARRAYS, "classes", "class_weight"):
        assert not getattr(twin, name).flags.writeable


def test_repr_is_one_short_line():
    bank = ds.Bank().update([[0.0, 5.0], [1.0, 5.0], [0.0, 6.0]], [0, 1, 0])
    want = "<driftsieve.Snapshot: 2 features, 2 classes, weight 3, moments and 5 bins>"
    assert repr(bank.snapshot()) == want
