"""The experiments on learned memory, at a very small size."""

import numpy as np
import pytest

from driftsieve.reproduce.memory import rates_of, result
from driftsieve.reproduce.memory_cost import Timed, measured
from driftsieve.reproduce.memory_real import later_relevance, swap100
from driftsieve.reproduce.memory_streams import KINDS, MemoryStream


@pytest.mark.parametrize("kind", KINDS)
def test_every_stream_has_as_many_true_features_at_all_times(kind):
    stream = MemoryStream(kind, 4800, 60, 6)
    for row in (0, 2399, 2400, 4799):
        true = stream.true_at(row)
        assert len(np.unique(true)) == 6
        assert 0 <= true.min() <= true.max() < 60


def test_learned_memory_is_compared_with_every_half_life():
    records = rates_of(MemoryStream("leaps", 4800, 60, 6), ["t"])
    assert len(records) == 10 * 3
    found = result(records)
    assert len(found.tables[""]) == 1
    assert all(0 <= record["rate"] <= 1 for record in records)


def test_relevance_captured_on_a_stream():
    stream = swap100()
    part = type(stream)(stream.X[:3000], stream.y[:3000], (10,))
    records = list(later_relevance("swap100", part, "t"))
    assert {record["memory"] for record in records} >= {"learned", np.inf}


def test_cost_is_that_of_the_reviews():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1000, 3))
    found = measured("fisher", X, (X[:, 0] > 0).astype(np.int64))
    bank = Timed("fisher").update(X, X[:, 0] > 0)
    assert found["first: reviews"] == bank.n_timed == 2
    assert 0 < found["first: share"] < 1
    assert found["later: reviews"] == 2  # in rows 4,000 to 5,000, by periods of 500
    assert found["most features compared"] == 3
