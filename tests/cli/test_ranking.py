"""Rankings are made of blocks of features."""

import numpy as np

from driftsieve import Bank
from driftsieve.cli import ranking
from driftsieve.scores import SCORES


def test_a_block_is_small_however_many_bins_and_classes_there_are():
    rng = np.random.default_rng(0)
    bank = Bank().update(rng.integers(0, 5, size=(200, 3000)), np.arange(200) % 40)
    for n_bins in (2, 100):
        sizes = []
        for block in ranking.Blocks(bank, n_bins):
            assert block.bin_weights is not None
            assert block.bin_weights.nbytes <= 1 << 23
            sizes.append(block.n_features)
        assert sum(sizes) == 3000
        assert len(sizes) == (1 if n_bins == 2 else 12)
    whole = SCORES["chi2"].function(bank.snapshot(100))
    np.testing.assert_array_equal(ranking.Ranking.of(bank, "chi2", 100).scores, whole)


def test_memory_error_names_options_that_help(call, stream, monkeypatch):
    def hungry(*_):
        raise MemoryError

    arguments = ["screen", stream, "--target", "kind", "--state", "s.dsv"]
    monkeypatch.setattr("driftsieve.cli.ranking.Ranking.of", hungry)
    code, _, err = call(*arguments)
    assert code == 1
    assert err.startswith("driftsieve: Not enough memory. Fewer --n-bins may help. The 1,0")
    monkeypatch.setattr(Bank, "update", hungry)
    err = call(*arguments, "--force").err
    assert err.startswith("driftsieve: Not enough memory. A smaller --batch-size may help")
