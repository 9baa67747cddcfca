"""Features of a sparse bank that never occurred are read as one, and score as if read alone."""

import numpy as np
import pytest
from scipy import sparse

from driftsieve import Bank
from driftsieve.memory import LearnedBank
from driftsieve.memory.relevance import RELEVANCE
from driftsieve.scores import SCORES, reader
from driftsieve.scores.reader import (
    Blocks,
    certificate,
    error_shares,
    feature_slices,
    parts_of,
    read_bank,
    read_some,
    seen_slices,
)

WIDTH = 1000
FUNCTIONS = {
    **{name: score.function for name, score in SCORES.items()},
    **{f"p of {name}": score.pvalues for name, score in SCORES.items() if score.pvalues},
    **{f"relevance of {name}": function for name, function in RELEVANCE.items()},
}
BANKS = {
    "one half-life": lambda **options: Bank(half_life=50, **options),
    "several": lambda **options: Bank(half_life=[20, 80, None], **options),
    "learned": lambda **options: LearnedBank(**options),
}


def rows(n, rng):
    """Return rows of flags and real values, in some columns of all."""
    columns = rng.choice(WIDTH, 60, replace=False)
    X = np.zeros((n, WIDTH))
    X[:, columns] = rng.random((n, 60)) < 0.2
    X[:, columns[:20]] *= rng.normal(size=(n, 20)).round(1)
    return sparse.csr_array(X), rng.integers(0, 2, n)


@pytest.fixture(params=BANKS)
def bank(request, monkeypatch):
    monkeypatch.setattr(reader, "_NUMBERS", 5000)  # so that there are many blocks
    monkeypatch.setattr(reader, "_STEP", 7)
    bank, rng = BANKS[request.param](moments=True, quantiles=True), np.random.default_rng(0)
    for n in (300, 1, 900):
        bank.update(*rows(n, rng))
    return bank


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_are_those_of_whole_snapshots(bank, name):
    function, half_life = FUNCTIONS[name], bank.half_lives[0]
    whole = bank.snapshot(5, half_life=half_life)
    values = read_bank(bank, function, 5, half_life=half_life)
    np.testing.assert_array_equal(values, function(whole))
    blocks, rng = Blocks(bank, 5, half_life), np.random.default_rng(1)
    for n in (0, 1, 30, 200, WIDTH):
        some = rng.permutation(WIDTH)[:n]
        np.testing.assert_array_equal(read_some(blocks, function, some), values[some])


def test_picked_features_are_those_of_whole_snapshots(bank):
    life, some = bank.half_lives[-1], np.random.default_rng(1).permutation(WIDTH)
    whole, begin = bank.snapshot(5, half_life=life), 0
    for part in parts_of(Blocks(bank, 5, life)):
        assert part.begin == begin
        inside = np.sort(some[(some >= part.begin) & (some < part.range.stop)])[::2]
        found, expected = part.pick(inside), whole.pick(inside)
        for name in ("weight", "mean", "var", "bin_weights", "edges", "rank_error"):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
        begin = part.range.stop
    assert begin == WIDTH


def test_few_features_of_the_parts_were_always_0(bank):
    parts = list(Blocks(bank, 5, bank.half_lives[0]).parts())
    n_read = sum(part.snapshot.n_features for part in parts)
    n_seen = np.count_nonzero(bank.snapshot(half_life=bank.half_lives[0]).seen)
    assert 60 < n_seen < n_read <= n_seen + len(parts) < WIDTH / 4
    assert len(parts) < len(feature_slices(bank, 5))


def test_slices_join_to_all_features(bank):
    for n_bins in (None, 5, 100):
        slices = seen_slices(bank, n_bins, 3)
        assert [*np.concatenate([np.arange(WIDTH)[one] for one in slices])] == [*range(WIDTH)]


def test_a_function_that_may_use_names_gets_whole_snapshots(bank):
    def numbered(snapshot):
        return np.arange(snapshot.n_features) + snapshot.first_feature

    values = read_bank(bank, numbered, 5, half_life=bank.half_lives[0])
    np.testing.assert_array_equal(values, np.arange(WIDTH))


def test_the_certificate_counts_all_features(bank):
    life = bank.half_lives[-1]
    shares = error_shares(bank.snapshot(2, half_life=life))
    found = certificate(bank, life)
    assert found == (shares.max(), (shares == 0).sum())


@pytest.mark.parametrize("n_threads", [1, 2])
def test_threads_and_an_empty_bank(n_threads):
    bank = Bank(n_threads=n_threads)
    assert read_bank(bank, SCORES["t"].function, None).shape == (0,)
    X = sparse.csr_array(([1.0, 2.0, 3.0, 4.0], ([0, 1, 2, 3], [9000] * 4)), shape=(4, 9001))
    bank.update(X, [0, 0, 1, 1])
    whole = SCORES["t"].function(bank.snapshot())
    assert whole[9000] > 0
    np.testing.assert_array_equal(read_bank(bank, SCORES["t"].function, None), whole)
