"""LearnedBank: it follows drift, and its state depends on the rows alone."""

import math

import numpy as np
import pytest
from scipy import sparse

import driftsieve as ds
from driftsieve.exceptions import LimitError, StateError
from driftsieve.memory import LearnedBank
from driftsieve.scores import SCORES

from .memory_rows import leaping, words


def fed(X, y, sizes, **parameters):
    """A bank that got rows in batches of these sizes, repeatedly."""
    times, weights = parameters.pop("times", None), parameters.pop("weights", None)
    bank = LearnedBank(n_threads=1, **parameters)
    start = i = 0
    while start < len(y):
        rows = slice(start, start + sizes[i % len(sizes)])
        given = {} if times is None else {"time": times[rows]}
        given |= {} if weights is None else {"sample_weight": weights[rows]}
        bank.update(X[rows], y[rows], **given)
        start, i = rows.stop, i + 1
    return bank


@pytest.mark.parametrize("score", SCORES)
def test_it_follows_a_leap(score):
    X, y = leaping()
    bank = fed(X, y, [1000], score_func=score, k=1)
    scores = bank.scores() if SCORES[score].larger_is_better else -bank.scores()
    assert scores.argmax() == 2
    assert bank.memory.weights[-1] < 0.1
    assert bank.half_life < 5000
    assert bank.memory.gain > 0


def test_memories_are_compared_by_a_quarter_of_the_features_at_most():
    X, y = leaping(p=6)
    gains = [fed(X, y, [1000], k=k).memory.gain for k in (1, 6, 50)]
    assert gains[0] > 0.3  # the best six of six are the same at any half-life
    assert gains == [gains[0]] * 3


def test_without_drift_it_remembers_long():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 30))
    y = (X[:, :15] @ np.linspace(0.05, 0.3, 15) + rng.normal(size=20_000) > 0).astype(int)
    memory = fed(X, y, [5000], k=10).memory
    assert memory.length > 4000
    assert sum(memory.weights[:3]) < 0.2


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"score_func": "t"},
        {"score_func": "gini"},
        {"half_life": [300, 1000]},
        {"clock": "time"},
        {"missing": "ignore"},
        {"epsilon": 0.002},
    ],
    ids=str,
)
def test_any_split_into_batches_gives_the_same_bits(parameters):
    X, y = leaping(4000)
    if parameters.get("missing"):
        X[::7, 3] = np.nan
    if parameters.get("clock"):
        parameters = {**parameters, "times": np.arange(4000.0)}
    whole = fed(X, y, [4000], weights=np.linspace(0.5, 1, 4000), **parameters).to_bytes()
    for sizes in ([1, 499, 3], [700], [1600, 1]):
        parts = fed(X, y, sizes, weights=np.linspace(0.5, 1, 4000), **parameters)
        assert parts.to_bytes() == whole


def test_any_split_of_wide_rows_gives_the_same_bits():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 150))
    y = (X[:, 0] > 0).astype(int)
    assert fed(X, y, [5000]).to_bytes() == fed(X, y, [333]).to_bytes()
    assert len(fed(X, y, [5000])._period.features) < 150


@pytest.mark.parametrize("p", [100_000, 1_000_000])
def test_sparse_rows_of_very_many_columns(p):
    X, y = words(p=p)
    bank = fed(X, y, [500], k=1)
    assert bank.scores().argmax() == 6
    assert len(bank._period.features) < 1000
    assert fed(X, y, [123]).to_bytes() == fed(X, y, [4000]).to_bytes()


def test_unseen_features_rank_last():
    X, y = words(2500)
    scores = fed(X, y, [500]).scores()
    unseen = np.setdiff1d(np.arange(X.shape[1]), X.indices)
    assert (scores[unseen] == scores.min()).all()


