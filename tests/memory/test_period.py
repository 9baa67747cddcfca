"""When reviews fall."""

import numpy as np
import pytest

from driftsieve.memory import LearnedBank
from driftsieve.memory.period import least_rows


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
    assert rows[-1] == (6400 if p <= 64 else 3200)
