from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from river import compose, linear_model, naive_bayes
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Perceptron, SGDClassifier, SGDRegressor
from sklearn.metrics import accuracy_score, log_loss
from sklearn.naive_bayes import GaussianNB

from driftsieve import Batch, FeatureScreener
from driftsieve.evaluate import prequential
from driftsieve.selection.stability import jaccard, nogueira

NAMES = list("abcdef")


def drifting(n=2000, half=None, classes=2):
    """Column 1 separates the classes in the first half, column 4 in the second."""
    rng = np.random.default_rng(8)
    X = rng.normal(size=(n, 6))
    half = n // 2 if half is None else half
    signal = np.where(np.arange(n) < half, X[:, 1], X[:, 4])
    return X, np.digitize(signal, np.linspace(-1, 1, classes + 1)[1:-1])


def pairs(X, y, size=100):
    return [(X[i : i + size], y[i : i + size]) for i in range(0, X.shape[0], size)]


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_prequential_equals_an_explicit_loop(kind):
    X, y = drifting(1000, classes=3)
    X = kind(np.where(np.abs(X) < 0.3, 0, X))
    screener = FeatureScreener("t", k=2, half_life=200, output="mask")
    model = SGDClassifier(loss="log_loss", random_state=0)
    frame = prequential(pairs(X, y), screener, model, every=250, classes=[0, 1, 2])

    screener = FeatureScreener("t", k=2, half_life=200, output="mask")
    model = SGDClassifier(loss="log_loss", random_state=0)
    truth, guess, proba, chosen, expected = [], [], [], [], []
    for i, (part, labels) in enumerate(pairs(X, y), 1):
        if i > 1:
            seen = screener.transform(part)
            truth.append(labels)
            guess.append(model.predict(seen))
            proba.append(model.predict_proba(seen))
        screener.partial_fit(part, labels)
        model.partial_fit(screener.transform(part), labels, classes=[0, 1, 2])
        if i in (3, 6, 9, 10):
            chosen.append(screener.get_support(indices=True))
            all_true = np.concatenate(truth)
            accuracy = accuracy_score(all_true, np.concatenate(guess))
            loss = log_loss(all_true, np.concatenate(proba), labels=[0, 1, 2])
            expected.append((i * 100, accuracy, loss, 2))
            truth, guess, proba = [], [], []
    found = frame[["rows", "accuracy", "log_loss", "n_selected"]].to_numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert frame["selected"].tolist() == [[f"x{j}" for j in c] for c in chosen]
    assert frame["jaccard"].tolist()[1:] == [jaccard(a, b) for a, b in itertools.pairwise(chosen)]
    assert frame["stability"].tolist()[1:] == [nogueira(chosen[:i], 6) for i in (2, 3, 4)]
    assert np.isnan([frame["jaccard"][0], frame["stability"][0]]).all()


def test_updated_screener_beats_a_fixed_one_under_drift():
    X, y = drifting(4000)
    fitted = FeatureScreener("t", k=1, output="mask").fit(X[:500], y[:500])
    adapted = FeatureScreener("t", k=1, half_life=200, output="mask").fit(X[:500], y[:500])
    stream = pairs(X[500:], y[500:])
    before = prequential(stream, fitted, GaussianNB(), update_screener=False, every=500)
    after = prequential(stream, adapted, GaussianNB(), every=500)
    assert fitted.bank_.n_rows == 500
    assert adapted.bank_.n_rows == 4000
    assert before["accuracy"].iloc[-1] < 0.6
    assert after["accuracy"].iloc[-1] > 0.9
    assert before["jaccard"].dropna().eq(1).all()
    assert after["selected"].iloc[-1] == ["x4"]


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_river_classifiers_learn_the_selected_features(kind):
    X, y = drifting(600, half=600)
    X = np.where(np.abs(X) < 0.3, 0, X)
    frames = [
        prequential(pairs(kind(X), y), FeatureScreener("t", k=2, output=output), learner, every=200)
        for output in ("select", "mask")
        for learner in (linear_model.LogisticRegression(), naive_bayes.GaussianNB())
    ]
    for frame in frames:
        assert frame["accuracy"].iloc[-1] > 0.85
        assert frame["log_loss"].iloc[-1] < 0.6
        assert "x1" in frame["selected"].iloc[-1]
    pd.testing.assert_frame_equal(frames[0], frames[2])
    learner = linear_model.LogisticRegression()
    names = [pd.DataFrame(part, columns=NAMES) for part, _ in pairs(X, y)]
    prequential(zip(names, np.split(y, 6), strict=True), FeatureScreener("t", k=2), learner)
    assert set(learner.weights) <= set(NAMES)
    assert "b" in learner.weights


