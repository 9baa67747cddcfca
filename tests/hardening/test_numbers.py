"""Numbers at the edges of floating point: scores are finite, or the documented infinity."""

import warnings

import numpy as np
import pytest
from scipy import sparse

import driftsieve as ds
from driftsieve.scores import SCORES

N = 3000
RNG = np.random.default_rng(3)
Y = RNG.integers(0, 2, N)
X = RNG.normal(size=(N, 1)) + Y[:, None]
FORMS = [np.asarray, sparse.csr_array]
LARGEST = np.finfo(np.float64).max


def scores(X, y, weight=None, **options):
    """All scores; checks that no score and no p-value is NaN."""
    snap = ds.Bank(0.001, **options).update(X, y, sample_weight=weight).snapshot()
    for score in SCORES.values():
        p = np.zeros(1) if score.pvalues is None else score.pvalues(snap)
        assert ((p >= 0) & (p <= 1)).all()
    result = {name: score.function(snap) for name, score in SCORES.items()}
    assert not np.isnan(list(result.values())).any()
    return {name: values.tolist() for name, values in result.items()}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "exponent", [-320, -310, -200, -162, -150, -100, 0, 100, 150, 154, 200, 300]
)
def test_bin_scores_do_not_depend_on_the_scale(form, exponent):
    found, plain = scores(form(X * 10.0**exponent), Y), scores(X, Y)
    if exponent > -310:  # denormals have few digits, so values fall together
        for name in ("mutual_info", "chi2", "gini"):
            assert found[name] == pytest.approx(plain[name], rel=1e-9)
    for name in ("t", "fisher"):
        if -150 <= exponent <= 150:
            assert found[name] == pytest.approx(plain[name], rel=1e-9)
        elif exponent < -162:  # squares vanish: no spread within the classes
            assert found[name] == [np.inf]
        elif exponent > 155:  # squares are infinite: all spread is within the classes
            assert found[name] == [0.0]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("exponent", [-110, -60, 60, 150])
def test_scores_of_faded_rows_do_not_depend_on_the_scale(form, exponent):
    plain = scores(X, Y, half_life=1000)
    for name, found in scores(form(X * 10.0**exponent), Y, half_life=1000).items():
        assert found == pytest.approx(plain[name], rel=1e-9)


@pytest.mark.parametrize("form", FORMS)
def test_largest_doubles_are_scored(form):
    two = np.where(Y == 1, LARGEST, -LARGEST)[:, None]
    found = scores(form(two), Y)
    assert found["t"] == found["fisher"] == [np.inf]
    assert found["gini"] == [0.0]
    mixed = np.where(RNG.random(N) < 0.5, LARGEST, -LARGEST)[:, None]
    assert scores(form(mixed), Y)["t"] == [0.0]
    single = np.clip(X, -5, 5) * np.finfo(np.float32).max / 5
    found, exact = scores(form(single.astype(np.float32)), Y), scores(single, Y)
    assert found["t"] == pytest.approx(exact["t"], rel=1e-6)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("exponent", [0, 150, 155, 200, 307])
def test_class_without_weight_does_not_change_scores_of_large_values(form, exponent):
    two, three = np.array([[1.0], [2.0]]), np.array([[1.0], [2.0], [-9.0]])
    found = scores(form(three * 10.0**exponent), [0, 1, 2], weight=[1, 1, 0])
    assert found == scores(form(two), [0, 1])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("scale", [1e150, 1e154, 1e200, 1e300, LARGEST / 40])
def test_constant_classes_of_any_size_are_separated(form, scale):
    values = np.repeat([-40.0, 40.0, 8.0, -8.0], 5)[:, None] * scale
    found = scores(form(values), np.repeat(np.arange(4), 5))
    assert found["t"] == pytest.approx(scores(values / scale, np.repeat(np.arange(4), 5))["t"])
    assert found["fisher"] == [np.inf]


@pytest.mark.parametrize("form", FORMS)
def test_negative_zero_equals_zero(form):
    signs = np.where(RNG.random((N, 1)) < 0.5, -0.0, 0.0)
    found = scores(form(np.where(Y[:, None] == 1, signs, np.abs(signs))), Y)
    assert found["t"] == found["fisher"] == found["mutual_info"] == found["chi2"] == [0.0]
    with_negative = scores(form(np.where(X < 0, -0.0, X)), Y)
    assert with_negative == scores(form(np.where(X < 0, 0.0, X)), Y)