@pytest.mark.parametrize("clock", ["row", "batch", "time"])
@pytest.mark.parametrize("cut", [3, 600, 2750])
def test_a_bank_from_bytes_continues_exactly(clock, cut):
    X, y = leaping(4000)
    times = {"times": np.arange(4000.0) ** 1.1} if clock == "time" else {}
    whole = LearnedBank(clock=clock, n_threads=1)
    parts = LearnedBank(clock=clock, n_threads=1)
    for start in range(0, 4000, 250):
        given = {name[:-1]: column[start : start + 250] for name, column in times.items()}
        whole.update(X[start : start + 250], y[start : start + 250], **given)
        parts.update(X[start : start + 250], y[start : start + 250], **given)
        if start <= cut < start + 250:
            parts = LearnedBank.from_bytes(parts.to_bytes(), n_threads=1)
    assert parts.to_bytes() == whole.to_bytes()
    np.testing.assert_array_equal(parts.scores(), whole.scores())


def test_damaged_bytes_are_refused():
    X, y = leaping(3000)
    data = LearnedBank().update(X, y).to_bytes()
    for damaged in (
        data[:-1],
        data[:100],
        data + b"x",
        data[:500] + bytes([data[500] ^ 1]) + data[501:],
    ):
        with pytest.raises(StateError):
            LearnedBank.from_bytes(damaged)
    with pytest.raises(StateError):
        ds.Bank.from_bytes(data)


def test_merge_adds_what_was_learned_and_the_rows():
    X, y = leaping(8000)
    first, second = fed(X[:4000], y[:4000], [500]), fed(X[4000:], y[4000:], [500])
    reviews = first.memory.n_reviews + second.memory.n_reviews
    first.merge(second, start=4000)
    assert first.n_rows == 8000
    assert first.memory.n_reviews == reviews
    assert first.scores().argmax() == 2
    first.update(X, y)  # goes on


def test_merge_of_banks_whose_times_have_no_unit_yet():
    X, y = leaping(2000)
    times = np.arange(2000.0)
    one, other = (LearnedBank(clock="time") for _ in range(2))
    one.update(X[:200], y[:200], time=times[:200])
    other.update(X[200:], y[200:], time=times[200:])
    one.merge(other)
    assert one.n_rows == 2000
    assert one.half_lives == other.half_lives
    late = LearnedBank(clock="time").update(X[:9], y[:9], time=times[:9] + 5000)
    assert one.merge(late).n_rows == 2009


def test_merge_refuses_other_settings():
    with pytest.raises(ValueError, match="score_func"):
        LearnedBank("t").merge(LearnedBank("fisher"))
    with pytest.raises(TypeError, match="LearnedBank"):
        LearnedBank().merge(ds.Bank())


def test_half_lives_of_times_follow_from_the_first_rows():
    X, y = leaping(1000)
    bank = LearnedBank(clock="time").update(X[:400], y[:400], time=10.0 * np.arange(400))
    assert bank.scores().shape == (20,)
    bank.update(X[400:], y[400:], time=10.0 * np.arange(400, 1000))
    assert bank.half_lives[0] == pytest.approx(2500)
    assert bank.half_lives[-1] == math.inf


def test_half_lives_of_dates_are_durations():
    X, y = leaping(2000)
    times = np.datetime64("2024-01-01") + np.arange(2000) * np.timedelta64(1, "h")
    bank = LearnedBank(clock="time").update(X, y, time=times)
    assert bank.half_lives[0] == pytest.approx(250 * 3600)
    assert "days" in str(bank.memory)


def test_rows_of_the_same_time_do_not_wait_for_ever():
    X, y = leaping(9000, p=3)
    bank = LearnedBank(clock="time")
    for start in range(0, 9000, 500):
        bank.update(X[start : start + 500], y[start : start + 500], time=np.ones(500))
    assert bank.half_lives[0] == 1
    assert bank._waiting is None


@pytest.mark.parametrize("p", [1, 2])
def test_few_features_have_finite_scores(p):
    X, y = leaping(3000, p=3)
    bank = fed(X[:, 1 : 1 + p], y, [500])
    assert np.isfinite(bank.scores()).all()
    if p == 2:
        assert bank.scores().argmax() == 1
    else:
        assert bank.memory.weights == pytest.approx([1 / 9] * 9)


def test_constant_features_rank_last():
    X, y = leaping(3000)
    X[:, [0, 7]] = 1.0
    scores = fed(X, y, [500]).scores()
    assert scores[0] == scores[7] == scores.min()