def test_river_dense_and_sparse_rows_give_the_same():
    X, y = drifting(300, half=300)
    losses = [
        prequential(
            pairs(kind(X), y), FeatureScreener("t", k=3), linear_model.LogisticRegression()
        )["log_loss"][0]
        for kind in (np.asarray, sparse.csr_array)
    ]
    assert losses[0] == pytest.approx(losses[1], rel=1e-12)


def test_all_features_without_a_screener():
    X, y = drifting(400)
    frame = prequential(pairs(X, y), None, GaussianNB(), every=400)
    assert frame["n_selected"].tolist() == [6]
    assert frame["accuracy"][0] > 0.5


def test_batches_with_weights_and_times():
    X, y = drifting(400)
    weight = np.where(np.arange(400) % 4 == 0, 2.0, 0.0)
    batches = [
        Batch.of(X[i : i + 100], y[i : i + 100], sample_weight=weight[i : i + 100], time=range(100))
        for i in range(0, 400, 100)
    ]

    class Zero:
        weights = np.empty(0)

        def partial_fit(self, *_, sample_weight, **__):
            self.weights = np.append(self.weights, sample_weight)

        def predict(self, X):
            return np.zeros(X.shape[0], dtype=int)

    screener = FeatureScreener("t", k=2, clock="time", half_life=50, output="mask")
    learner = Zero()
    frame = prequential(batches, screener, learner, every=400)
    assert screener.bank_.now == 99
    np.testing.assert_array_equal(learner.weights, weight)
    assert frame["accuracy"][0] == pytest.approx(np.mean(y[100::4] == 0))
    river = prequential(
        batches,
        FeatureScreener("t", k=2, clock="time", half_life=50),
        linear_model.LogisticRegression(),
    )
    assert 0 < river["accuracy"][0] < 1


def test_learner_without_probabilities_has_no_log_loss():
    X, y = drifting(400)
    screener = FeatureScreener(k=2, output="mask")
    frame = prequential(pairs(X, y), screener, Perceptron(), every=200)
    assert frame["log_loss"].isna().all()
    assert frame["accuracy"].notna().all()
    river = prequential(pairs(X, y), FeatureScreener(k=2), linear_model.PAClassifier(), every=400)
    assert river["accuracy"].notna().all()


def test_the_first_features_are_used_until_there_are_two_classes():
    X, y = drifting(500)
    y[:200] = 0
    screener = FeatureScreener(k=2, output="mask")
    with pytest.warns(UserWarning, match="fewer than two classes have weight") as caught:
        frame = prequential(pairs(X, y), screener, SGDClassifier(), every=100, classes=[0, 1])
    assert len(caught) == 1
    assert frame["accuracy"].isna().tolist() == [True, False, False, False, False]
    assert frame["selected"].tolist()[:2] == [["x0", "x1"]] * 2
    assert frame["n_selected"].tolist() == [2] * 5
    assert frame["rows"].tolist() == [100, 200, 300, 400, 500]