@pytest.mark.parametrize("form", FORMS)
def test_constant_column_scores_0(form):
    for value in (0.0, 7.0, 0.1, 1e300, 5e-324):
        found = scores(form(np.full((N, 1), value)), Y)
        assert found["t"] == found["fisher"] == found["mutual_info"] == found["chi2"] == [0.0]


@pytest.mark.parametrize("form", FORMS)
def test_one_class_with_one_row(form):
    y = np.zeros(N, dtype=int)
    y[17] = 1
    truth = ds.offline.snapshot(X, y)
    found = scores(form(X), y)
    for name in ("t", "fisher"):
        assert found[name] == pytest.approx(SCORES[name].function(truth).tolist(), rel=1e-9)


@pytest.mark.parametrize("form", FORMS)
def test_a_million_equal_values(form):
    y = np.arange(1_000_000) % 2
    bank = ds.Bank().update(form(np.full((len(y), 1), 0.1)), y)
    snap = bank.snapshot()
    assert snap.mean.tolist() == [[0.1], [0.1]]
    assert snap.var.tolist() == [[0.0], [0.0]]
    assert snap.rank_error.tolist() == [0.0]
    assert snap.bin_weights.sum() == 1e6


@pytest.mark.parametrize("form", FORMS)
def test_weights_over_thirty_orders_of_magnitude(form):
    weight = 10.0 ** RNG.uniform(-15, 15, N)
    found = scores(form(X), Y, weight)
    truth = ds.offline.snapshot(X, Y, sample_weight=weight)
    for name, score in SCORES.items():
        # Rank errors are those of epsilon; sums are right to rounding.
        rel = 1e-9 if score.needs == "moments" else 0.02
        assert found[name] == pytest.approx(score.function(truth).tolist(), rel=rel)


@pytest.mark.parametrize("scale", [1e-200, 1e-100, 1e100, 1e137])
@pytest.mark.parametrize("options", [{}, {"half_life": 1000.0}])
def test_a_common_factor_of_all_weights_moves_no_score(scale, options):
    found, plain = scores(X, Y, np.full(N, scale), **options), scores(X, Y, **options)
    for name in ("fisher", "mutual_info", "gini"):
        assert found[name] == pytest.approx(plain[name], rel=1e-9, abs=0.002)


@pytest.mark.parametrize(("scale", "options"), [(1e-305, {}), (1e-250, {"half_life": 1000.0})])
def test_rows_of_negligible_weight_have_no_effect(scale, options):
    with pytest.raises(ValueError, match="no class"):
        scores(X, Y, np.full(N, scale), **options)


def test_weights_whose_squares_would_overflow_are_refused():
    bank = ds.Bank()
    with pytest.raises(ValueError, match=r"at most 1e140, got 1e\+141 at row 1: divide all"):
        bank.update(X[:2], Y[:2], sample_weight=[1.0, 1e141])
    assert bank.n_rows == 0


def test_a_few_values_among_very_many_zeros_keep_their_digits():
    n = 1_000_000
    column = sparse.csr_array(([1.0, 1.0, 1.0], ([0, 1, 3], [0, 0, 0])), shape=(n, 1))
    snap = ds.Bank(quantiles=False).update(column, np.arange(n) % 2).snapshot()
    assert snap.mean.ravel().tolist() == pytest.approx([2e-6, 4e-6], rel=1e-15)


def test_no_warning_reaches_the_caller():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scores(X * 1e200, Y)
        scores(X * 1e-200, Y)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("options", [{}, {"quantiles": False}])
@pytest.mark.parametrize("value", [1e155, LARGEST])
def test_a_large_row_of_weight_0_has_no_effect(form, options, value):
    sentinel, weight = X.copy(), np.ones(N)
    sentinel[::7], weight[::7] = value, 0.0
    for at in (X, sentinel):
        snap = ds.Bank(0.001, **options).update(form(at), Y, sample_weight=weight).snapshot()
        for c in (0, 1):
            kept = X[(c == Y) & (weight > 0), 0]
            assert snap.mean[c, 0] == pytest.approx(kept.mean(), rel=1e-12)
            assert snap.var[c, 0] == pytest.approx(kept.var(), rel=1e-12)
