import numpy as np
import pytest

from driftsieve.cli import demo_stream as demo


def best(scores: np.ndarray, k: int = 3) -> set[str]:
    return {demo.FEATURES[j] for j in np.argsort(-scores)[:k]}


def test_the_relevant_features_lead_before_and_after_the_drift() -> None:
    _, before, after = demo.screen_drifting_stream()
    assert best(before) == set(demo.BEFORE)
    assert best(after) == set(demo.AFTER)


def test_the_stream_depends_on_its_seed_alone() -> None:
    first, again = (next(demo.drifting_stream(seed=3)) for _ in range(2))
    other = next(demo.drifting_stream(seed=4))
    np.testing.assert_array_equal(first[0], again[0])
    np.testing.assert_array_equal(first[1], again[1])
    assert not np.array_equal(first[0], other[0])


def test_both_rankings_have_every_feature(capsys: pytest.CaptureFixture[str]) -> None:
    demo.print_rankings()
    printed = capsys.readouterr().out
    assert all(name in printed for name in demo.FEATURES)
    assert "20,000 rows" in printed