def test_one_class_at_first():
    X, y = leaping(4000)
    y[:1700] = 0
    bank = fed(X, y, [100])
    assert bank.scores().argmax() == 2


def test_every_score_finds_the_feature_that_separates_many_classes():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 12, 4000)
    X = rng.normal(size=(4000, 8))
    X[:, 5] += y
    for score in SCORES:
        bank = fed(X, y, [1000], score_func=score, k=1)
        scores = bank.scores() if SCORES[score].larger_is_better else -bank.scores()
        assert scores.argmax() == 5


def test_bad_rows_change_nothing():
    X, y = leaping(3000)
    bank = fed(X, y, [700])
    before = bank.to_bytes()
    bad = X.copy()
    bad[2900, 3] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        bank.update(bad, y)
    with pytest.raises(ValueError, match="features"):
        bank.update(X[:, :5], y)
    assert bank.to_bytes() == before


def test_limits_pass_through():
    X, y = leaping(3000)
    with pytest.raises(LimitError, match="max_features"):
        LearnedBank(max_features=5).update(X, y)
    bank = LearnedBank(max_classes=2, on_limit="ignore_new")
    bank.update(X, np.where(np.arange(3000) < 2000, y, 2))
    assert bank.classes.tolist() == [0, 1]
    assert bank.ignored["rows"] == 1000
    bank.set_limits(max_bytes=1000)
    with pytest.raises(LimitError):
        bank.set_limits(on_limit="error").update(X, y)


def test_a_function_of_a_snapshot_can_be_the_score():
    X, y = leaping()
    bank = fed(X, y, [1000], score_func=lambda snapshot: ds.scores.t(snapshot))
    assert bank.scores().argmax() == 2
    with pytest.raises(ValueError, match="name to be stored"):
        bank.to_bytes()


def test_a_plain_bank_does_not_learn():
    with pytest.raises(ValueError, match="LearnedBank"):
        ds.Bank(half_life="auto")
    with pytest.raises(ValueError, match='"auto" or a list'):
        LearnedBank(half_life=500)


def test_str_of_a_memory_is_a_sentence():
    X, y = leaping(400)
    assert str(LearnedBank().update(X, y).memory).endswith("There are too few rows to learn from.")
    X, y = leaping(8000)
    text = str(fed(X, y, [500], k=1).memory)
    assert text.startswith("Memory: about ")
    assert "forgetting gains" in text


def test_alternating_relevance_gives_equal_weights():
    """No half-life then predicts the next rows, and least squares give all the weight 0."""
    rng = np.random.default_rng(0)
    bank = LearnedBank(k=1)
    for i in range(8):
        y, X = rng.integers(0, 2, 500), rng.normal(size=(500, 2))
        X[:, i % 2] += 3 * y
        bank.update(X, y)
    assert bank.scores().shape == (2,)
    assert bank.scores().min() > 0
    assert bank._sums.weights() == pytest.approx([1 / 9] * 9)


def test_fresh_rows_have_no_limits_of_their_own():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(6000, 70)), np.arange(6000) % 1400
    bank = LearnedBank(max_classes=2000).update(X, y)
    assert bank.n_rows == 6000
    assert bank.memory.n_reviews > 0


def test_absent_entries_are_missing_in_fresh_rows_too():
    X, y = leaping(4000, p=8)
    X[np.random.default_rng(1).random(X.shape) < 0.5] = np.nan
    dense = fed(X, y, [500], score_func="fisher", missing="ignore", k=2)
    late = LearnedBank("fisher", missing="ignore", k=2)
    late._core.take_absent_as_missing()  # as river does for absent="missing"
    filled = sparse.csr_array(np.nan_to_num(X))
    late.update(filled[:2100], y[:2100])
    late = LearnedBank.from_bytes(late.to_bytes()).update(filled[2100:], y[2100:])
    assert late.memory.values == pytest.approx(dense.memory.values, rel=1e-6)
    assert late.scores() == pytest.approx(dense.scores(), rel=1e-6, abs=1e-9)
