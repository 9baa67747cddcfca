"""Merging, and bytes."""

from __future__ import annotations

import numpy as np
import pytest
from screener_rows import FRAMES, NAMES
from sklearn.exceptions import NotFittedError

from driftsieve import FeatureScreener
from driftsieve._storage import envelope


def test_merge_equals_learning_all(rows):
    X, y = rows
    whole = FeatureScreener(k=2, half_life=50).fit(X, y)
    parts = [
        FeatureScreener(k=2, half_life=50).fit(X[i : i + 200], y[i : i + 200])
        for i in (0, 200, 400)
    ]
    merged = FeatureScreener(k=2, half_life=50)
    for start, part in zip((0, 200, 400), parts, strict=True):
        stored = part.to_bytes()
        merged.merge(part, start=start)
        assert part.to_bytes() == stored
    np.testing.assert_allclose(merged.scores_, whole.scores_, rtol=1e-9)
    assert list(merged.classes_) == ["ham", "spam"]


def test_merge_unites_names_and_declared_classes(rows):
    X, y = rows
    left = FeatureScreener(k=1, missing="ignore").partial_fit(
        FRAMES["pandas"](X[:, :4], NAMES[:4]), y, classes=["ham", "spam"]
    )
    right = FeatureScreener(k=1, missing="ignore").partial_fit(
        FRAMES["pandas"](X[:, 2:], NAMES[2:]), y, classes=["eggs", "ham", "spam"]
    )
    assert list(left.merge(right).feature_names_in_) == NAMES
    assert left.n_features_in_ == 6
    assert list(left.classes_) == ["eggs", "ham", "spam"]
    open_ended = FeatureScreener(k=1).fit(X, y)
    assert list(FeatureScreener().merge(open_ended).classes_) == ["ham", "spam"]


def test_merge_rejects_banks_that_do_not_fit(rows):
    screener = FeatureScreener().fit(*rows)
    with pytest.raises(TypeError, match="other must be a FeatureScreener, got Bank"):
        screener.merge(screener.bank_)
    with pytest.raises(NotFittedError):
        screener.merge(FeatureScreener())
    with pytest.raises(ValueError, match=r"the same epsilon to be merged, got 0.01 and 0.1"):
        screener.merge(FeatureScreener(epsilon=0.1).fit(*rows))


def test_bytes_of_an_unfitted_screener():
    twin = FeatureScreener.from_bytes(FeatureScreener(k=np.int64(3), half_life=2.5).to_bytes())
    assert twin.get_params() == FeatureScreener(k=3, half_life=2.5).get_params()
    with pytest.raises(NotFittedError):
        twin.transform([[1.0]])


@pytest.mark.parametrize("container", ["pandas", "default"])
def test_bytes_keep_the_output_container(rows, container):
    X, y = rows
    screener = FeatureScreener(k=2).set_output(transform=container)
    before = FeatureScreener.from_bytes(screener.to_bytes()).fit(X, y)
    after = FeatureScreener.from_bytes(screener.fit(X, y).to_bytes())
    for twin in (before, after):
        assert twin.to_bytes() == screener.to_bytes()
        assert type(twin.transform(X)) is type(screener.transform(X))


@pytest.mark.parametrize(
    "change",
    [
        {"parameters": {"k": 1, "nonsense": 2}},
        {"parameters": {"score_func": "made up"}},
        {"parameters": {"k": [1]}},
        {"parameters": {"score_func": []}},
        {"parameters": {"k": 1, "fdr": 0.1}},
        {"parameters": {"epsilon": "x"}},
        {"parameters": 7},
        {"parameters": {"half_life": 3.0}},  # not that of the bank
        {"parameters": {"score_func": "t"}},  # needs sums that the bank has not kept
        {"classes": ["spam"]},  # the bank has others
        {"classes": {"a": 1}},
        {"parameters": None},
        {"container": "numpy"},
        {"container": ["pandas"]},
    ],
)
def test_invalid_bytes_are_refused(rows, change):
    header, payload = envelope.unpack(FeatureScreener(k=2).fit(*rows).to_bytes(), "screener")
    FeatureScreener.from_bytes(envelope.pack(header, payload))
    with pytest.raises(ValueError, match="malformed"):
        FeatureScreener.from_bytes(envelope.pack({**header, **change}, payload))


def test_bytes_of_something_else_are_refused(rows):
    screener = FeatureScreener().fit(*rows)
    with pytest.raises(ValueError, match="must be a Driftsieve screener, got a 'bank'"):
        FeatureScreener.from_bytes(screener.bank_.to_bytes())
    with pytest.raises(ValueError, match="checksum"):
        FeatureScreener.from_bytes(screener.to_bytes()[:-1])


def test_declared_classes_are_stored():
    classes = [0, 2**64 - 2, 2**64 - 1]  # the last two are the same float
    screener = FeatureScreener(k=1).partial_fit(np.eye(3), classes, classes=classes)
    for one in (screener, FeatureScreener.from_bytes(screener.to_bytes())):
        assert one.classes_.tolist() == classes
    few = FeatureScreener(k=1).partial_fit(np.eye(2), classes[:2], classes=classes[:2])
    with pytest.raises(ValueError, match=r"got \[18446744073709551615\]"):
        few.partial_fit(np.eye(3), classes)
