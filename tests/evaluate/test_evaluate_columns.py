"""A stream has the columns that the screener has learned, and in their order."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from river import linear_model
from scipy import sparse
from sklearn.linear_model import SGDClassifier

from driftsieve import Batch, FeatureScreener, as_batches
from driftsieve.evaluate import prequential

X = np.random.default_rng(0).normal(size=(600, 3))
Y = (X[:, 0] > 0).astype(int)
FRAME = pd.DataFrame(X, columns=list("abc"))


def as_pairs(frame):
    return [(frame[i : i + 100], Y[i : i + 100]) for i in range(0, 600, 100)]


def as_stream(frame):
    return as_batches(frame, target=Y, batch_size=100)


def as_sparse(frame):
    for part, y in as_pairs(frame):
        yield Batch.of(sparse.csr_array(part.to_numpy()), y, feature_names=list(frame.columns))


@pytest.mark.parametrize("stream", [as_pairs, as_stream, as_sparse])
@pytest.mark.parametrize("learner", [linear_model.LogisticRegression, SGDClassifier])
@pytest.mark.parametrize("update", [False, True])
@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("cba", "feature names should match .*: column 0 was 'a' and is 'c'"),
        ("dabc", "X has 4 features, but FeatureScreener is expecting 3 features"),
        ("cb", "X has 2 features, but FeatureScreener is expecting 3 features"),
    ],
)
def test_other_columns_are_refused(stream, learner, update, columns, message):
    screener = FeatureScreener("t", k=1, output="mask").fit(FRAME, Y)
    other = FRAME.assign(d=0.0)[list(columns)]
    with pytest.raises(ValueError, match=message):
        prequential(stream(other), screener, learner(), update_screener=update)
    assert screener.bank_.n_rows == 600


@pytest.mark.parametrize("stream", [as_pairs, as_stream, as_sparse])
@pytest.mark.parametrize("learner", [linear_model.LogisticRegression, SGDClassifier])
def test_the_same_columns_are_accepted(stream, learner):
    screener = FeatureScreener("t", k=1, output="mask").fit(FRAME, Y)
    frame = prequential(stream(FRAME), screener, learner(), update_screener=False)
    assert frame["selected"].tolist() == [["a"]]
    assert frame["accuracy"][0] > 0.9


def test_columns_that_change_in_the_middle_are_refused():
    batches = [*as_pairs(FRAME), *as_pairs(FRAME[["b", "a", "c"]])]
    for learner in (linear_model.LogisticRegression(), SGDClassifier()):
        screener = FeatureScreener("t", k=1, output="mask")
        with pytest.raises(ValueError, match="column 0 was 'a' and is 'b'"):
            prequential(batches, screener, learner)
        assert screener.bank_.n_rows == 600


def test_second_source_with_other_feature_indices_is_refused():
    def day(order):
        rows = FRAME.assign(y=Y)[[*order, "y"]].to_dict("records")
        return as_batches(iter(rows), target="y", batch_size=100)

    screener, learner = FeatureScreener("t", k=1), linear_model.LogisticRegression()
    for _ in range(2):
        assert prequential(day("abc"), screener, learner)["selected"].tolist() == [["a"]]
    with pytest.raises(ValueError, match="feature names should match"):
        prequential(day("bca"), screener, learner)
    assert screener.bank_.n_rows == 1200


@pytest.mark.parametrize("stream", [as_pairs, as_stream, as_sparse])
@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("cba", "feature names should match .*: column 0 was 'a' and is 'c'"),
        ("abd", "feature names should match .*: column 2 was 'c' and is 'd'"),
    ],
)
def test_other_columns_are_refused_without_a_screener(stream, columns, message):
    other = FRAME.assign(d=0.0)[list(columns)]
    with pytest.raises(ValueError, match=message):
        prequential([*stream(FRAME), *stream(other)], None, SGDClassifier())


@pytest.mark.parametrize("stream", [as_pairs, as_stream, as_sparse])
def test_a_river_learner_without_a_screener_identifies_features_by_name(stream):
    def accuracy(*orders):
        batches = [batch for order in orders for batch in stream(FRAME[list(order)])]
        learner = linear_model.LogisticRegression()
        return prequential(batches, None, learner, every=10**6)["accuracy"][0]

    assert accuracy("abc", "cab", "bca") == pytest.approx(accuracy("abc", "abc", "abc"))
    with pytest.raises(ValueError, match="Either all batches or none must have feature names"):
        prequential([*stream(FRAME), (X, Y)], None, linear_model.LogisticRegression())


def test_sparse_columns_may_be_added_with_new_features_grow():
    def parts():
        for width, (part, y) in zip((2, 3, 3, 2, 3, 3), as_pairs(FRAME), strict=True):
            names = list("abc")[:width]
            yield Batch.of(sparse.csr_array(part[names].to_numpy()), y, feature_names=names)

    screener = FeatureScreener("t", k=1, new_features="grow", output="mask")
    frame = prequential(parts(), screener, linear_model.LogisticRegression())
    assert frame["selected"].tolist() == [["a"]]
    assert list(screener.feature_names_in_) == list("abc")
    assert frame["accuracy"][0] > 0.9
