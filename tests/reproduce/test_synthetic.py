"""The synthetic stream is the paper's, with either correlation."""

import numpy as np
import pytest

from driftsieve.reproduce.synthetic import Correlation, DriftStream


def whole(stream: DriftStream, size: int = 500) -> tuple[np.ndarray, np.ndarray]:
    X, y = zip(*stream.batches(size), strict=True)
    return np.vstack(X), np.concatenate(y)


@pytest.mark.parametrize(
    ("correlation", "expected"), [("published", 0.25 / 1.25), ("stated", 0.5 / 1.5)]
)
def test_pairwise_correlation_is_that_of_the_rows(
    correlation: Correlation, expected: float
) -> None:
    stream = DriftStream(
        1000, n_rows=20_000, n_features=40, n_true=10, correlation=correlation, seed=1
    )
    assert stream.pairwise_correlation == pytest.approx(expected)
    X, _ = whole(stream)
    found = np.corrcoef(X.T)[np.triu_indices(40, 1)]
    assert found.mean() == pytest.approx(expected, abs=4 / 20_000**0.5)


def test_labels_follow_the_features_that_are_true_at_that_row() -> None:
    """Without noise but that of variance 1, the sum of the true features gives the label away."""
    stream = DriftStream(30, n_rows=1000, n_features=60, n_true=20, signal=100.0, seed=2)
    X, y = whole(stream, size=70)  # shifts fall within batches
    for i in range(1000):
        true = stream.true_after(i + 1)
        assert true == slice(i // 30, i // 30 + 20)
        total = X[i, true].sum()
        if abs(total) > 0.1:
            assert y[i] == (total > 0)


def test_same_seed_same_rows() -> None:
    stream = DriftStream(100, n_rows=500, n_features=30, n_true=10, seed=3)
    first, again = whole(stream), whole(stream)
    np.testing.assert_array_equal(first[0], again[0])
    np.testing.assert_array_equal(first[1], again[1])
    other = whole(DriftStream(100, n_rows=500, n_features=30, n_true=10, seed=4))
    assert not np.array_equal(first[0], other[0])


def test_true_features_must_fit() -> None:
    with pytest.raises(ValueError, match="must be below 1000, got 1099"):
        DriftStream(100)
