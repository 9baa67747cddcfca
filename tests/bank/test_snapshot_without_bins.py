"""A snapshot without bins has the same moments."""

import numpy as np
import pytest
from scipy import sparse

from driftsieve import Bank
from driftsieve.scores import fisher, mutual_info, t, t_pvalues


@pytest.mark.parametrize("missing", ["error", "ignore"])
@pytest.mark.parametrize("half_life", [None, 30.0])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_moments_do_not_depend_on_the_bins(missing, half_life, is_sparse):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 4, (200, 30)) * (rng.random((200, 30)) < 0.3), rng.integers(0, 3, 200)
    X = X.astype(float)
    if missing == "ignore":
        X[3, 4] = np.nan
    bank = Bank(half_life=half_life, missing=missing)
    bank.update(sparse.csr_array(X) if is_sparse else X, y)
    with_bins, without = bank.snapshot(), bank.snapshot(n_bins=None)
    assert without.n_bins is without.edges is without.rank_error is None
    for name in ("weight", "weight_squared", "mean", "centred_mean", "var", "design_effect"):
        np.testing.assert_array_equal(getattr(without, name), getattr(with_bins, name))
    for function in (t, fisher, t_pvalues):
        np.testing.assert_array_equal(function(without), function(with_bins))
    with pytest.raises(ValueError, match="must have quantiles for mutual_info"):
        mutual_info(without)


def test_several_half_lives_without_bins():
    rng = np.random.default_rng(0)
    bank = Bank(half_life=[10, None]).update(rng.normal(size=(50, 3)), np.arange(50) % 2)
    for half_life, snapshot in bank.snapshots(n_bins=None).items():
        assert snapshot.n_bins is None
        np.testing.assert_array_equal(snapshot.mean, bank.snapshot(half_life=half_life).mean)
