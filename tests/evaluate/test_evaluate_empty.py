"""Batches without rows, wherever they come in a stream."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from river import naive_bayes
from scipy import sparse
from sklearn.linear_model import SGDClassifier

from driftsieve import FeatureScreener
from driftsieve.evaluate import prequential

X = np.random.default_rng(0).normal(size=(300, 3))
Y = (X[:, 0] > 0).astype(int)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    "learner", [lambda: SGDClassifier("log_loss", random_state=0), naive_bayes.GaussianNB]
)
@pytest.mark.parametrize("chosen", [True, False])
def test_batches_without_rows_change_nothing(kind, learner, chosen):
    def run(batches):
        screener = FeatureScreener("t", k=1, output="mask") if chosen else None
        return prequential(batches, screener, learner(), every=100, classes=[0, 1])

    parts = [(kind(X[i : i + 50]), Y[i : i + 50]) for i in range(0, 300, 50)]
    none = kind(X[:0]), Y[:0]
    with_none = [none, none, *(batch for part in parts for batch in (part, none))]
    pd.testing.assert_frame_equal(run(with_none), run(parts))


@pytest.mark.parametrize("learner", [SGDClassifier, naive_bayes.GaussianNB])
def test_columns_of_an_empty_batch_are_validated(learner):
    screener = FeatureScreener("t", k=1, output="mask").fit(X, Y)
    options = {"update_screener": False, "classes": [0, 1]}
    with pytest.raises(ValueError, match="X has 2 features, but FeatureScreener is expecting 3"):
        prequential([(X[:0, :2], Y[:0])], screener, learner(), **options)