def test_the_first_features_are_used_while_only_one_class_has_weight():
    X, y = drifting(600, half=600)
    declared = masking().partial_fit(X[:5], [0] * 5, classes=[0, 1])
    stream = [(X[:50], [0] * 50), (X[50:], y[50:])]
    with pytest.warns(UserWarning, match="selects the first feature"):
        frame = prequential(stream, declared, SGDClassifier(), every=50, classes=[0, 1])
    first, best = frame["selected"].tolist()
    assert first == ["x0"] != best

    weight = np.where(np.arange(600) < 200, 0.0, 1.0)
    times = np.where(np.arange(600) < 300, 0.0, 1e7) + np.arange(600)
    alone = np.where((np.arange(600) >= 300) & (np.arange(600) < 400), 0, y)
    weighed = [
        Batch.of(part, labels, sample_weight=weight[i * 100 : i * 100 + 100])
        for i, (part, labels) in enumerate(pairs(X, y))
    ]
    timed = [
        Batch.of(part, labels, time=times[i * 100 : i * 100 + 100])
        for i, (part, labels) in enumerate(pairs(X, alone))
    ]
    with pytest.warns(UserWarning, match="fewer than two classes have weight") as caught:
        frame = prequential(weighed, masking(), SGDClassifier(random_state=0), every=100)
    assert len(caught) == 1
    assert frame["selected"].tolist() == [[]] * 2 + [best] * 4  # nothing learned without weight
    fading = FeatureScreener("t", k=1, output="mask", clock="time", half_life=3600.0)
    with pytest.warns(UserWarning, match="fewer than two classes have weight"):
        frame = prequential(timed, fading, GaussianNB(), every=100)
    # the fourth has one class only
    assert frame["selected"].tolist() == [best] * 3 + [first] + [best] * 2
    assert frame["accuracy"].isna().tolist() == [True] + [False] * 5


def masking():
    return FeatureScreener("t", k=1, output="mask")


class Counting(SGDClassifier):
    """Counts the rows of each class that it has learned."""

    def partial_fit(self, X, y, classes=None):
        self.learned = getattr(self, "learned", Counter()) + Counter(y.tolist())
        return super().partial_fit(X, y, classes=classes)


@pytest.mark.filterwarnings("ignore:Features have no scores")
@pytest.mark.parametrize("screener", [masking, lambda: None])
def test_every_batch_is_learned_if_the_classes_are_given(screener):
    X, y = drifting(300)
    y[:100] = 0
    model = Counting()
    prequential(pairs(X, y), screener(), model, classes=[0, 1])
    assert model.learned == Counter(y.tolist())


@pytest.mark.filterwarnings("ignore:Features have no scores")
@pytest.mark.parametrize("screener", [masking, lambda: None])
@pytest.mark.parametrize(
    ("labels", "classes", "rows"),
    [
        ([[0], [1], [0, 1]], [0, 1], {0: 10, 1: 30}),
        ([[2], [0, 1], [0, 2]], [0, 1, 2], {0: 20, 1: 10, 2: 10}),
        ([[0], [0], [1, 0], [1]], [0, 1], {0: 10, 1: 30}),
    ],
)
def test_classes_are_those_of_the_batches_until_there_are_two(screener, labels, classes, rows):
    X, _ = drifting(20)
    model = Counting()
    prequential([(X, np.resize(y, 20)) for y in labels], screener(), model)
    assert model.classes_.tolist() == classes
    assert model.learned == rows


@pytest.mark.filterwarnings("ignore:divide by zero")  # of a class without rows
def test_the_classes_of_a_fitted_learner_are_used():
    X, y = drifting(200)
    model = GaussianNB().partial_fit(X, y, classes=[0, 1, 2])
    prequential([(X, y), (X, np.ones(200, int))], masking(), model)
    assert model.class_count_.tolist() == [2 * sum(y == 0), 2 * sum(y == 1) + 200, 0]


