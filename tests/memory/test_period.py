"""When reviews fall."""

import numpy as np
import pytest

from driftsieve.memory import LearnedBank
from driftsieve.memory.period import least_rows, n_pauses


def ends(bank, p, n_rows):
    """Rows at which reviews fall."""
    rng = np.random.default_rng(0)
    found = []
    for row in range(100, n_rows + 1, 100):
        bank.update(rng.normal(size=(100, p)), np.arange(100) % 2)
        if bank._period.n_rows == 0:
            found.append(row)
    return found


def test_later_periods_end_with_a_block_of_the_bank():
    found = ends(LearnedBank(n_threads=1), 70, 10_000)
    assert found == [500, 2100, 3200, 6000, 8800]  # blocks have 2,800 rows, and 400 wait


def test_short_streams_of_few_features_have_reviews():
    assert ends(LearnedBank(n_threads=1), 2, 2000) == [500, 1000, 1500, 2000]
    assert ends(LearnedBank("fisher", n_threads=1), 20, 3500) == [500, 1500, 2500, 3500]


@pytest.mark.parametrize("p", [1, 16, 17, 64, 65, 10_000])
def test_periods_do_not_get_shorter(p):
    rows = [least_rows(p, n_reviews) for n_reviews in range(100)]
    assert rows == sorted(rows)
    assert rows[-1] == 3200
    pauses = [n_pauses(p, n_reviews) for n_reviews in range(100)]
    assert pauses == sorted(pauses)
    assert (pauses[0], pauses[-1]) == (0, 8 if p <= 64 else 4)


def test_pauses_follow_the_first_reviews(monkeypatch):
    monkeypatch.setattr("driftsieve.memory.period.N_STEADY", 3)
    bank = LearnedBank("fisher", n_threads=1)
    assert ends(bank, 20, 9500) == [500, 1500, 2500, 3500, 4500, 5500, 6500, 7500, 9500]
    assert bank.memory.n_reviews == 5  # after 1500, 2500, 3500, 5500 and 7500 rows


def test_a_pause_keeps_what_is_known_and_counts_no_rows(monkeypatch):
    monkeypatch.setattr("driftsieve.memory.period.N_STEADY", 2)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2800, 20)), np.arange(2800) % 2
    bank = LearnedBank(n_threads=1).update(X, y)
    assert bank.memory.n_reviews == 2
    assert (bank._period.n_rows, bank._period.fresh) == (300, None)
    assert len(bank._period.features) == 20
    again = LearnedBank.from_bytes(bank.to_bytes()).update(X, y)
    np.testing.assert_array_equal(again.scores(), bank.update(X, y).scores())
    assert again.to_bytes() == bank.to_bytes()
