"""Streams that begin with one class, or in which all but one have faded away."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import SGDClassifier

from datasets import spam
from driftsieve import FeatureScreener

X = np.random.default_rng(0).normal(size=(400, 20))
Y = (X[:, 7] > 0).astype(int)
RULES = {
    "k": (3, 3),
    "percentile": (25, 5),
    "threshold": (0.5, 20),
    "fpr": (0.05, 20),
    "fdr": (0.05, 20),
    "fwe": (0.05, 20),
}


@pytest.mark.parametrize("output", ["select", "mask"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("rule", RULES)
def test_the_first_features_are_selected_until_there_are_two_classes(rule, form, output):
    k, n_kept = RULES[rule]
    screener = FeatureScreener("t", **{rule: k}, output=output)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for i in range(0, 100, 20):
            screener.partial_fit(form(X[i : i + 20]), np.zeros(20, int), classes=[0, 1])
            found = screener.transform(form(X[:5]))
            assert found.shape == (5, n_kept if output == "select" else 20)
    assert len(caught) == 1
    ending = f"have weight. {rule}={k!r} selects the first {n_kept} features."
    assert str(caught[0].message).endswith(ending)
    assert screener.get_support(indices=True).tolist() == list(range(n_kept))
    screener.partial_fit(form(X), Y)
    assert screener.get_support()[7]
    assert (screener.get_support() != (np.arange(20) < n_kept)).any()


def test_one_class_left_after_fading_warns():
    screener = FeatureScreener("t", k=1, half_life=3.0).fit(X, Y)
    assert screener.get_support(indices=True).tolist() != [0]
    for _ in range(10):
        screener.partial_fit(X, np.zeros(400, int))
    with pytest.warns(UserWarning, match="fewer than two classes have weight"):
        found = screener.get_support(indices=True)
    assert found.tolist() == [0]


def test_copies_and_stored_screeners_work_and_fit_warns_again():
    screener = FeatureScreener("t", k=1)
    for _ in range(2):
        with pytest.warns(UserWarning, match="selects the first feature"):
            screener.fit(X, np.zeros(400, int)).get_support()
    again = FeatureScreener.from_bytes(screener.to_bytes())
    with pytest.warns(UserWarning, match="selects the first feature"):
        assert again.transform(X).shape == (400, 1)


def test_the_loop_of_the_quickstart_does_not_stop_on_the_spam_data(data_dir):
    mail, labels = spam(data_dir)
    screener = FeatureScreener("t", k=5, half_life=1000, output="mask")
    model = SGDClassifier(loss="log_loss", random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for i in range(0, 500, 50):
            rows, y = mail[i : i + 50], labels[i : i + 50]
            screener.partial_fit(rows, y)
            model.partial_fit(screener.transform(rows), y, classes=np.unique(labels))
    assert [str(w.message)[:29] for w in caught] == ["Features have no scores as lo"]