@pytest.mark.filterwarnings("ignore:Features have no scores")
def test_river_classifiers_learn_every_row():
    X, y = drifting(300)
    y[:200] = 0
    model = naive_bayes.GaussianNB()
    frame = prequential(pairs(X, y), FeatureScreener("t", k=1), model, every=100)
    assert sum(model.class_counts.values()) == 300
    assert frame["n_selected"].tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("backend", "kind"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame), ("pyarrow", pa.Table)]
)
def test_result_is_a_frame_of_the_backend(backend, kind):
    X, y = drifting(300)
    y[:100] = 0  # no learner yet, so an empty selection comes first
    stream = pairs(X, y)
    screener = FeatureScreener(k=2, output="mask")
    with pytest.warns(UserWarning, match="selects the first 2 features"):
        frame = prequential(stream, screener, GaussianNB(), every=100, backend=backend)
    assert isinstance(frame, kind)
    selected = frame["selected"].to_pylist() if backend == "pyarrow" else list(frame["selected"])
    assert [len(s) for s in selected] == [0, 2, 2]


def test_missing_backend_is_an_error_before_the_stream_is_read():
    stream = iter(pairs(*drifting(300)))
    with pytest.raises(ValueError, match="panda"):
        prequential(stream, masking(), GaussianNB(), backend="panda")
    assert len(list(stream)) == 3


def test_wrong_prediction_with_probability_1_has_a_finite_loss():
    class Certain(GaussianNB):
        def predict_proba(self, X):
            return np.tile([1.0, 0.0], (X.shape[0], 1))

    X, y = drifting(200)
    frame = prequential(pairs(X, y), None, Certain())
    share = np.mean(y[100:] == 1)
    assert frame["log_loss"][0] == pytest.approx(-share * np.log(np.finfo(float).eps))


def test_invalid_arguments_are_an_error():
    X, y = drifting(300)
    screener = FeatureScreener(k=2, output="mask")
    with pytest.raises(ValueError, match="every must be at least 1, got 0"):
        prequential([], screener, GaussianNB(), every=0)
    with pytest.raises(TypeError, match=r"must have partial_fit or learn_one.*LogisticRegression"):
        prequential([], screener, LogisticRegression())
    for regressor in (
        SGDRegressor(),
        linear_model.LinearRegression(),
        compose.Select("x0") | linear_model.LinearRegression(),
    ):
        with pytest.raises(TypeError, match="learner must be a classifier, got the regressor"):
            prequential([], screener, regressor)
    with pytest.raises(ValueError, match=r"must have output=\"mask\" .* got 'select'"):
        prequential([], FeatureScreener(), GaussianNB())
    with pytest.raises(TypeError, match=r"must be a driftsieve[.]FeatureScreener or None"):
        prequential([], object(), GaussianNB())
    with pytest.raises(TypeError, match=r"must be a .*FeatureScreener or None, got .*GaussianNB"):
        prequential(pairs(X, y), GaussianNB(), screener)
    with pytest.raises(TypeError, match=r"must have partial_fit or learn_one.*FeatureScreener"):
        prequential(pairs(X, y), None, screener)
    for batches in ((X, y), [(X, y, y)], [X]):
        with pytest.raises(TypeError, match=r"pairs of X and y.* pass \[\(X, y\)\]"):
            prequential(batches, screener, GaussianNB())
    with pytest.raises(NotFittedError):
        prequential(pairs(X, y), screener, GaussianNB(), update_screener=False)
    late = y.copy()
    late[250:] = 7
    with pytest.raises(
        ValueError,
        match=r"first classes \[0, 1\], got \[7\]. Pass all labels of the stream as classes",
    ):
        prequential(pairs(X, late), screener, GaussianNB())
    fitted = FeatureScreener(k=2).fit(X, y)  # it may select where it does not move
    frame = prequential(pairs(X, y), fitted, GaussianNB(), update_screener=False)
    assert frame["n_selected"][0] == 2
