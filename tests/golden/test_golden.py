"""States that earlier versions stored are read and scored for ever."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from golden import make
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import driftsieve as ds
from driftsieve._storage.envelope import VERSION
from driftsieve.cli.checkpoint import Checkpoint
from driftsieve.memory import LearnedBank
from exact_ranks import rank_errors


def every(name: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("path", make.versions(name), ids=lambda path: path.stem)


def test_every_state_of_this_version_has_a_golden_file() -> None:
    names = {path.stem for path in make.FOLDER.glob("*.dsv")}
    assert {f"v{VERSION}_{name}" for name in make.MAKERS} <= names


@pytest.mark.parametrize("name", make.MAKERS)
def test_a_golden_file_is_stored_again_bit_for_bit(name: str) -> None:
    data = make.FOLDER.joinpath(f"v{VERSION}_{name}.dsv").read_bytes()
    kind = type(make.MAKERS[name]())
    assert kind.from_bytes(data).to_bytes() == data


@every("bank_dense")
def test_dense_bank_has_the_scores_of_its_rows(path: Path) -> None:
    bank = ds.Bank.from_bytes(path.read_bytes())
    X, y, weight, _ = make.rows(3400)
    X[::13, 1] = np.nan
    weight[:3300] = 1.0
    y = np.searchsorted(["eggs", "ham", "spam"], y)
    exact = ds.offline.snapshot(X, y, sample_weight=weight, missing="ignore")
    found = bank.snapshot()
    assert (bank.epsilon, bank.missing, bank.clock, bank.n_rows) == (0.05, "ignore", "row", 3400)
    assert_array_equal(found.weight, exact.weight)
    assert_allclose(ds.scores.fisher(found), ds.scores.fisher(exact), rtol=1e-9)
    assert_array_equal(found.bin_weights[[1, 3]], exact.bin_weights[[1, 3]])
    for errors in rank_errors(bank, X, y, weight):
        errors.check(0.05)


@every("bank_sparse")
def test_the_faded_sparse_bank(path: Path) -> None:
    bank = ds.Bank.from_bytes(path.read_bytes())
    X, y, weight, t = make.rows()
    weight *= ds.offline.clock_weights(t, clock="time", half_life=400.0)
    exact = ds.offline.snapshot(sparse.csr_array(X), y, sample_weight=weight)
    found = bank.snapshot()
    assert bank.feature_names == ("size", "few", "rare", "flag")
    assert bank.classes.tolist() == ["eggs", "ham", "spam"]
    assert (bank.half_life, bank.now) == (400.0, t.max())
    assert_allclose(found.class_weight, exact.class_weight, rtol=1e-9)
    for score in (ds.scores.t, ds.scores.fisher):
        assert_allclose(score(found), score(exact), rtol=1e-9)
    assert_allclose(found.bin_weights[[1, 3]], exact.bin_weights[[1, 3]], rtol=1e-9, atol=1e-9)
    for errors in rank_errors(bank, X, y, weight):
        errors.check(0.05)


@every("bank_sparse_moments")
def test_the_sparse_bank_without_quantiles(path: Path) -> None:
    bank = ds.Bank.from_bytes(path.read_bytes())
    X, y, weight, t = make.rows()
    X[::17, 2] = np.nan
    weight *= ds.offline.clock_weights(t, clock="time", half_life=400.0)
    exact = ds.offline.snapshot(X, y, sample_weight=weight, missing="ignore")
    more = sparse.csr_array(X[:100])
    for found in (bank, ds.Bank.from_bytes(bank.to_bytes())):
        snapshot = found.snapshot()
        assert_allclose(snapshot.weight, exact.weight, rtol=1e-9)
        for score in (ds.scores.t, ds.scores.fisher):
            assert_allclose(score(snapshot), score(exact), rtol=1e-9)
        found.update(more, y[:100], time=t[:100]).merge(found)
    assert found.n_rows == 2 * 3100


@every("bank_classes")
def test_the_bank_of_many_classes(path: Path) -> None:
    bank = ds.Bank.from_bytes(path.read_bytes())
    X, y = make.class_rows()
    exact = ds.offline.snapshot(X, y)
    found = bank.snapshot()
    assert_array_equal(found.class_weight, exact.class_weight)
    assert_array_equal(found.bin_weights.sum(axis=1), exact.bin_weights.sum(axis=1))
    assert_allclose(ds.scores.fisher(found), ds.scores.fisher(exact), rtol=1e-9)
    for errors in rank_errors(bank, X, y, np.ones(len(y))):
        errors.check(0.05)


@pytest.mark.parametrize("half_life", make.HALF_LIVES)
@pytest.mark.parametrize(
    ("name", "clock"), [("bank_ladder", "row"), ("bank_sparse_ladder", "time")]
)
def test_bank_of_several_half_lives_has_the_scores_of_its_rows(
    name: str, clock: str, half_life: float
) -> None:
    X, y, weight, t = make.rows()
    ticks = t if clock == "time" else np.arange(3000.0)
    weight *= ds.offline.clock_weights(ticks, clock="time", half_life=half_life)
    exact = ds.offline.snapshot(X, y, sample_weight=weight)
    for path in make.versions(name):
        bank = ds.Bank.from_bytes(path.read_bytes())
        found = bank.snapshot(half_life=half_life)
        assert (bank.half_lives, bank.clock, bank.n_rows) == (make.HALF_LIVES, clock, 3000)
        assert_allclose(found.class_weight, exact.class_weight, rtol=1e-9)
        for score in (ds.scores.t, ds.scores.fisher):
            assert_allclose(score(found), score(exact), rtol=1e-9)
        assert_allclose(found.bin_weights[[1, 3]], exact.bin_weights[[1, 3]], rtol=1e-9, atol=1e-9)


@every("learned")
def test_learned_bank_has_the_scores_of_its_rows(path: Path) -> None:
    bank = LearnedBank.from_bytes(path.read_bytes())
    X, y, weight, _ = make.rows(2900)
    weight *= ds.offline.clock_weights(np.arange(2900.0), clock="time", half_life=100.0)
    exact = ds.scores.fisher(ds.offline.snapshot(X, y, sample_weight=weight))
    assert (bank.choices, bank.n_rows, bank.score_func) == (make.HALF_LIVES, 2900, "fisher")
    assert bank.memory.n_reviews >= 3
    assert_allclose(ds.scores.fisher(bank.snapshot(half_life=100.0)), exact, rtol=1e-9)
    assert np.isfinite(bank.update(X[:600], y[:600]).scores()).all()


@every("screener")
def test_screener_has_the_scores_of_its_rows(path: Path) -> None:
    screener = ds.FeatureScreener.from_bytes(path.read_bytes())
    X, y, weight, _ = (part[:2200] for part in make.rows())
    weight = weight * ds.offline.clock_weights(np.arange(2200.0), clock="time", half_life=700.0)
    exact = ds.offline.snapshot(X, y, sample_weight=weight)
    assert_allclose(screener.scores_, ds.scores.fisher(exact), rtol=1e-9)
    assert screener.classes_.tolist() == ["eggs", "ham", "spam", "tofu"]
    assert screener.get_support().sum() == 2
    assert (screener.transform(X)[:, ~screener.get_support()] == 0).all()
    assert (screener.k, screener.half_life, screener.output) == (2, 700.0, "mask")


@every("checkpoint")
def test_checkpoint_has_its_bank_place_and_history(path: Path) -> None:
    checkpoint = Checkpoint.from_bytes(path.read_bytes())
    X, y, _, _ = make.rows()
    exact = ds.scores.t(ds.offline.snapshot(X, y))
    assert_allclose(ds.scores.t(checkpoint.bank.snapshot()), exact, rtol=1e-9)
    assert checkpoint.place == make.checkpoint().place
    history = checkpoint.history
    assert history is not None
    assert history.positions.tolist() == [1000.0, 2000.0, 3000.0]
    assert_allclose(history.scores[-1], exact[history.features], rtol=1e-9)


@pytest.mark.parametrize("name", make.MAKERS)
def test_a_newer_version_is_refused_by_its_number(name: str) -> None:
    data = bytearray(make.versions(name)[-1].read_bytes())
    data[8] = VERSION + 1
    with pytest.raises(ValueError, match=f"got {VERSION + 1}. Upgrade driftsieve"):
        type(make.MAKERS[name]()).from_bytes(bytes(data))
